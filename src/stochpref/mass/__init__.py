# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The probability of a region under a von Mises–Fisher law, with its gradient.

Read in this order: `normal` (the complex normal distribution function), `shadow` (the integral over the shadow price
of money), `spherical` (from Gaussian masses to the sphere), `integrator` (one observation), `exact` (all of them),
`obtuse` and `cut` (regions that turn their back on the mean), `monte_carlo` and `cloud` (independent routes),
`information`. `loglikelihood` is the sum as optimisers and samplers see it, here or on a GPU
(`jax_engine`, `jax_series`, `jax_moments`).
"""
