# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A linear programme whose costs nobody told: what could be decided, for every observation the same or its own."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import as_floats
from stochpref.errors import InvalidArgument, describe_rows
from stochpref.programmes.cones import Cone, vertex_cone
from stochpref.programmes.hull import equalities_of, hull_basis
from stochpref.programmes.protocol import Programme, checked_utilities
from stochpref.programmes.simplex import INFEASIBLE, OPTIMAL, UNBOUNDED, make_table, solve_rows
from stochpref.threads import for_blocks

Array = NDArray[np.float64]

Fields = tuple[Array, Array, NDArray[np.int64], NDArray[np.bool_]]  # of tables, each with an axis of programmes

_MOST_BYTES: Final = 2**31  # of tables, one for each programme
_BLOCK: Final = 64  # solves a thread takes at a time
FEASIBLE: Final = 1e-6  # by how much a decision may break a row, relative to its size

_SIDES: Final = {"A": 2, "b": 1, "E": 2, "e": 1, "lower": 1, "upper": 1}  # axes of one programme


class LinearProgramme(Programme):
    """Decisions x with A x <= b, E x = e and lower <= x <= upper, of which the one of highest u·x is taken.

    Parameters
    ----------
    A, b : (r, n) and (r,), or with an axis of observations before; None for no such rows.
    E, e : (k, n) and (k,), likewise.
    lower, upper : a number, (n,) or (T, n).
    names : of the variables; x0, x1, … if None.

    Notes
    -----
    The set must be bounded, else some utilities have no best decision.
    """

    def __init__(
        self,
        A: ArrayLike | None = None,
        b: ArrayLike | None = None,
        E: ArrayLike | None = None,
        e: ArrayLike | None = None,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        *,
        names: Any = None,
    ) -> None:
        given = {"A": A, "b": b, "E": E, "e": e, "lower": lower, "upper": upper}
        arrays = {name: as_floats(value, name) for name, value in given.items() if value is not None}
        self.n_variables = _find_width(arrays, names)
        for matrix, right in (("A", "b"), ("E", "e")):
            if (matrix in arrays) != (right in arrays):
                raise InvalidArgument(f"{matrix} and {right} belong together; received one of them; give both or none")
            if matrix not in arrays:
                arrays |= {matrix: np.zeros((0, self.n_variables)), right: np.zeros(0)}
        n_observations = _find_length(arrays)
        self.n_observations = n_observations
        for name in ("lower", "upper"):
            if arrays[name].ndim == 0:
                arrays[name] = np.full(self.n_variables, arrays[name])
        _check_arrays(arrays, self.n_variables)
        self.names = tuple(map(str, names)) if names is not None else tuple(f"x{i}" for i in range(self.n_variables))
        self._arrays = arrays
        self._prepared: _Prepared | None = None

    @property
    def is_same_for_all(self) -> bool:
        """Whether all rows share one set."""
        return self.n_observations is None

    @property
    def A(self) -> Array:  # noqa: N802
        """Coefficients of the inequalities."""
        return self._arrays["A"]

    @property
    def b(self) -> Array:
        """Their limits."""
        return self._arrays["b"]

    @property
    def E(self) -> Array:  # noqa: N802
        """Coefficients of the equalities."""
        return self._arrays["E"]

    @property
    def e(self) -> Array:
        """Their right sides."""
        return self._arrays["e"]

    @property
    def lower(self) -> Array:
        """Lower bounds."""
        return self._arrays["lower"]

    @property
    def upper(self) -> Array:
        """Upper bounds."""
        return self._arrays["upper"]

    def __repr__(self) -> str:
        n_rows, n_equal = self.A.shape[-2], self.E.shape[-2]
        many = "" if self.n_observations is None else f", {self.n_observations} observations"
        return f"LinearProgramme({self.n_variables} variables, {n_rows} inequalities, {n_equal} equalities{many})"

    def arrays(self) -> dict[str, Array]:
        """Return A, b, E, e, lower and upper, by name."""
        return dict(self._arrays)

    def take(self, rows: NDArray[np.intp]) -> LinearProgramme:
        """Return the programmes of some observations."""
        if self.n_observations is None:
            return self
        cut = {name: a[rows] if a.ndim > _SIDES[name] else a for name, a in self._arrays.items()}
        return LinearProgramme(**cut, names=self.names)

    def at(self, row: int) -> dict[str, Array]:
        """Return the arrays of one observation."""
        return {name: a[row] if a.ndim > _SIDES[name] else a for name, a in self._arrays.items()}

    def solve(self, utilities: ArrayLike, rows: ArrayLike | None = None) -> Array:
        """Return the best decision (k, n) for each utility (k, n), under the programme of each row (k,)."""
        u, rows = checked_utilities(self, utilities, rows)
        return self._ready().solve(u, rows)

    def broken_by(self, chosen: Array) -> Array:
        """Return (T,) by how much each decision breaks its worst row, relative to the size of what it is made of."""
        scale = 1.0 + np.abs(chosen).max(axis=1)
        worst = np.zeros(len(chosen))
        for t, x in enumerate(chosen):
            one = self.at(t)
            norms_a, norms_e = (np.maximum(np.abs(one[name]).max(axis=1, initial=0.0), 1e-300) for name in "AE")
            over = (one["A"] @ x - one["b"]) / norms_a
            off = np.abs(one["E"] @ x - one["e"]) / norms_e
            beyond = np.concatenate([over, off, one["lower"] - x, x - one["upper"]])
            worst[t] = beyond.max(initial=0.0)
        return worst / scale

    def hulls(self, chosen: Array, rng: np.random.Generator) -> list[Array]:  # noqa: ARG002
        """Return for each observation an orthonormal basis (n, d_t) of the directions in which decisions differ."""
        ready = self._ready()
        return [ready.bases[0 if self.n_observations is None else t] for t in range(len(chosen))]

    def cone(self, row: int, chosen: Array) -> Cone:
        """Return what is known of the utilities that explain a decision."""
        ready, at = self._ready(), 0 if self.n_observations is None else row
        return vertex_cone(self.at(row), chosen, ready.equal[at], ready.bases[at], FEASIBLE)

    def _ready(self) -> _Prepared:
        if self._prepared is None:
            self._prepared = _Prepared(self)
        return self._prepared


