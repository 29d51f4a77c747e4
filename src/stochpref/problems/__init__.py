# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What customers solve: what turns a utility and a menu into a bundle, and a bundle into a region.

A problem is a file here and a line in `names.PROBLEMS`: `Menus` and `Observations` carry it by that name or as an
object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_choice
from stochpref.errors import InvalidArgument
from stochpref.loading import exported, load
from stochpref.names import PROBLEMS
from stochpref.problems.protocol import FITTED as FITTED
from stochpref.problems.protocol import Problem as Problem
from stochpref.problems.protocol import check_handled as check_handled

if TYPE_CHECKING:
    from stochpref.problems.divisible import Divisible as Divisible
    from stochpref.problems.linear import Linear as Linear
    from stochpref.problems.one import OneOf as OneOf
    from stochpref.problems.open import Open as Open
    from stochpref.problems.satiated import Satiated as Satiated
    from stochpref.problems.whole import Whole as Whole


def __getattr__(name: str) -> Any:
    return exported(PROBLEMS, name, __name__)


def as_problem(problem: object) -> Problem:
    """Return a problem given by its name in the table or as an object."""
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, str):
        return load(PROBLEMS[check_choice(problem, "problem", PROBLEMS)]).by_name()
    raise InvalidArgument(
        f"problem must be one of {', '.join(PROBLEMS)} or an object of stochpref.problems; "
        f"received {problem!r}; pass problem='divisible', say"
    )


def problem_of(menus: Any) -> Problem:
    """Return what is solved at menus that may leave it open: divisible goods are bought unless they say otherwise."""
    return as_problem("divisible") if menus.problem is None else menus.problem


def pack_problem(problem: Problem) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what JSON can hold of a problem, its name among it, and its arrays.

    Of the problem of divisible goods nothing is said, as in what was saved and hashed before there were others.
    """
    if problem == as_problem("divisible"):
        return {}, {}
    settings = problem.settings()
    arrays = {name: value for name, value in settings.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in settings.items() if name not in arrays}
    return {"name": problem.name, "settings": plain}, arrays


def unpack_problem(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Problem:
    """Return the problem that `pack_problem` took apart."""
    if not header:
        return as_problem("divisible")
    place = PROBLEMS[check_choice(header["name"], "problem", PROBLEMS)]
    return load(place).restore(header["settings"] | arrays)
