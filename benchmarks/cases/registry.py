"""What a case is, the table of all of them, and how their numbers are written.

A case is a function that returns its numbers by name. It uses public names only, so that it runs on any commit;
`settings` finds a class of options wherever the sources at hand keep it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import stochpref as sp

Numbers = dict[str, np.ndarray]

MASSES: Final = 1e-12  # what masses and their sums may differ by where the order of summation does
STEPS: Final = 1e-8  # and what short runs, of 30 steps or so, make of that


class Case(NamedTuple):
    """A computation.

    name : of the function.
    compute_fn : () -> numbers.
    reordered : the difference to allow where sums are added in another order; 0 for none at all.
    needs : an optional package without which it is left out, "" for none.
    """

    name: str
    compute_fn: Callable[[], Numbers]
    reordered: float
    needs: str


CASES: Final[dict[str, Case]] = {}


def case(*, reordered: float = 0.0, needs: str = "", **variants: Any) -> Callable[..., Any]:
    """Enter a function in `CASES`; where its one argument is named, once for each of the values given for it."""

    def enter(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
        own = function.__name__
        for argument, values in variants.items():
            for value in values:
                word = str(value).replace(".", "_")
                CASES[f"{own}_{word}"] = Case(
                    f"{own}_{word}", lambda a=argument, v=value: function(**{a: v}), reordered, needs
                )
        if not variants:
            CASES[own] = Case(own, function, reordered, needs)
        return function

    return enter


def can_run(one: Case) -> bool:
    """Tell whether what a case needs is installed."""
    return not one.needs or find_spec(one.needs) is not None


def compute(one: Case) -> Numbers:
    """Return the numbers of a case; that short runs have not converged is no matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: np.asarray(values) for name, values in one.compute_fn().items()}


def settings(name: str) -> Any:
    """Return a class of options that is no public name, from the module that defines it."""
    home = Path(sp.__file__).parent
    for path in sorted(home.rglob("*.py")):
        if re.search(rf"^class {name}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            return getattr(import_module(".".join(("stochpref", *path.relative_to(home).with_suffix("").parts))), name)
    raise LookupError(f"no module of {home} defines {name}")


def flat(value: Any, name: str = "") -> Numbers:
    """Return the numbers in a record, a mapping or a sequence by their path; what is not a number is left out."""
    if value is None or isinstance(value, str):
        return {}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if hasattr(value, "__dataclass_fields__"):
        value = {field: getattr(value, field) for field in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, list | tuple) and not all(isinstance(v, bool | int | float) for v in value):
        items = list(enumerate(value))
    else:
        array = np.asarray(value)
        return {name: array} if array.dtype.kind in "biuf" else {}
    found: Numbers = {}
    for key, inner in items:
        found |= flat(inner, f"{name}.{key}" if name else str(key))
    return found


def write_numbers(folder: Path, names: list[str]) -> None:
    """Write the numbers of each case to NAME.npz, or why there are none to NAME.txt."""
    for name in names:
        try:
            np.savez(folder / f"{name}.npz", **compute(CASES[name]))
        except Exception as error:  # the other cases go on
            (folder / f"{name}.txt").write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
