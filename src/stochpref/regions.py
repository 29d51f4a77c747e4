# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions of utilities: for each observation, the utilities under which its bundle is optimal.

A region is a kind and, per good, a side and a slope (`kinds` says what they mean), stored as arrays over
all observations. In ratios r_i = u_i / a_i, a utility lies in the region iff

- slack: r_i ≥ 0 for goods bought, r_j ≤ 0 for goods not bought;
- pivot: λ = r_f ≥ 0, r_i ≥ λ for goods bought in full, r_j ≤ λ for goods not bought;
- tight: the lowest ratio bought is at least 0 and at least the highest ratio not bought.

Membership, masses, Gibbs moves and conflicts read this and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.errors import InvalidArgument, InvalidObservations, describe_rows
from stochpref.kinds import ABOVE, ABSENT, AT, BELOW, DEGENERATE, KIND_NAMES, PIVOT, SLACK, TIGHT
from stochpref.names import TIES
from stochpref.threads import compiled_reordering, for_blocks

if TYPE_CHECKING:
    from stochpref.observations import Observations

Array = NDArray[np.float64]

SATIATING: Final = (
    "; or, if goods satiate, state problem='satiated' (--problem satiated) and fit SatiatedUtility (--model satiated)"
)
_BLOCK = 4096
ROW_ARRAYS: Final = ("kind_code", "side", "slope", "pivot")  # arrays with a row for each observation
_LOOKED_AT = 512  # rows that decide whether looking for equal ones pays
WORTHWHILE: Final = 0.7  # share of distinct rows among them above which it does not
_SMALLEST = 5e-324  # d > 0 is the same as d >= the smallest positive double: one comparison serves weak and strict


@compiled_reordering
def _contains(
    kind: NDArray[np.int8],
    side: NDArray[np.int8],
    slope: Array,
    pivot: NDArray[np.int32],
    utilities: Array,
    thresholds: Array,
    inside: NDArray[np.bool_],
    start: int,
    stop: int,
) -> None:
    n = side.shape[1]
    for k in range(utilities.shape[0]):
        u, least = utilities[k], thresholds[k]
        for t in range(start, stop):
            a, s = slope[t], side[t]
            if kind[t] == DEGENERATE:
                inside[k, t] = False
            elif kind[t] == TIGHT:
                low, high = np.inf, 0.0
                for i in range(n):
                    ratio = u[i] / a[i]
                    low = min(low, ratio if s[i] == ABOVE else np.inf)
                    high = max(high, ratio if s[i] == BELOW else 0.0)
                inside[k, t] = low - high >= least
            else:
                shadow = u[pivot[t]] / a[pivot[t]] if kind[t] == PIVOT else 0.0
                n_broken = 1 if kind[t] == PIVOT and not shadow >= least else 0
                for i in range(n):
                    gap = u[i] / a[i] - shadow
                    n_broken += (s[i] == ABOVE) & (not gap >= least)
                    n_broken += (s[i] == BELOW) & (not -gap >= least)
                inside[k, t] = n_broken == 0


