# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The paper's own algorithms, bounds and exhibits: what is kept to compare with, and to reproduce.

The core imports nothing from here; an option that picks one of these algorithms names it, and it is loaded on use.
"""
