# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What to do: prices, assortments, forecasts of totals, and what a city funds, from any fit and its customers."""