class Merged(NamedTuple):
    """Distinct regions, each under one law, in the order of laws.

    counts : (m,) how often each occurs.
    place : which of them each observation has, (T,) or a slice.
    which : (m,) the law of each, 0 if there is but one.
    """

    regions: Regions
    counts: Array
    place: NDArray[np.intp] | slice
    which: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """The regions of a set of observations; build them with `Regions.of`.

    Attributes
    ----------
    kind_code : (T,) SLACK, PIVOT, TIGHT or DEGENERATE of `kinds`.
    side : (T, n) ABOVE, BELOW, AT or ABSENT.
    slope : (T, n) price of each good; 1 where the good is absent.
    pivot : (T,) index of the good bought in part, -1 where there is none.
    price_scale : the largest price of the data set: margins are in units of u / a with that price scaled to 1.
    has_masses : their probabilities are sums that `mass` evaluates.
    agreement : where to find how a common utility compares them.
    degenerate_because : what makes a region empty, in words.
    degenerate_unless : what else may explain such a bundle, in words.
    """

    kind_code: NDArray[np.int8]
    side: NDArray[np.int8]
    slope: Array
    pivot: NDArray[np.int32]
    price_scale: float
    has_masses: ClassVar[bool] = True
    agreement: ClassVar[str] = "consensus.by_sides:BySides"
    degenerate_because: ClassVar[str] = "two goods bought in part, or one with money left"
    degenerate_unless: ClassVar[str] = SATIATING
    _merged: list[Merged | None] = field(default_factory=list, repr=False)
    _merged_by_law: list[tuple[NDArray[np.intp], Merged | None]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        # Prices come read-only from observations; one state for all spares compiling kernels for both.
        self.slope.flags.writeable = False

    @classmethod
    def of(cls, observations: Observations) -> Regions:
        """Return the regions of observations; degenerate rows are kept and marked."""
        return observations.problem.regions(observations)

    def __len__(self) -> int:
        return self.kind_code.shape[0]

    def __getitem__(self, rows: Any) -> Self:
        """Return the regions picked by a slice, a mask or indices, in the units of the whole data set."""
        kept = np.atleast_1d(np.arange(len(self))[rows])
        picked = self.kind_code[kept], self.side[kept], self.slope[kept], self.pivot[kept]
        return type(self)(*picked, self.price_scale)

    def rows(self, start: int, stop: int) -> Regions:
        """Return consecutive regions without copying them."""
        part = slice(start, stop)
        return Regions(self.kind_code[part], self.side[part], self.slope[part], self.pivot[part], self.price_scale)

    def merged(self, which: NDArray[np.intp] | None = None) -> Merged | None:
        """Return the distinct regions, as votes and menus with few bundles have; None where too few are equal.

        Looked for once: what integrates over regions asks for this again and again.

        Parameters
        ----------
        which : (T,) the law of each row; only rows of one law are equal then. None for one law.
        """
        if which is None:
            if not self._merged:
                self._merged.append(_merge(self, np.zeros(len(self), np.intp)))
            return self._merged[0]
        known = self._merged_by_law[0] if self._merged_by_law else None
        if known is None or not np.array_equal(known[0], which):
            known = which.copy(), _merge(self, which)
            self._merged_by_law[:] = [known]
        return known[1]

    def __repr__(self) -> str:
        named = [name for name in KIND_NAMES if name != "corner" or np.any(self.kind == name)]
        counts = ", ".join(f"{np.sum(self.kind == name)} {name}" for name in named)
        return f"<Regions: {len(self)} over {self.n_goods} goods ({counts})>"

    @property
    def corners(self) -> Any:
        """What is known of rows where several limits bind (`corners.Corners`); None if there can be none."""
        return None

    @property
    def effort(self) -> float:
        """How much more than a row of one limit a row costs to integrate, on average."""
        return 1.0

    def joined(self, others: Sequence[Any]) -> Self:
        """Return these regions followed by others of the same kind."""
        parts = (self, *others)
        kind, side, slope, pivot = (np.concatenate([getattr(part, name) for part in parts]) for name in ROW_ARRAYS)
        return type(self)(kind, side, slope, pivot, max(part.price_scale for part in parts))

    @property
    def n_goods(self) -> int:
        """Number of goods, on offer or not: the dimension of the utilities."""
        return self.side.shape[1]

    @property
    def is_degenerate(self) -> NDArray[np.bool_]:
        """(T,) whether only exact ties could explain the observation."""
        return self.kind_code == DEGENERATE

    @property
    def kind(self) -> NDArray[np.str_]:
        """(T,) names: "slack", "pivot", "tight" or "degenerate"."""
        return np.array(KIND_NAMES)[self.kind_code]

    def contains(self, u: ArrayLike, *, margin: float = 0.0, strict: bool = False) -> NDArray[np.bool_]:
        """Tell which regions hold a utility.

        Parameters
        ----------
        u : (n,) or (k, n), of any length but zero.
        margin : how far inside, in the paper's units: u / a for unit u, with the data set's largest price scaled
            to 1, so that the currency does not matter.
        strict : demand that the bundle is the *unique* optimum; ties are misses. With weak inequalities a utility
            with a single negative good ties almost everywhere and seems to explain everything.

        Returns
        -------
        (T,) for one utility, (k, T) for k. Degenerate observations hold no utility: only exact ties, which have
        probability zero, could explain them.
        """
        try:
            utilities = np.asarray(u, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"u must be numbers; {error}") from None
        if utilities.ndim not in (1, 2) or utilities.shape[-1] != self.n_goods:
            raise InvalidArgument(
                f"u must have shape ({self.n_goods},) or (k, {self.n_goods}); received {utilities.shape}"
            )
        if not np.isfinite(utilities).all():
            raise InvalidArgument("u must be finite; it holds NaN or an infinity")
        if not (np.isfinite(margin) and margin >= 0):
            raise InvalidArgument(f"margin must be a finite number, zero or more; received {margin}")
        rows = np.ascontiguousarray(np.atleast_2d(utilities))
        thresholds = margin / self.price_scale * np.linalg.norm(rows, axis=1)
        if strict:
            thresholds = np.maximum(thresholds, _SMALLEST)
        inside = np.empty((rows.shape[0], len(self)), np.bool_)

        def block(start: int, stop: int) -> None:
            _contains(self.kind_code, self.side, self.slope, self.pivot, rows, thresholds, inside, start, stop)

        for_blocks(block, len(self), _BLOCK)
        return inside[0] if utilities.ndim == 1 else inside

    def holds(self, u: Array) -> NDArray[np.bool_]:
        """Tell which regions hold a utility of their own, (T,) for utilities (T, n), weakly, as `contains` does."""
        ratio = u / self.slope
        above = np.min(ratio, axis=1, where=self.side == ABOVE, initial=np.inf)
        below = np.max(ratio, axis=1, where=self.side == BELOW, initial=-np.inf)
        at_pivot = np.take_along_axis(ratio, np.maximum(self.pivot, 0)[:, None].astype(np.intp), axis=1)[:, 0]
        shadow = np.where(self.kind_code == PIVOT, at_pivot, 0.0)
        is_tight, is_right = self.kind_code == TIGHT, (above >= shadow) & (below <= shadow) & (shadow >= 0)
        return np.where(is_tight, above >= np.maximum(below, 0.0), is_right) & (self.kind_code != DEGENERATE)

    def inequalities(self, t: int) -> tuple[Array, Array]:
        """Return (V, w) such that the region of observation t is V u ≤ w, one row per inequality of Lemma 1.

        Rows are in the units of `contains`: V u ≤ w - margin·‖u‖ is the region with that margin.

        Notes
        -----
        Paper, Lemma 1, for the exact region: a good bought in full is worth at least as much per unit of money as
        the good bought in part, which the paper's lemma leaves out.
        """
        if not -len(self) <= t < len(self):
            raise InvalidArgument(f"t must be between 0 and {len(self) - 1}; received {t}")
        if self.kind_code[t] == DEGENERATE:
            raise InvalidArgument(f"observation {t} is degenerate: only exact ties could explain it; leave it out")
        ratio = np.diag(self.price_scale / self.slope[t])  # row i of it is the map u -> r_i
        above, below = ratio[self.side[t] == ABOVE], ratio[self.side[t] == BELOW]
        if self.kind_code[t] == SLACK:
            rows = [-above, below]
        elif self.kind_code[t] == PIVOT:
            shadow = ratio[self.pivot[t]]
            rows = [-shadow[None], shadow - above, below - shadow]
        else:
            pairs = below[None, :, :] - above[:, None, :]
            rows = [-above, pairs.reshape(-1, self.n_goods)]
        matrix = np.concatenate(rows)
        return matrix, np.zeros(len(matrix))

    def interior_points(self, *, rng: np.random.Generator) -> Array:
        """Draw one unit vector strictly inside each region, (T, n); NaN rows for degenerate observations.

        Absent goods get any value. Not a draw from any particular law: a start for samplers, a probe for tests.
        """
        offset = rng.standard_normal(self.side.shape)
        signed = np.where(self.side == ABSENT, offset, np.where(self.side == AT, 0.0, self.side * np.abs(offset)))
        is_binding = np.isin(self.kind_code, (PIVOT, TIGHT))
        shadow = np.where(is_binding, np.abs(rng.standard_normal(len(self))), 0.0)
        points = self.slope * (signed + shadow[:, None])
        points[self.kind_code == DEGENERATE] = np.nan
        return points / np.linalg.norm(points, axis=1, keepdims=True)


def _merge(regions: Regions, law: NDArray[np.intp]) -> Merged | None:
    keys = _row_keys(regions.rows(0, _LOOKED_AT), law[:_LOOKED_AT])
    if len(regions) < 2 or len(np.unique(keys)) > WORTHWHILE * len(keys):
        return None
    if len(regions) > _LOOKED_AT:
        keys = _row_keys(regions, law)
    _, first, place, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, law[first]))  # by law, then by first occurrence
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first, counts, place = first[order], counts[order], rank[place]
    twin = first[place]
    same_slope = (regions.slope == regions.slope[twin]).all(axis=1) | (regions.kind_code == SLACK)
    is_same = (regions.kind_code == regions.kind_code[twin]) & (regions.pivot == regions.pivot[twin]) & same_slope
    is_same &= law == law[twin]
    if not (is_same & (regions.side == regions.side[twin]).all(axis=1)).all():  # two keys agree by chance: 1 in 2^64
        return None
    return Merged(regions[first], counts.astype(np.float64), place, law[first])


