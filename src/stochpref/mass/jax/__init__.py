# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Exact masses on a device, by real power series instead of complex nodes."""
