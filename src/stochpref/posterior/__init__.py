# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The posterior of (μ, κ): prior, samplers, the loop that runs them, diagnostics.

`prior` says what is believed beforehand; `target` what a sampler is and what it samples from; `samplers` holds them,
with the Gaussian of `gaussian`, within the `bounds` of κ; `chains` runs them; `diagnostics` judges the draws;
`choosing` picks a sampler; `results` and `summary` hold and print what came out; `customers` says what each of them
wants.
"""