def _row_keys(regions: Regions, law: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Return a hash of every region and its law; prices are no part of a slack one."""
    odd = np.random.default_rng(0).integers(2**63, size=(2, regions.n_goods), dtype=np.uint64) | np.uint64(1)
    bits = np.ascontiguousarray(regions.slope).view(np.uint64)
    prices = ((bits ^ (bits >> np.uint64(29))) * odd[0]).sum(axis=1)
    prices = np.where(regions.kind_code == SLACK, np.uint64(0), prices ^ (prices >> np.uint64(32)))
    sides = (regions.side.astype(np.uint64) * odd[1]).sum(axis=1)
    rest = regions.pivot.astype(np.uint64) * odd[0, 0] + regions.kind_code.astype(np.uint64) * odd[1, 0]
    rest += law.astype(np.uint64) * odd[0, -1]
    return prices + sides + rest


def check_degenerate(degenerate: str) -> str:
    """Return what to do with degenerate observations, if it is one of the two."""
    if degenerate not in TIES:
        raise InvalidArgument(f"degenerate must be {' or '.join(map(repr, TIES))}; received {degenerate!r}")
    return degenerate


class Explained(Protocol):
    """What fits ask of regions before they draw or integrate, whatever these are made of.

    has_masses, agreement, degenerate_because, degenerate_unless : as in `Regions`.
    """

    has_masses: ClassVar[bool]
    agreement: ClassVar[str]
    degenerate_because: ClassVar[str]
    degenerate_unless: ClassVar[str]

    @property
    def n_goods(self) -> int: ...  # noqa: D102

    @property
    def is_degenerate(self) -> NDArray[np.bool_]: ...  # noqa: D102

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any) -> Self: ...

    def contains(self, u: ArrayLike, *, strict: bool = False) -> NDArray[np.bool_]: ...  # noqa: D102

    def interior_points(self, *, rng: np.random.Generator) -> Array: ...  # noqa: D102


def usable_rows(regions: Explained, degenerate: str) -> NDArray[np.intp]:
    """Return the rows a fit may use: all of them, or those left when degenerate ones are dropped on request."""
    check_degenerate(degenerate)
    is_degenerate = regions.is_degenerate
    bad = np.flatnonzero(is_degenerate)
    if bad.size and (degenerate == "refuse" or bad.size == len(regions)):
        remedy = (
            "correct the quantities or budgets, or leave them out: degenerate='drop' (--degenerate drop)"
            if bad.size < len(regions)
            else "correct the quantities or budgets: nothing else is left"
        ) + regions.degenerate_unless
        raise InvalidObservations(
            f"observations must not be degenerate ({regions.degenerate_because}): only exact ties "
            f"could explain them; {bad.size} of {len(regions)} are ({describe_rows(bad.tolist())}); {remedy}",
            bad.tolist(),
        )
    return np.flatnonzero(~is_degenerate)
