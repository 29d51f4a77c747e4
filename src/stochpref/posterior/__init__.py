# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The posterior of (μ, κ): prior, samplers, the loop that runs them, diagnostics.

`prior` says what is believed beforehand; `kernels` what a sampler is; `gibbs` (with `latents` and `streams`),
`hamiltonian` and `importance` (around the Gaussian of `reference`, within `walls`), `layered` (along `layers` of κ) and
`metropolis` are the samplers; `chains` runs them; `diagnostics` judges the draws; `choosing` picks a sampler; `results`
and `summary` hold and print what came out; `customers` says what each of them wants.
"""
