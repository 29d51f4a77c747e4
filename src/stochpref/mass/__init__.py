# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The probability of a region under a von Mises–Fisher law, with its gradient.

Read in this order: `normal` (the complex normal distribution function), `shadow` (the integral over the shadow price
of money), `contour` (from Gaussian masses to the sphere), `region` (one observation), `masses` (all of them), `behind`
and `behind_integrand` (regions that turn their back on the mean), `monte_carlo` (an independent route). `jax` has the
same on a GPU.
"""
