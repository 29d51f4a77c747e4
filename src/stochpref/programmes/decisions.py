# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Decisions that were seen, of a linear programme or any optimiser, checked once at the door."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import as_floats
from stochpref.errors import InvalidArgument, InvalidObservations, counted, describe_rows
from stochpref.programmes.cones import Cone
from stochpref.programmes.protocol import Programme, as_programme, range_of

Array = NDArray[np.float64]

_FEASIBLE: Final = 1e-6
_PROBES: Final = 12  # the seed of random utilities that look for directions in which decisions differ


class Decisions:
    """Problems that were faced and what was decided, one row for each.

    Parameters
    ----------
    problem : a `LinearProgramme`, or any object with ``solve(utilities, rows) -> decisions``.
    chosen : (T, n).
    labels : (T,) what rows are called; None for their numbers.

    Attributes
    ----------
    problem, chosen, labels : as given; a problem of one's own behind the methods that fits ask for.
    names : of the variables, as the problem has them.
    basis : (n, d) orthonormal, the directions of utility that decisions can reveal.
    hidden : (n, n - d) orthonormal, those that they cannot: adding them to a utility changes no decision.
    is_degenerate : (T,) decisions inside a face, which only exact ties explain.

    Raises
    ------
    InvalidObservations : decisions break a row of the programme.
    """

    def __init__(self, problem: Any, chosen: ArrayLike, *, labels: Sequence[object] | None = None) -> None:
        x = as_floats(chosen, "chosen")
        if x.ndim != 2 or len(x) == 0 or not np.isfinite(x).all():
            raise InvalidArgument(f"chosen must be finite, (T, n), a row for each decision; received {x.shape}")
        self.problem: Programme = as_programme(problem, x.shape[1])
        if x.shape[1] != self.problem.n_variables:
            raise InvalidArgument(
                f"chosen must have a column for each of the {self.problem.n_variables} variables of the problem; "
                f"received {x.shape[1]}"
            )
        known = self.problem.n_observations
        if known is not None and known != len(x):
            raise InvalidArgument(f"chosen must have a row for each of the {known} programmes; received {len(x)}")
        broken = np.flatnonzero(self.problem.broken_by(x) > _FEASIBLE)
        if broken.size:
            raise InvalidObservations(
                f"chosen: a decision must obey A x <= b, E x = e and the bounds; {counted(broken.size, 'row')} "
                f"({describe_rows(broken.tolist())}) break them; correct or leave them out",
                broken.tolist(),
            )
        self.chosen = np.array(x)
        self.chosen.flags.writeable = False
        self.labels = None if labels is None else tuple(map(str, labels))
        if self.labels is not None and len(self.labels) != len(x):
            raise InvalidArgument(f"labels must be as many as decisions, {len(x)}; received {len(self.labels)}")

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, rows: Any) -> Decisions:
        at = np.atleast_1d(np.arange(len(self))[rows])
        labels = None if self.labels is None else [self.labels[t] for t in at]
        return Decisions(self.problem.take(at), self.chosen[at], labels=labels)

    def __repr__(self) -> str:
        return f"<Decisions: {counted(len(self), 'decision')} of {self.n_variables} variables; {self.problem!r}>"

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return self.problem.n_variables

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.problem.names

    def label(self, row: int) -> str:
        """Return what a row is called."""
        return f"row {row}" if self.labels is None else self.labels[row]

    @cached_property
    def basis(self) -> Array:
        """The directions that decisions can reveal, (n, d)."""
        hulls = self.problem.hulls(self.chosen, np.random.default_rng(_PROBES))
        distinct = list({id(hull): hull for hull in hulls}.values())
        return distinct[0] if len(distinct) == 1 else range_of(np.sum([hull @ hull.T for hull in distinct], axis=0))

    @property
    def hidden(self) -> Array:
        """The directions that they cannot, (n, n - d)."""
        return range_of(np.eye(self.n_variables) - self.basis @ self.basis.T)

    @cached_property
    def cones(self) -> tuple[Cone, ...]:
        """What is known of the utilities that explain each decision."""
        return tuple(self.problem.cone(t, x) for t, x in enumerate(self.chosen))

    @property
    def is_degenerate(self) -> NDArray[np.bool_]:
        """Which decisions only exact ties explain."""
        return np.array([cone.is_face for cone in self.cones])

    def usable(self, degenerate: str) -> NDArray[np.intp]:
        """Return the rows that fits take: all, or those that are not degenerate where they are to be dropped."""
        is_out = self.is_degenerate
        if is_out.any() and (degenerate == "refuse" or is_out.all()):
            rows = np.flatnonzero(is_out)
            remedy = "correct them" if is_out.all() else "correct them, or drop them with degenerate='drop'"
            raise InvalidObservations(
                f"chosen: {counted(rows.size, 'decision')} ({describe_rows(rows.tolist())}) lie inside a face, which "
                f"only exact ties explain; a best decision is a corner: {remedy}",
                rows.tolist(),
            )
        return np.flatnonzero(~is_out)

    @property
    def data_hash(self) -> str:
        """A hash of decisions and of the arrays of their programme, if there are any."""
        found = hashlib.sha256(np.ascontiguousarray(self.chosen).tobytes())
        try:
            arrays = self.problem.arrays()
        except InvalidArgument:  # an optimiser of one's own has none
            arrays = {}
        for name, values in arrays.items():
            found.update(f"{name}{values.shape}".encode() + np.ascontiguousarray(values).tobytes())
        return found.hexdigest()


def are_decisions(data: object) -> TypeGuard[Decisions]:
    """Tell decisions of programmes from observations of purchases."""
    return isinstance(data, Decisions)