class _Prepared:
    """Tables to solve from, and what the programmes hold equal."""

    def __init__(self, programme: LinearProgramme) -> None:
        self.n, self.n_programmes = programme.n_variables, programme.n_observations or 1
        self.is_shared = programme.n_observations is None
        lower, upper = np.atleast_2d(programme.lower), np.atleast_2d(programme.upper)
        # y counts from the lower bound, else down from the upper one, else a second column takes the other half.
        is_free = np.all(np.isinf(lower) & np.isinf(upper), axis=0)
        if np.any(np.isinf(lower) & np.isinf(upper) & ~is_free):
            raise InvalidArgument("bounds must be there for all observations of a variable or for none; state them")
        is_down = np.isinf(lower) & np.isfinite(upper)
        self.sign = np.where(is_down, -1.0, 1.0)
        self.offset = np.where(is_down, upper, np.where(np.isfinite(lower), lower, 0.0))
        self.free = np.flatnonzero(is_free)
        self.n_slack = programme.A.shape[-2]
        self.tables, self.width = self._make(programme)
        fixed = np.broadcast_to(lower == upper, (self.n_programmes, self.n))
        self.equal: list[NDArray[np.bool_]] = equalities_of(programme, self.n_programmes, fixed, self.solve_all)
        self.bases = [hull_basis(programme.at(d), self.equal[d]) for d in range(self.n_programmes)]

    def _make(self, programme: LinearProgramme) -> tuple[Fields, Array]:
        tables, width = [], []
        for d in range(self.n_programmes):
            one, at = programme.at(d), min(d, len(self.offset) - 1)
            sign, offset = self.sign[at], self.offset[at]
            rows = np.vstack([one["A"], one["E"]])
            size = np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1e-300)
            slack = np.vstack([np.eye(self.n_slack), np.zeros((len(one["E"]), self.n_slack))])
            own = rows * sign
            matrix = np.hstack([own / size[:, None], -(own / size[:, None])[:, self.free], slack])
            right = (np.append(one["b"], one["e"]) - rows @ offset) / size
            gap = np.where(np.isfinite(one["lower"]) & np.isfinite(one["upper"]), one["upper"] - one["lower"], np.inf)
            width.append(np.concatenate([gap, np.full(len(self.free) + self.n_slack, np.inf)]))
            if d == 0 and matrix.nbytes * self.n_programmes > _MOST_BYTES:
                raise InvalidArgument(
                    f"programmes must fit in 2 GB as tables; received {self.n_programmes:,} of {matrix.shape[0]} rows "
                    f"and {matrix.shape[1]} columns; give an object with solve(utilities, rows) that calls a solver"
                )
            status, table = make_table(matrix, right, width[-1], self.n_slack)
            self._check(status, d)
            tables.append(table)
        fields = (
            np.stack([table.entries for table in tables]), np.stack([table.rhs for table in tables]),
            np.stack([table.basis for table in tables]), np.stack([table.flipped for table in tables]),
        )  # fmt: skip
        return fields, np.stack(width)

    def _check(self, status: int, d: int) -> None:
        where = "the programme" if self.is_shared else f"the programme of row {d}"
        if status == INFEASIBLE:
            raise InvalidArgument(
                f"{where} must have a decision that obeys all its rows; it has none; check A, b, E, e"
            )
        if status == UNBOUNDED:
            raise InvalidArgument(
                f"{where} must be bounded, for some utilities have no best decision otherwise; give lower and upper"
            )
        if status != OPTIMAL:
            raise InvalidArgument(f"{where} was not solved: too many pivots; check its scales, or give a solver")

    def solve(self, utilities: Array, rows: NDArray[np.intp]) -> Array:
        """Return decisions for utilities and rows of observations."""
        place = np.zeros(len(rows), np.int64) if self.is_shared else rows.astype(np.int64)
        return self.solve_all(utilities, place)

    def solve_all(self, utilities: Array, place: NDArray[np.int64]) -> Array:
        """Return decisions for utilities and places of programmes."""
        at = np.zeros_like(place) if len(self.sign) == 1 else place
        own = utilities * self.sign[at]
        costs = np.hstack([own, -own[:, self.free], np.zeros((len(own), self.n_slack))])
        values, status = np.empty_like(costs), np.empty(len(costs), np.int64)
        most = 200 * (costs.shape[1] + self.tables[0].shape[1] + 10)

        def block(start: int, stop: int) -> None:
            solve_rows(self.tables, self.width, costs, place, most, values, status, start, stop)

        for_blocks(block, len(costs), _BLOCK)
        if status.any():
            k = int(np.flatnonzero(status)[0])
            self._check(int(status[k]), int(place[k]))
        y = values[:, : self.n]
        y[:, self.free] -= values[:, self.n : self.n + len(self.free)]
        return self.offset[at] + self.sign[at] * y


