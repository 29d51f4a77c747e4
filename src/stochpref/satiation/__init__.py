# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Goods that satiate: how likely bundles are of which several goods were bought in part, and what follows.

`quadrature` integrates over the shadow price of money, `density` makes of it log-densities of bundles, with slopes in
`parameters`, `climbing` finds where it is highest, `likelihood` says how sure that is and `fitting` how to draw around
it; `predictive` scores bundles, `market` is who customers are, `answers` what they buy, and `summary` the words.
`directions` has the laws of the linear problems, for comparison.
"""
