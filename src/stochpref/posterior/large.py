# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The posterior of observations so many that they are passed over a few times only.

What the samplers see is the likelihood near its maximum, from exact sums there and a sample of rows (`Anchored`), with
an error that is estimated and made small beside the posterior's own spread.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from stochpref.maximising import maximise_large
from stochpref.posterior.gaussian import TOLERANCE, reference_near
from stochpref.posterior.target import Target
from stochpref.stores.anchored import Anchored

_FEWEST_ROWS: Final = 1024  # of the sample that stands for all rows near the maximum
_GOOD_ENOUGH: Final = 0.02  # standard error of the log-likelihood at a posterior draw
_LOOKS: Final = 4  # draws at which that is estimated


def near_maximum(target: Target, seed: int) -> tuple[Target, float]:
    """Return a posterior near its mode, at little cost a value, and the standard error of the log-likelihood there.

    Parameters
    ----------
    seed : picks the sample.
    """
    maximum, known = maximise_large(target.store, seed=seed, tolerance=TOLERANCE)
    find_fn = partial(reference_near, most_likely=maximum.h)
    size = _FEWEST_ROWS
    while True:
        store = Anchored(known.whole, known.anchor, known.exact, known.sample.rows(0, size))
        near = Target(store, target.prior, find_fn)
        error = _error_at_draws(near, seed)
        if error <= _GOOD_ENOUGH or size >= len(known.sample):
            return near, error
        size = min(4 * size, len(known.sample))


def _error_at_draws(target: Target, seed: int) -> float:
    """Return the largest standard error of the log-likelihood at a few draws from the Gaussian near the posterior."""
    rng, (mode, _, factor, _) = np.random.default_rng([seed, 4]), target.reference
    draws = mode + rng.standard_normal((_LOOKS, len(mode))) @ factor.T
    lengths = np.linalg.norm(draws, axis=1, keepdims=True)
    draws *= np.clip(lengths, target.prior.lower, target.prior.upper) / lengths
    return max(target.store.standard_error(draw, tolerance=TOLERANCE) for draw in draws)
