# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The samplers behind one shape, `init` and `step`, and what they are made of.

`gibbs` (with `gibbs_moves`, `gibbs_law` and `streams`; `gibbs_remote` on a cluster), `hamiltonian`, `importance`, and
`layered` (along `layers` of κ). The paper's own, `paper.metropolis`, has the same shape.
"""
