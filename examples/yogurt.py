"""Yogurt brands with and without prices: ``python examples/yogurt.py yogurt_long.csv [SECONDS]``.

The file is the scanner panel of the R package logitr (not included): a row per choice and brand, columns obsID, brand,
choice, price. Each fit is given a minute, or the seconds stated.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import stochpref as sp

if len(sys.argv) not in (2, 3) or not Path(sys.argv[1]).exists():
    sys.exit("usage: python examples/yogurt.py FILE.csv [SECONDS]   (columns obsID, brand, choice, price)")
seconds = float(sys.argv[2]) if len(sys.argv) == 3 else 60.0

NAMES = {"observation": "obsID", "good": "brand", "quantity": "choice"}

# a = 1, b = 1: one pot a choice, prices left out. What remains is how well brands are liked.
plain = sp.read_observations(sys.argv[1], columns=NAMES | {"price": 1.0, "budget": 1.0})
liked = sp.HeterogeneousUtility(n_draws=200, max_seconds=seconds, random_state=0).fit(plain[:1000])
print("Liked, prices left out\n", liked.summary(), "\n", sep="")

# a = price: the next cent goes to the brand that gives most for it. A budget below every price says just that.
seen = sp.read_observations(sys.argv[1], columns=NAMES, budget="spent")
cent = 0.5 * seen.prices.min()
value = sp.Observations(seen.prices, np.full(len(seen), cent), seen.bundles * cent / seen.prices, goods=seen.goods)
worth = sp.HeterogeneousUtility(n_draws=200, max_seconds=seconds, random_state=0).fit(value[:1000])
print("Worth their price\n", worth.summary(), "\n", sep="")

print(f"mean log-probability of a later choice: {liked.score(plain[1000:]):.4f} without prices, ", end="")
print(f"{worth.score(value[1000:]):.4f} with them")
