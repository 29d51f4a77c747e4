# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The paper's exhibits, one module each: a function that computes numbers, and one that draws or prints them."""
