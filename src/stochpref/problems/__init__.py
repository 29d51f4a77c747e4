# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What customers solve: what turns a utility and a menu into a bundle, and a bundle into a region."""
