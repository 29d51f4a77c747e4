# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Customers who come again and keep their tastes: choices of one of several goods, a taste for each customer.

`panel` packs choices by customer, `law` says how tastes are spread over customers and what is believed of that before,
`kernels` and `clouds` weigh tastes drawn for every customer, `mode` climbs the likelihood that follows, `sampler` draws
from the posterior, `known` returns what is known of every customer, `market` who is asked what they would buy.
"""
