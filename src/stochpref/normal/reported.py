# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of a normal law is used for, draw by draw: demand at menus faced, and how likely purchases are.

Single covariances may wander along directions of which purchases say nothing while all of this stands still; so chains
are judged by it. The same customers and the same purchases are asked under every draw, evenly thinned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from stochpref.chances import Recorded
from stochpref.normal.counted import common_bundles, count_bundles
from stochpref.normal.market import make_normals
from stochpref.normal.predictive import factor_points, given_factors, log_of_law
from stochpref.observations import Menus, Observations
from stochpref.posterior.chains import Draws
from stochpref.posterior.counting import distinct_menus
from stochpref.posterior.diagnostics import Diagnostics, diagnose

Array = NDArray[np.float64]

_MENUS: Final = 4  # of those faced, evenly spaced
_CUSTOMERS: Final = 128
_ROWS: Final = 24  # whose probability is followed,
_POINTS: Final = 8  # at so many factors
_KEPT: Final = 250  # draws of each chain


@dataclass(frozen=True, eq=False)
class Reported:
    """Who is asked, and of what.

    data : observations; recorded : what was seen of some of them, None where regions have no masses.
    asked : menus.
    normals : (customers, n); points : (points, n) of factors.
    """

    data: Observations
    recorded: Recorded | None
    asked: Menus
    normals: Array
    points: Array

    @classmethod
    def of(cls, data: Observations, seed: int) -> Self:
        """Pick menus and purchases among observations, none degenerate."""
        n = len(data.problem.coordinates(data.goods))
        first, _ = distinct_menus(data)
        asked = first[np.unique(np.linspace(0, len(first) - 1, _MENUS).astype(np.intp))]
        rows = np.unique(np.linspace(0, len(data) - 1, _ROWS).astype(np.intp))
        normals = make_normals(n, _CUSTOMERS, 1, rng=np.random.default_rng([seed, 6]))
        points = factor_points(n, 1, _POINTS, seed=seed)[0]
        some, problem = data[rows], data.problem
        return cls(data, problem.recorded(some) if problem.has_masses else None, data.menus[asked], normals, points)

    def values(self, parameters: Mapping[str, Array]) -> dict[str, Array]:
        """Return demand of each good and the mean log-probability of purchases, (chains, kept, …), thinned."""
        every = slice(None, None, max(-(-parameters["mean"].shape[1] // _KEPT), 1))
        drawn = {name: values[:, every] for name, values in parameters.items()}
        shape = drawn["mean"].shape[:2]
        demand, likely = np.empty((*shape, self.data.n_goods)), np.empty(shape)
        roots: Array = np.asarray(np.linalg.cholesky(drawn["covariance"]))
        common = common_bundles(self.data) if self.recorded is None else None

        for at in np.ndindex(*shape):
            demand[at] = self._demand(drawn["mean"][at], roots[at])
            if common is not None:
                likely[at] = count_bundles(self.data, common, drawn["mean"][at] + self.normals @ roots[at].T)
            elif self.recorded is not None:
                law = given_factors(drawn["mean"][at], drawn["covariance"][at], drawn["own_variance"][at], self.points)
                likely[at] = log_of_law(self.recorded, law, 1e-6).mean()
        return {"demand": demand, "log_probability": likely}

    def _demand(self, mean: Array, root: Array) -> Array:
        """Return what those who take part buy on average."""
        bought, counts = self.data.problem.total(mean + self.normals @ root.T, self.asked)
        return np.asarray(bought.sum(axis=0) / max(float(counts.sum()), 1.0))

    def diagnose(self, draws: Draws) -> Diagnostics:
        """Return how far what is reported can be trusted."""
        return diagnose(self.values(draws.parameters)).labelled({"demand": self.data.goods})
