# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Several limits: a budget, and beside it room, time, or a number of items that may not be exceeded.

Customers buy what is worth most to them, Σ u_i x_i, among all bundles that keep within every limit: goods are divisible
up to their caps, money is one limit, and each row of `coefficients` says what a unit of a good takes of another. Every
limit that binds has a shadow price; as many goods may be bought in part as limits bind (`corners`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.chances import Chance
from stochpref.checks import as_floats, check_text
from stochpref.corners import CornerRegions
from stochpref.errors import InvalidArgument, InvalidObservations, describe_rows
from stochpref.kinds import (
    ABOVE,
    ABSENT,
    AT,
    BELOW,
    CORNER,
    DEGENERATE,
    MONEY_TOLERANCE,
    PIVOT,
    QUANTITY_TOLERANCE,
    SLACK,
    TIGHT,
)
from stochpref.problems.corner_rows import corners_of, rank_of_rows
from stochpref.problems.divisible import rows_of, unwanted
from stochpref.problems.faults import Fault, MenuArrays, is_bought, per_row
from stochpref.problems.programme import solve_outside
from stochpref.problems.protocol import Classification, Problem
from stochpref.problems.simplex import ENDLESS, FOUND, UNSTARTED, Tables, choose_rows
from stochpref.regions import Regions
from stochpref.threads import for_blocks

if TYPE_CHECKING:
    from stochpref.observations import Observations

Array = NDArray[np.float64]

MOST_BINDING: Final = 3  # limits whose shadow prices are integrated over
_BLOCK: Final = 256


class _Found(NamedTuple):
    """Kinds and sides of bundles, and which limits bind: (T, r), money first, those that take nothing left out."""

    classes: Classification
    binds: NDArray[np.bool_]
    use: Array


class Linear(Problem):
    """Divisible goods under a budget and further limits.

    Parameters
    ----------
    coefficients : (r, n), or (T, r, n) where they differ by observation, what a unit of each good takes of each limit;
        (n,) for one limit. A good with a negative one makes room: buying it lets more of others be bought.
    limits : (r,) or (T, r) the most that a bundle may take of each, a number for one; inf where there is none. Below
        zero, a bundle must make so much room.
    names : what the limits are called; "limit 1" and so on if left out.
    """

    name: ClassVar[str] = "linear"
    about: ClassVar[str] = "goods divisible up to their caps, budgets and other limits known"
    has_corners: ClassVar[bool] = True
    made_for: ClassVar[str] = "fit HeterogeneousUtility or SegmentedUtility, which know several limits"

    def __init__(self, coefficients: ArrayLike, limits: ArrayLike, names: Iterable[object] | None = None) -> None:
        use, most = as_floats(coefficients, "coefficients"), np.atleast_1d(as_floats(limits, "limits"))
        use = use[None] if use.ndim == 1 else use
        if use.ndim not in (2, 3) or most.ndim > 2 or use.shape[-2] != most.shape[-1] or use.size == 0:
            raise InvalidArgument(
                "coefficients must be (r, n) or (T, r, n), a row for each of r limits, (r,) or (T, r); received shapes "
                f"{use.shape} and {most.shape}"
            )
        if use.ndim == 3 and most.ndim == 2 and len(use) != len(most):
            raise InvalidArgument(
                f"limits must be of as many observations as coefficients, {len(use)}; received {len(most)}"
            )
        self.coefficients, self.at_most = use.copy(), most.copy()
        self.names = tuple(f"limit {k + 1}" for k in range(use.shape[-2])) if names is None else _named(names, use)
        self.coefficients.flags.writeable = self.at_most.flags.writeable = False
        self._check_values()

    @classmethod
    def by_name(cls) -> Self:
        """Refuse a name without limits.

        Raises
        ------
        InvalidArgument : always.
        """
        raise InvalidArgument(
            "problem 'linear' must come with its limits; received the name alone; pass Linear(coefficients, limits), "
            "or --limit weight<=20 with --goods-table, or --limit 'items<=3'"
        )

    def _check_values(self) -> None:
        if not np.isfinite(self.coefficients).all():
            raise InvalidArgument("coefficients must be finite; received NaN or an infinity; 0 takes nothing")
        if np.isnan(self.at_most).any() or (self.at_most == -np.inf).any():
            raise InvalidArgument("limits must be numbers, inf where there is none; received NaN or -inf")
        rows = self.coefficients.reshape(-1, *self.coefficients.shape[-2:])
        for i, name in enumerate(self.names):
            if not rows[:, i].any():
                raise InvalidArgument(f"coefficients of {name!r} must not all be 0: it limits nothing; leave it out")
            for j in range(i):
                if _are_multiples(rows[:, i], rows[:, j]):
                    raise InvalidArgument(
                        f"coefficients of different limits must differ; those of {name!r} are a multiple of those of "
                        f"{self.names[j]!r}, so that only one can bind; leave out the looser one"
                    )

    @property
    def n_limits(self) -> int:
        """How many limits there are beside the budget."""
        return self.coefficients.shape[-2]

    @property
    def is_by_row(self) -> bool:
        """Whether limits or coefficients differ by observation."""
        return self.coefficients.ndim == 3 or self.at_most.ndim == 2

    def settings(self) -> dict[str, Any]:
        """Return coefficients, limits and names."""
        return {"coefficients": self.coefficients, "limits": self.at_most, "names": list(self.names)}

    def choose(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        """Return the best bundles (..., T, n) of utilities (n,), (T, n) or (..., T, n) from T menus."""
        u, n = np.atleast_1d(as_floats(utilities, "utilities")), menus.prices.shape[1]
        if u.shape[-1] != n or not np.isfinite(u).all():
            raise InvalidArgument(f"utilities must be finite numbers of {n} goods; received shape {u.shape}")
        tables, own = self._tables(menus), menus.budgets.shape
        lead = np.broadcast_shapes(u.shape[:-1], own)
        rows = rows_of(u.shape[:-1], lead), rows_of(own, lead)
        bundles = np.zeros((*lead, n))
        flat, status = bundles.reshape(-1, n), np.full(int(np.prod(lead, dtype=np.int64)), FOUND, np.int8)
        given = np.require(u.reshape(-1, n), np.float64, ["C", "W"])

        def fill(start: int, stop: int) -> None:
            choose_rows(given, tables, rows, flat, status, start, stop)

        for_blocks(fill, len(flat), _BLOCK)
        for t in np.flatnonzero(status == UNSTARTED):
            flat[t] = solve_outside(given[rows[0][t]], *(table[rows[1][t]] for table in tables))
        if np.any(status == ENDLESS):
            raise InvalidArgument("utilities must have a best bundle; of one it was not found; state caps and budgets")
        return bundles

    def find_faults(self, menus: MenuArrays, bundles: Array | None) -> list[Fault]:
        """Return every broken rule of value: those of any purchase, and that bundles keep within the limits."""
        found = super().find_faults(menus, bundles)
        tables = self._tables(menus)
        use, limits = tables.use[:, 1:], tables.limits[:, 1:]
        with np.errstate(invalid="ignore", over="ignore"):
            most = np.where(use < 0, use * tables.caps[:, None], 0.0).sum(axis=2)  # the room that goods can make
        out_of_reach = most > limits + MONEY_TOLERANCE * np.abs(limits)
        found += per_row(
            "limits", "a limit must leave some bundle", out_of_reach.any(axis=1),
            lambda row: self._received(row, out_of_reach, most, limits), "raise the limit",
        )  # fmt: skip
        if bundles is None:
            return found
        with np.errstate(invalid="ignore", over="ignore"):
            taken = np.einsum("tri,ti->tr", use, bundles)
            size = np.einsum("tri,ti->tr", np.abs(use), np.abs(bundles))
            is_over = taken > limits + MONEY_TOLERANCE * np.maximum(np.abs(limits), size)
        return [
            *found,
            *per_row(
                "bundles", "a bundle must keep within the limits of problem 'linear'", is_over.any(axis=1),
                lambda row: self._received(row, is_over, taken, limits), "correct the row, or the limit",
            ),
        ]  # fmt: skip

    def _received(self, row: int, bad: NDArray[np.bool_], taken: Array, limits: Array) -> str:
        k = int(np.argmax(bad[row]))
        return f"{taken[row, k]:g} of {self.names[k]!r} against a limit of {limits[row, k]:g}"

    def classify(self, menus: MenuArrays, bundles: Array) -> Classification:
        """Return kinds and sides: as under one budget where one limit binds, and corners where more do."""
        return self._find(menus, bundles).classes

    def regions(self, observations: Observations) -> Regions:
        """Return the utilities that explain each observation; degenerate rows are kept and marked.

        Raises
        ------
        InvalidObservations : more than three limits bind at some bundle.
        """
        (kind, side, pivot), binds, use = self._find(observations, observations.bundles)
        n_binding = binds.sum(axis=1)
        many = np.flatnonzero((kind == CORNER) & (n_binding > MOST_BINDING)).tolist()
        if many:
            raise InvalidObservations(
                f"observations must have {MOST_BINDING} limits at most that bind at once, for which bundles have "
                f"probabilities; {len(many)} have more ({describe_rows(many)}); leave out limits that follow from "
                "others, or these observations",
                many,
            )
        first = np.argmax(binds, axis=1)
        slope = np.take_along_axis(use, first[:, None, None], axis=1)[:, 0]
        is_plain = np.isin(kind, (SLACK, PIVOT, TIGHT))[:, None] & (side != ABSENT) & (slope > 0)
        slope = np.where(is_plain, slope, 1.0)
        corners, group = corners_of(kind, side, slope, use, binds)
        return CornerRegions(kind, side, slope, pivot, float(slope.max()), corners=corners, group=group)

    def event(self, menus: MenuArrays, *, nonempty: bool = False) -> Chance | None:
        """Return the probability that something on offer is wanted, where only such customers are recorded."""
        if not nonempty:
            return None
        if np.any(self.coefficients < 0) or np.any(self.at_most <= 0):
            raise InvalidArgument(
                "nonempty must be left out where limits are 0 or coefficients negative: who buys nothing may want "
                "something there"
            )
        return Chance.outside(unwanted(np.isfinite(menus.prices)))

    def admits(self, other: Problem | None) -> bool:
        """Tell whether menus state limits of the same names, or none."""
        return other is None or (isinstance(other, Linear) and other.names == self.names)

    def facing(self, stated: Problem | None, goods: tuple[str, ...], known: tuple[str, ...]) -> Problem:
        """Return the limits that menus state; those of the fit where they state none."""
        if stated is None and self.is_by_row:
            raise InvalidArgument(
                "menus must state their limits where those of the fit differ by observation; received none; give "
                "Menus(…, problem=Linear(coefficients, limits, names))"
            )
        return self.over(goods, known) if stated is None else stated

    def typical(self) -> Self:
        """Return limits in the middle of those of many menus."""
        coefficients, limits = self.coefficients, self.at_most
        return type(self)(
            coefficients if coefficients.ndim == 2 else np.median(coefficients, axis=0),
            limits if limits.ndim == 1 else np.median(limits, axis=0),
            self.names,
        )

    def movable(self) -> dict[str, float]:
        """Return the limits, by name."""
        return dict(zip(self.names, self.at_most.tolist(), strict=True))

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return the limits of some of the rows."""
        if not self.is_by_row:
            return self
        use = self.coefficients if self.coefficients.ndim == 2 else self.coefficients[rows]
        return self._with(use, self.at_most if self.at_most.ndim == 1 else self.at_most[rows])

    def join(self, others: Sequence[Problem | None]) -> Self:
        """Return the limits of these rows followed by those of others."""
        if not self.is_by_row or not all(
            isinstance(other, type(self)) and other.names == self.names for other in others
        ):
            return super().join(others)
        parts = [self, *(other for other in others if isinstance(other, type(self)))]
        return self._with(
            _chained([part.coefficients for part in parts], 3), _chained([part.at_most for part in parts], 2)
        )

    def over(self, goods: tuple[str, ...], known: tuple[str, ...] | None = None) -> Self:
        """Return the limits over these goods; one that is new takes nothing."""
        if known is None or goods == known:
            return self
        place = {name: i for i, name in enumerate(known)}
        use = np.zeros((*self.coefficients.shape[:-1], len(goods)))
        for i, name in enumerate(goods):
            if name in place:
                use[..., i] = self.coefficients[..., place[name]]
        return self._with(use, self.at_most)

    def _with(self, coefficients: Array, limits: Array) -> Self:
        """Return the same limits with other numbers, which need no check."""
        made = object.__new__(type(self))
        made.coefficients, made.at_most, made.names = coefficients, limits, self.names
        return made

    def _tables(self, menus: MenuArrays) -> Tables:
        """Return what a unit of each good takes of money and of each limit, limits and caps; none is infinite."""
        count, n = menus.prices.shape
        if self.coefficients.shape[-1] != n:
            raise InvalidArgument(
                f"coefficients of problem 'linear' must be of the {n} goods on the menu; received "
                f"{self.coefficients.shape[-1]}; give one for each good, 0 for what takes nothing of a limit"
            )
        by_row = [len(a) for a, dims in ((self.coefficients, 3), (self.at_most, 2)) if a.ndim == dims]
        if any(rows != count for rows in by_row):
            raise InvalidArgument(
                f"limits of problem 'linear' must be shared, or one for each of {count} menus; received "
                f"{by_row[0]}; state those of these menus, problem=Linear(coefficients, limits)"
            )
        offered = menus.prices < np.inf
        use, limits = np.zeros((count, 1 + self.n_limits, n)), np.empty((count, 1 + self.n_limits))
        use[:, 0], use[:, 1:] = np.where(offered, menus.prices, 0.0), self.coefficients
        use[:, 1:] *= offered[:, None]
        limits[:, 0], limits[:, 1:] = menus.budgets, self.at_most
        is_open = ~(limits < np.inf)
        use[is_open], limits[is_open] = 0.0, 1.0
        return Tables(use, limits, np.where(offered, menus.caps, 0.0))

    def _find(self, menus: MenuArrays, bundles: Array) -> _Found:
        use, limits, caps = self._tables(menus)
        offered, bought = caps > 0, is_bought(bundles, menus.caps)
        in_part = offered & bought & (bundles < menus.caps * (1.0 - QUANTITY_TOLERANCE))
        side = np.where(offered, np.where(in_part, AT, np.where(bought, ABOVE, BELOW)), ABSENT).astype(np.int8)
        taken, size = np.einsum("tri,ti->tr", use, bundles), np.einsum("tri,ti->tr", np.abs(use), bundles)
        binds = taken >= limits - MONEY_TOLERANCE * np.maximum(np.abs(limits), size)
        takes = np.any(use != 0, axis=2)
        binds &= takes
        n_binding, n_in_part = binds.sum(axis=1), in_part.sum(axis=1)
        first = np.take_along_axis(use, np.argmax(binds, axis=1)[:, None, None], axis=1)[:, 0]
        is_plain = (n_binding == 1) & np.all((first > 0) | ~offered, axis=1)
        kind = np.where(n_binding == 0, SLACK, np.where(is_plain, np.where(n_in_part == 1, PIVOT, TIGHT), CORNER))
        kind = np.where((n_binding == 0) & ~takes.any(axis=1), TIGHT, kind)  # nothing on offer: nothing is revealed
        rank = rank_of_rows(use, binds, in_part)
        kind = np.where(rank < n_in_part, DEGENERATE, kind).astype(np.int8)
        pivot = np.where(kind == PIVOT, np.argmax(in_part, axis=1), -1).astype(np.int32)
        return _Found(Classification(kind, side, pivot), binds, use)


def _chained(parts: list[Array], by_row: int) -> Array:
    """Return numbers of one set of rows after those of others; what all rows share must be the same in all."""
    if all(part.ndim == by_row for part in parts):
        return np.concatenate(parts)
    if any(not np.array_equal(part, parts[0]) for part in parts):
        raise InvalidArgument(
            "concat needs limits that are shared, and the same, or by observation in all of its parts"
        )
    return parts[0]


def _named(names: Iterable[object], use: Array) -> tuple[str, ...]:
    told = () if isinstance(names, str) else tuple(str(name) for name in names)
    if isinstance(names, str) or len(told) != use.shape[-2] or len(set(told)) < len(told):
        raise InvalidArgument(f"names must be {use.shape[-2]} different names, one for each limit; received {names!r}")
    check_text(told, "names")
    return told


def _are_multiples(one: Array, other: Array) -> bool:
    """Tell whether coefficients (k, n) are the same of two limits but for a factor, wherever they are told."""
    a = one / np.linalg.norm(one, axis=1, keepdims=True).clip(1e-300)
    b = other / np.linalg.norm(other, axis=1, keepdims=True).clip(1e-300)
    return bool((np.abs(a - b).max(axis=1) < QUANTITY_TOLERANCE).all())
