# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Where observations are: in memory, on disk, on the workers of a cluster, on a device; sums over them are the same."""
