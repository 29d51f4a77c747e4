# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What is maximised: the number of observations whose bundle is the unique optimum under a utility, with a margin.

Scoring is strict. With weak inequalities u = -e_j ties almost everywhere and seems to explain everything. In logs the
positive goods of a strict region satisfy differences v_j - v_i < log a_j - log a_i, v = log u, for every good j not
bought and every good i bought; the good bought in part belongs to both groups (B' = bought or part, N' = not bought or
part). A slack region only has signs. Nothing else enters the search, so `pack` lays out just that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument
from stochpref.kinds import ABOVE, AT, BELOW, DEGENERATE, PIVOT, SLACK
from stochpref.regions import Regions

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Whole numbers up to this have ratios that differ by 2**-40 at least, or not at all: far more than rounding.
_LARGEST_WHOLE = 2.0**20


class Packed(NamedTuple):
    """Regions laid out for the comparison of pairs and for differences of logs; none of them is degenerate.

    positive, negative : (T, w) bit sets of the goods whose utility must be positive, or negative.
    upper_price, upper_inverse : (T, n) a on N' and 1/a on B', infinite elsewhere and in slack regions.
    lower_price, lower_inverse : (T, n) a on B' and 1/a on N', zero elsewhere and in slack regions.
    log_price : (T, n) log a.
    slope, bits : (T, n) a, and the bits of that number.
    side : (T, n) as in Regions.
    kind, pivot : (T,) as in Regions.
    is_whole : all prices are whole numbers, small enough for nearly equal ratios to be equal.
    """

    positive: NDArray[np.uint64]
    negative: NDArray[np.uint64]
    upper_price: Array
    upper_inverse: Array
    lower_price: Array
    lower_inverse: Array
    log_price: Array
    slope: Array
    bits: NDArray[np.uint64]
    side: NDArray[np.int8]
    kind: NDArray[np.int8]
    pivot: NDArray[np.int32]
    is_whole: bool


def pack(regions: Regions) -> Packed:
    """Return regions laid out for the solvers; degenerate ones must have been left out."""
    side, slope = regions.side, np.ascontiguousarray(regions.slope)
    is_slack = (regions.kind_code == SLACK)[:, None]
    wanted = (side == ABOVE) | (side == AT)
    below = (side == BELOW) & ~is_slack | (side == AT)
    above = wanted & ~is_slack
    with np.errstate(over="ignore"):
        inverse = 1.0 / slope
    offered = slope[(side == ABOVE) | (side == BELOW) | (side == AT)]
    return Packed(
        positive=_bit_sets(wanted),
        negative=_bit_sets((side == BELOW) & is_slack),
        upper_price=np.where(below, slope, np.inf),
        upper_inverse=np.where(above, inverse, np.inf),
        lower_price=np.where(above, slope, 0.0),
        lower_inverse=np.where(below, inverse, 0.0),
        log_price=np.log(slope),
        slope=slope,
        bits=slope.view(np.uint64),
        side=np.ascontiguousarray(side),
        kind=np.ascontiguousarray(regions.kind_code),
        pivot=np.ascontiguousarray(regions.pivot),
        is_whole=bool(np.all((offered <= _LARGEST_WHOLE) & (offered == np.rint(offered)))),
    )


def take(packed: Packed, rows: NDArray[np.intp]) -> Packed:
    """Return the rows of packed regions picked by indices."""
    return Packed(**{name: value if name == "is_whole" else value[rows] for name, value in packed._asdict().items()})


def _bit_sets(member: Mask) -> NDArray[np.uint64]:
    packed = np.packbits(member, axis=1, bitorder="little")
    n_words = -(-member.shape[1] // 64)
    padded = np.zeros((member.shape[0], 8 * n_words), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


def theorem_margin(n_goods: int, n_observations: int) -> float:
    """Return the margin of the paper's Theorem 2, γ = 1/(4 n² T^{1/4})."""
    return 1.0 / (4.0 * n_goods**2 * n_observations**0.25)


def resolve_margin(margin: float | str, n_goods: int, n_observations: int) -> float:
    """Return the margin as a number, zero or more; "theorem" stands for `theorem_margin`."""
    if isinstance(margin, str):
        if margin != "theorem":
            raise InvalidArgument(f"margin must be zero, a positive number or 'theorem'; received {margin!r}")
        return theorem_margin(n_goods, n_observations)
    try:
        value = float(margin)
    except (TypeError, ValueError):
        raise InvalidArgument(f"margin must be zero, a positive number or 'theorem'; received {margin!r}") from None
    if not (np.isfinite(value) and value >= 0.0):
        raise InvalidArgument(f"margin must be finite and not negative; received {value:g}")
    return value


def is_consistent(regions: Regions, utility: Array, margin: float = 0.0) -> Mask:
    """Tell which observations a utility explains, (T,): strictly, and with the margin."""
    return regions.contains(utility, margin=margin, strict=True)


def is_possible(regions: Regions, margin: float) -> Mask:
    """Tell which regions hold any utility at all with the margin, (T,).

    Notes
    -----
    In ratios r = u/a with the largest price scaled to 1, the shortest u of a region has r = γ on the goods bought of
    a slack or tight region and λ = γ, r = 2γ on the goods bought in full of a pivot region; goods not bought have
    r = -γ in a slack region and r = 0 in the others, where λ - γ ≥ 0 allows it. The region is empty iff that u is
    longer than 1. Rounding must not empty a region that is not: the test leaves 1e-9.
    """
    a = regions.slope / regions.price_scale
    is_pivot, is_slack = (regions.kind_code == PIVOT)[:, None], (regions.kind_code == SLACK)[:, None]
    times = np.where(regions.side == ABOVE, np.where(is_pivot, 2.0, 1.0), 0.0)
    times = np.where((regions.side == AT) | (is_slack & (regions.side == BELOW)), 1.0, times)
    shortest = margin * np.sqrt(np.sum(np.square(times * a), axis=1))
    return (shortest <= 1.0 + 1e-9) & (regions.kind_code != DEGENERATE)
