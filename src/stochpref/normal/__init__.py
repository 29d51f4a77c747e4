# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Customers whose utilities follow a normal law: which law, given what they bought, and how sure that is.

`prior` is what is believed before, `diagonal` the exact posterior where goods are independent, `around` draws from it,
`market` holds the customers that demand asks, `summary` says what came of it.
"""
