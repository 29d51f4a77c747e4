# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The utility consistent with most observations, and the proof that no other is consistent with more.

Reading order: `objective` (what is counted), `conflicts` (which two observations exclude each other), `cover` (drop the
most conflicted), `feasibility` (what is left has a common utility), `certificate` (no more could be kept), `centre`
(which utility of the best cell), `polish` and `program` (when the proof fails), `solving` (all of it in turn).
`paper.annealing` is the paper's Algorithm 2.
"""