def _find_width(arrays: dict[str, Array], names: Any) -> int:
    for name in ("A", "E", "lower", "upper"):
        if name in arrays and arrays[name].ndim > 0:
            return arrays[name].shape[-1]
    if names is not None:
        return len(tuple(names))
    raise InvalidArgument(
        "a programme must have A, E, or bounds (n,), which say how many variables there are; give one"
    )


def _find_length(arrays: dict[str, Array]) -> int | None:
    lengths = {name: len(a) for name, a in arrays.items() if a.ndim > _SIDES[name]}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InvalidArgument(f"arrays with rows of their own must have one for each observation; received {told}")
    return next(iter(lengths.values()), None)


def _check_arrays(arrays: dict[str, Array], n: int) -> None:
    for name, axes in _SIDES.items():
        a = arrays[name]
        if a.ndim not in (axes, axes + 1) or (name not in ("b", "e") and a.shape[-1] != n):
            wanted = f"(r, {n})" if axes == 2 else f"({n},)" if name in ("lower", "upper") else "(r,)"
            raise InvalidArgument(f"{name} must be {wanted}, or (T, …) with one for each observation; got {a.shape}")
        if np.isnan(a).any() or (name not in ("lower", "upper", "b") and np.isinf(a).any()):
            raise InvalidArgument(f"{name} must be finite numbers; received NaN or inf; leave such rows out")
    for matrix, right in (("A", "b"), ("E", "e")):
        if arrays[matrix].shape[-2] != arrays[right].shape[-1]:
            raise InvalidArgument(
                f"{right} must have an entry for each row of {matrix}, {arrays[matrix].shape[-2]}; "
                f"received {arrays[right].shape[-1]}"
            )
    if np.isinf(arrays["b"]).any():
        raise InvalidArgument("b must be finite; received inf, which limits nothing; leave such rows of A out")
    crossed = np.atleast_2d(arrays["lower"] > arrays["upper"]).any(axis=1)
    if crossed.any():
        raise InvalidArgument(
            f"lower must not exceed upper; {describe_rows(np.flatnonzero(crossed).tolist())}; check them"
        )
