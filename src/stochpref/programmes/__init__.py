# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Decisions of any linear programme, or of any optimiser: what utilities explain them, and which law of utilities.

`linear` is a programme and its solutions, `hull` what its decisions can reveal, `cones` the utilities that explain one,
`decisions` what was seen.
"""
