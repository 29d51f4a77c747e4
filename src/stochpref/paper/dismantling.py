# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Dismantling: offer a few goods at a time, and join what is learnt through the exact likelihood.

The paper proposes to break a problem with many goods into ones with few, because its sampler fails with many. The
likelihood here does not, so dismantling is for where menus must be short. Goods that are not on offer stay coordinates
of the sphere, and the pooled purchases have an exact likelihood over all n goods: that joins the blocks without error.
Learning each block as if its goods were all there is, by contrast, is an approximation (a von Mises–Fisher law with
some coordinates dropped is not one), kept here to show what joining gains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_rng
from stochpref.errors import InvalidArgument
from stochpref.laws import MenuLaw
from stochpref.likelihood import MaximumLikelihood, fit_maximum_likelihood
from stochpref.observations import Menus, Observations
from stochpref.problems import check_handled

Array = NDArray[np.float64]
Blocks = tuple[NDArray[np.intp], ...]


class Dismantled(NamedTuple):
    """What blocks of goods taught.

    blocks : the goods of each.
    block_fits : each block learnt alone, as if its goods were all.
    stitched : (n,) unit vector put together from `block_fits`, scaled to agree where blocks overlap.
    joint : maximum likelihood of the pooled purchases over all goods; its covariance is the Gaussian approximation of
        the posterior, and `HeterogeneousUtility` takes the same purchases for the whole of it.
    """

    blocks: Blocks
    block_fits: tuple[MaximumLikelihood, ...]
    stitched: Array
    joint: MaximumLikelihood


def overlapping_blocks(n_goods: int, size: int, overlap: int = 1) -> Blocks:
    """Return the fewest blocks of at most `size` goods that cover all, neighbours sharing at least `overlap` goods."""
    if size < 2:
        raise InvalidArgument(f"size must be two or more; received {size}")
    if not 0 <= overlap < size:
        raise InvalidArgument(f"overlap must be zero or more and below size = {size}; received {overlap}")
    if size >= n_goods:
        return (np.arange(n_goods),)
    n_blocks = -(-(n_goods - overlap) // (size - overlap))
    starts = np.round(np.linspace(0, n_goods - size, n_blocks)).astype(np.intp)
    return tuple(np.arange(start, start + size) for start in starts)


def block_menus(n_goods: int, blocks: Blocks, menu_law: MenuLaw, n_menus: int, *, rng: np.random.Generator) -> Menus:
    """Return menus that offer one block each, in turn, with prices and budgets drawn for a market of its size."""
    check_rng(rng)
    prices, budgets = np.full((n_menus, n_goods), np.inf), np.empty(n_menus)
    for k, block in enumerate(blocks):
        rows = np.arange(k, n_menus, len(blocks))
        if rows.size:
            drawn = menu_law.sample(len(rows), len(block), rng=rng)
            prices[np.ix_(rows, block)], budgets[rows] = drawn.prices, drawn.budgets
    return Menus(prices, budgets)


def learn_blocks(observations: Observations, blocks: Blocks) -> Dismantled:
    """Return what purchases from blocks of goods teach, block by block and joined.

    Parameters
    ----------
    observations : each offers goods of one block only.
    blocks : goods of each, overlapping so that scales can be compared.
    """
    check_handled(observations, "learn_blocks")
    is_offered = np.isfinite(observations.prices)
    owner = np.full(len(observations), -1)
    for k, block in enumerate(blocks):
        outside = np.setdiff1d(np.arange(observations.n_goods), block)
        owner = np.where((owner < 0) & ~is_offered[:, outside].any(axis=1), k, owner)
    if np.any(owner < 0):
        raise InvalidArgument(
            f"every observation must offer goods of one block only; {int(np.sum(owner < 0))} do not; "
            "build menus with block_menus, or give the blocks that were offered"
        )
    fits = []
    for k, block in enumerate(blocks):
        part = observations[owner == k]
        names = [part.goods[i] for i in block]
        tables = (part.prices[:, block], part.budgets, part.bundles[:, block])
        fits.append(fit_maximum_likelihood(Observations(*tables, goods=names, caps=part.caps[:, block])))
    stitched = _stitch(observations.n_goods, blocks, [fit.mean_direction for fit in fits])
    return Dismantled(blocks, tuple(fits), stitched, fit_maximum_likelihood(observations))


def _stitch(n_goods: int, blocks: Blocks, directions: list[Array]) -> Array:
    """Return a unit vector: block after block scaled by least squares on the goods it shares with those before it."""
    total, count = np.zeros(n_goods), np.zeros(n_goods)
    for block, direction in zip(blocks, directions, strict=True):
        shared = count[block] > 0
        scale = 1.0
        if shared.any():
            known = total[block][shared] / count[block][shared]
            fitted = float(direction[shared] @ known) / float(direction[shared] @ direction[shared])
            scale = fitted if fitted > 0 else 1.0
        total[block] += scale * direction
        count[block] += 1
    mean = total / np.maximum(count, 1)
    length = float(np.linalg.norm(mean))
    return mean / length if length > 0 else mean
