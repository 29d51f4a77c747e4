# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Choices of one of several goods, packed customer by customer.

Only differences to what was chosen count: P(c) = 1 / Σ_j exp(v_j - v_c), v = X θ - o, so that every alternative that
was on offer and not chosen is a row, of X_j - X_c. An outside option is one more alternative, of v = 0. Read by value,
the best good has the largest u / a, and logarithms of utilities follow the law: o is the logarithm of the price.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument
from stochpref.features import FeatureDesign
from stochpref.observations import Menus, Observations
from stochpref.problems import Problem

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Panel(NamedTuple):
    """Choices of C customers.

    gap, offset : (A, p) and (A,) of each alternative less the one chosen.
    first : (T + 1,) where alternatives of each choice begin.
    begin : (C + 1,) where choices of each customer begin.
    labels : (C,) of customers, as they first appear.
    order : (T,) which observation each choice is.
    """

    gap: Array
    offset: Array
    first: Indices
    begin: Indices
    labels: tuple[str, ...]
    order: Indices

    @property
    def n_customers(self) -> int:
        """Number of customers."""
        return len(self.labels)

    @property
    def n_coefficients(self) -> int:
        """Length of a taste."""
        return self.gap.shape[1]


def design_of(observations: Observations, features: Sequence[str]) -> FeatureDesign:
    """Return how utilities move with tastes, a coefficient for each good and each feature, refusing what is no choice.

    Raises
    ------
    InvalidArgument : more goods than one may be bought.
    """
    problem = observations.problem
    if problem.handicaps(observations) is None:
        raise InvalidArgument(
            f"by_customer takes choices of one good, problem='one'; received problem {problem.name!r}; leave "
            "by_customer out, for a taste for every purchase"
        )
    level_free = observations.under(problem.with_setting("reading", "unit"))
    if len(features):
        return FeatureDesign.of(level_free, features)
    return FeatureDesign.without_features(level_free)


def laid_out(data: Menus | Observations, design: FeatureDesign, problem: Problem) -> tuple[Array, Array]:
    """Return designs (T, J, p) and handicaps (T, J) of all options: the goods of the fit, and none if that is one."""
    own = data.over(design.goods)
    found, handicaps = design.designs(own), problem.handicaps(own)
    assert handicaps is not None
    designs = found.each[found.whose]
    without = np.zeros((len(designs), handicaps.shape[1] - designs.shape[1], designs.shape[2]))
    return np.concatenate([designs, without], axis=1), handicaps


def whose(observations: Observations) -> tuple[tuple[str, ...], Indices]:
    """Return the labels of customers, as they first appear, and the number of each observation's."""
    if observations.customers is None:
        raise InvalidArgument(
            "observations must say whose each purchase is, for tastes by customer; received no customers; name them, "
            "customers=[…] (--column customer=…), or leave by_customer out"
        )
    names, first, codes = np.unique(
        np.asarray(observations.customers, dtype=np.str_), return_index=True, return_inverse=True
    )
    rank = np.argsort(np.argsort(first))
    return tuple(names[np.argsort(first)].tolist()), rank[codes.ravel()].astype(np.int64)


def pack(observations: Observations, design: FeatureDesign, problem: Problem) -> Panel:
    """Return the choices of observations, customer by customer."""
    labels, codes = whose(observations)
    designs, handicaps = laid_out(observations, design, problem)
    bundles = observations.over(design.goods).bundles
    chosen = np.where(bundles.any(axis=1), np.argmax(bundles, axis=1), handicaps.shape[1] - 1)
    order = np.argsort(codes, kind="stable").astype(np.int64)
    rows, designs, handicaps, chosen = np.arange(len(order)), designs[order], handicaps[order], chosen[order]
    is_other = np.isfinite(handicaps)
    is_other[rows, chosen] = False
    gap = designs - designs[rows, chosen][:, None]
    offset = np.where(is_other, handicaps, 0.0) - handicaps[rows, chosen][:, None]
    first = np.concatenate([[0], np.cumsum(is_other.sum(axis=1))]).astype(np.int64)
    begin = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(labels)))]).astype(np.int64)
    return Panel(np.ascontiguousarray(gap[is_other]), offset[is_other], first, begin, labels, order)
