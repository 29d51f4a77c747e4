# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Goods that satiate: how likely bundles are of which several goods were bought in part, and what follows.

`quadrature` integrates over the shadow price of money, `density` makes of it the log-density of bundles and its slopes,
`fitting` climbs it, `draws` says how sure the climb is, `market` who customers are; `spherical` is the same for laws of
directions.
"""
