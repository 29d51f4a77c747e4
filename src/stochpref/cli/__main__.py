# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""``python -m stochpref.cli``, the same as ``stochpref``."""

from stochpref.cli import main

if __name__ == "__main__":
    main()
