"""Participatory-budgeting votes: what do voters want, and do they want the same?

``python examples/votes.py FILE.pb [SECONDS]`` with a knapsack-vote file from Pabulib (the data are not included). All
voters face one menu, which says little of how alike they are: the posterior is long and thin, and the fit is given a
minute, or the seconds stated, and says how far it came.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import stochpref as sp

if len(sys.argv) not in (2, 3) or not Path(sys.argv[1]).exists():
    sys.exit("usage: python examples/votes.py FILE.pb [SECONDS]   (a knapsack-vote file in Pabulib's format)")
seconds = float(sys.argv[2]) if len(sys.argv) == 3 else 60.0

# Projects are whole: money left over does not say that the rest is worthless, so we condition on what was spent.
votes = sp.read_observations(sys.argv[1], problem="divisible", budget="spent")
print(votes.audit(), "\n")
order = np.random.default_rng(0).permutation(len(votes))
later, learn = votes[np.sort(order[: len(votes) // 5])], votes[np.sort(order[len(votes) // 5 :])]

fits = {
    "voters differ": sp.HeterogeneousUtility(n_draws=200, max_seconds=seconds, random_state=0).fit(learn),
    "one utility": sp.CommonUtility(random_state=0).fit(learn),
}
print(fits["voters differ"].summary(), "\n")
print(sp.compare_fits(fits, later))
