# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Customers of several segments: the mixture of von Mises–Fisher laws that explains purchases best, and how sure it is.

`objective` is what is maximised, `climbing` climbs it from a start, `search` finds starts and how many segments there
are, `posterior` draws around the maximum, `summary` says what came of it.
"""
