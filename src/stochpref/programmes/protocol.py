# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What fits of decisions ask of a problem: the best decision for a utility, and what is known of its cone.

A problem of one's own is any object with ``solve(utilities, rows) -> decisions``, exact, over any set, convex or not:
`Optimiser` puts it behind the same methods as a linear programme. It may have ``cone(row, chosen)``, all inequalities
G u >= 0 of the utilities that explain a decision, or None where it does not know them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import as_floats
from stochpref.errors import InvalidArgument
from stochpref.programmes.cones import Cone, complete_cone, unknown_cone

Array = NDArray[np.float64]

_MOST_PROBES: Final = 40  # rounds of random utilities that look for directions in which decisions differ


class Programme(ABC):
    """What people solve.

    n_variables, names : of decisions.
    n_observations : that have sets of their own; None where one set is everybody's, or the problem does not say.
    """

    name: ClassVar[str] = "programme"
    n_variables: int
    names: tuple[str, ...]
    n_observations: int | None

    @property
    def is_same_for_all(self) -> bool:
        """Whether all rows are known to share one set."""
        return False

    def coordinates(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return what utilities are about: the variables."""
        return names

    @abstractmethod
    def solve(self, utilities: ArrayLike, rows: ArrayLike | None = None) -> Array:
        """Return the best decision (k, n) for each utility (k, n), where rows (k,) says whose set."""

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> Programme:
        """Return the problem of some observations."""

    @abstractmethod
    def broken_by(self, chosen: Array) -> Array:
        """Return (T,) by how much decisions break a rule of the problem; 0 where that is not known."""

    @abstractmethod
    def hulls(self, chosen: Array, rng: np.random.Generator) -> list[Array]:
        """Return for each observation an orthonormal basis of the directions in which decisions differ."""

    @abstractmethod
    def cone(self, row: int, chosen: Array) -> Cone:
        """Return what is known of the utilities that explain a decision."""

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that the problem is made of, by name."""
        raise InvalidArgument(
            "the problem must be a LinearProgramme to be saved; received an optimiser of one's own; keep its decisions "
            "and fit again"
        )


class Optimiser(Programme):
    """A problem of one's own behind the methods of all.

    own : the object with `solve`, and maybe `cone` and `names`.
    rows : the numbers of the observations as the object counts them.
    """

    n_observations = None

    def __init__(self, own: Any, n_variables: int, rows: NDArray[np.intp] | None = None) -> None:
        self.own, self.n_variables, self.rows = own, n_variables, rows
        names = getattr(own, "names", None)
        self.names = tuple(map(str, names)) if names is not None else tuple(f"x{i}" for i in range(n_variables))

    def __repr__(self) -> str:
        return f"{type(self.own).__name__}({self.n_variables} variables)"

    def solve(self, utilities: ArrayLike, rows: ArrayLike | None = None) -> Array:
        """Return what the object says, checked."""
        u, rows = checked_utilities(self, utilities, rows)
        own_rows = rows if self.rows is None else self.rows[rows]
        found = np.asarray(self.own.solve(u, own_rows), np.float64)
        if found.shape != u.shape or not np.isfinite(found).all():
            raise InvalidArgument(
                f"solve(utilities, rows) must return a decision for each utility, {u.shape}, of finite numbers; "
                f"received {found.shape}"
            )
        return found

    def take(self, rows: NDArray[np.intp]) -> Optimiser:
        """Return the problem of some observations."""
        return Optimiser(self.own, self.n_variables, rows if self.rows is None else self.rows[rows])

    def broken_by(self, chosen: Array) -> Array:
        """Return zeros: only the optimiser knows its set."""
        return np.zeros(len(chosen))

    def hulls(self, chosen: Array, rng: np.random.Generator) -> list[Array]:
        """Return one basis for all: directions in which decisions of random utilities differ from those seen."""
        n, rows = self.n_variables, np.arange(len(chosen))
        products, rank, unchanged = np.zeros((n, n)), 0, 0
        for _ in range(_MOST_PROBES):
            apart = self.solve(rng.standard_normal((len(rows), n)), rows) - chosen
            products += apart.T @ apart
            found = int(np.linalg.matrix_rank(products, hermitian=True, tol=1e-12 * max(np.trace(products), 1e-300)))
            unchanged = unchanged + 1 if found == rank else 0
            rank = found
            if rank == n or unchanged * len(rows) >= 4 * n:
                break
        return [range_of(products)] * len(chosen)

    def cone(self, row: int, chosen: Array) -> Cone:
        """Return the inequalities that the object knows, else none."""
        known = getattr(self.own, "cone", None)
        found = None if known is None else known(int(row if self.rows is None else self.rows[row]), chosen)
        if found is None:
            return unknown_cone(self.n_variables)
        facets = as_floats(found, "cone(row, chosen)")
        if facets.ndim != 2 or facets.shape[1] != self.n_variables or not np.isfinite(facets).all():
            raise InvalidArgument(
                f"cone(row, chosen) must return inequalities G u >= 0, (k, {self.n_variables}), or None; "
                f"received {facets.shape}"
            )
        return complete_cone(facets)


def as_programme(problem: Any, n_variables: int) -> Programme:
    """Return a problem behind the methods of all: it must be a LinearProgramme or have `solve`."""
    if isinstance(problem, Programme):
        return problem
    if not callable(getattr(problem, "solve", None)):
        raise InvalidArgument(
            "problem must be a LinearProgramme or an object with solve(utilities, rows) -> decisions; "
            f"received {type(problem).__name__}"
        )
    return Optimiser(problem, n_variables)


def checked_utilities(
    programme: Programme, utilities: ArrayLike, rows: ArrayLike | None
) -> tuple[Array, NDArray[np.intp]]:
    """Return utilities (k, n) and rows (k,); rows None stands for the first k observations."""
    u = as_floats(utilities, "utilities")
    if u.ndim != 2 or u.shape[1] != programme.n_variables or not np.isfinite(u).all():
        raise InvalidArgument(
            f"utilities must be finite, (k, {programme.n_variables}); received {u.shape}; one row for each decision"
        )
    at = np.arange(len(u)) if rows is None else np.asarray(rows, np.intp)
    if at.shape != (len(u),):
        raise InvalidArgument(f"rows must be ({len(u)},), an observation for each utility; received {at.shape}")
    most = programme.n_observations
    if most is not None and len(at) and not 0 <= at.min() <= at.max() < most:
        raise InvalidArgument(f"rows must lie between 0 and {most - 1}; received {at.min()} to {at.max()}")
    return u, at


def range_of(products: Array) -> Array:
    """Return an orthonormal basis (n, d) of the range of a symmetric matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(products)
    return np.ascontiguousarray(vectors[:, values > 1e-12 * max(values.max(initial=0.0), 1e-300)])
