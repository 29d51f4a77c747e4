# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The posterior of observations wherever they are: in memory, on a device, on a cluster or in files.

Many stored observations are passed over a few times only. What the samplers then see is the likelihood near its
maximum, from exact sums there and a sample of rows (`AnchoredLogLikelihood`), with an error that is estimated and made
small beside the posterior's own spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.likelihood import maximise_streamed
from stochpref.observations import Observations
from stochpref.posterior.gaussian import TOLERANCE, Reference, find_reference
from stochpref.posterior.prior import Prior
from stochpref.posterior.target import Target
from stochpref.readers.folders import StoredObservations
from stochpref.regions import Regions, usable_rows
from stochpref.stores.anchored import AnchoredLogLikelihood, StreamedLogLikelihood
from stochpref.stores.cluster import in_parts, spread
from stochpref.stores.disk import Origin, Parts, ReportFn, data_hash
from stochpref.stores.engines import check_engine, connect
from stochpref.stores.summing import log_likelihood_of

Array = NDArray[np.float64]

_FEWEST_ROWS: Final = 1024  # of the sample that stands for all rows near the maximum
_GOOD_ENOUGH: Final = 0.02  # standard error of the log-likelihood at a posterior draw
_LOOKS: Final = 4  # draws at which that is estimated


class Located(NamedTuple):
    """A posterior to sample, and what is known of its observations.

    n_observations : read, whether used or not.
    shown : the observations, or some of them picked at random where there are too many.
    n_dropped : degenerate ones left out.
    data_hash : of all that a fit depends on.
    likelihood_error : standard error of the log-likelihood at posterior draws; 0 where it is exact.
    """

    target: Target
    shown: Observations
    n_observations: int
    n_dropped: int
    data_hash: str
    likelihood_error: float = 0.0


@contextmanager
def locate(
    source: Observations | StoredObservations,
    prior: Prior,
    *,
    engine: Any,
    sampler: str,
    degenerate: str,
    seed: int,
    report: ReportFn | None,
) -> Iterator[Located]:
    """Yield the posterior of observations, usable as long as the context lasts.

    Parameters
    ----------
    engine, sampler, degenerate : as in `HeterogeneousUtility`.
    seed : picks samples.
    report : told of steps done, steps in all and what is being done, where observations are in parts.
    """
    name = check_engine(engine)
    with in_parts(source, engine, degenerate=degenerate, seed=seed, report=report) as found:
        if found is not None:
            yield _in_parts(*found, prior, sampler, seed, report)
            return
    observations = source.load() if isinstance(source, StoredObservations) else source
    regions = Regions.of(observations)
    rows = usable_rows(regions, degenerate)
    used = regions if rows.size == len(regions) else regions[rows]
    known = (observations, len(observations), len(observations) - rows.size, data_hash(observations))
    if name == "dask":
        with connect(engine) as client:
            parts = spread(used, client)
            yield Located(Target(used, prior, StreamedLogLikelihood(parts), parts), *known)
    else:
        yield Located(Target(used, prior, None if name == "cpu" else log_likelihood_of(used, engine)), *known)


def _in_parts(parts: Parts, origin: Origin, prior: Prior, sampler: str, seed: int, report: ReportFn | None) -> Located:
    known = (origin.kept, origin.n_observations, origin.n_dropped, origin.data_hash)
    streamed = StreamedLogLikelihood(parts, report)
    if sampler == "gibbs":
        nothing = Regions.of(origin.kept).rows(0, 0)
        return Located(Target(nothing, prior, streamed, parts), *known)
    maximum, anchored = maximise_streamed(streamed, seed=seed, tolerance=TOLERANCE)
    whole, size = anchored.sample, _FEWEST_ROWS
    while True:
        small = AnchoredLogLikelihood(anchored.anchor, anchored.exact, whole.rows(0, size), anchored.n_rows)
        target = Target(small.sample, prior, small, parts, maximum.h)
        error = _error_at_draws(small, find_reference(target), prior, seed)
        if error <= _GOOD_ENOUGH or size >= len(whole):
            return Located(target, *known, error)
        size = min(4 * size, len(whole))


def _error_at_draws(anchored: AnchoredLogLikelihood, reference: Reference, prior: Prior, seed: int) -> float:
    """Return the largest standard error of the log-likelihood at a few draws from the Gaussian near the posterior."""
    rng = np.random.default_rng([seed, 4])
    draws = reference.mode + rng.standard_normal((_LOOKS, len(reference.mode))) @ reference.factor.T
    lengths = np.linalg.norm(draws, axis=1, keepdims=True)
    draws *= np.clip(lengths, prior.lower, prior.upper) / lengths
    return max(anchored.standard_error(draw, tolerance=TOLERANCE) for draw in draws)
