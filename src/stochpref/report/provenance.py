# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Where a page comes from: seed, data, versions, settings, and the lines that make it again."""

from __future__ import annotations

import platform
import shlex
from importlib import metadata
from itertools import pairwise
from typing import Final

from stochpref import __version__
from stochpref.errors import counted
from stochpref.models.fit import Fit

_HIDDEN: Final = ("checkpoint", "verbose")  # settings that do not change a fit


def settings_of(model: Fit) -> list[tuple[str, str]]:
    """Return the settings of a fit, in words of Python."""
    return [(name, repr(value)) for name, value in model.get_params(deep=False).items() if name not in _HIDDEN]


def origin_of(model: Fit) -> list[tuple[str, str]]:
    """Return seed, data and versions."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "numba"))
    return [
        ("seed", "a Generator was passed" if model.seed_ is None else str(model.seed_)),
        ("data", f"{counted(model.n_observations_, 'observation')}, {model.data_hash_}"),
        ("degenerate, left out", f"{model.n_dropped_:,}"),
        ("versions", f"stochpref {__version__}, Python {platform.python_version()}, {versions}"),
    ]


def code_of(model: Fit) -> str:
    """Return the lines that make the fit and the page again: commands, or Python if no command made it."""
    if model.command_ is not None:
        folder = dict(pairwise(model.command_)).get("--out", "fit")
        return f"{shlex.join(model.command_)}\n{shlex.join(['stochpref', 'report', folder, '--out', 'report.html'])}"
    default = type(model)().get_params(deep=False)
    changed = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if name not in (*_HIDDEN, "random_state") and value != default[name]
    }
    seed = {} if model.seed_ is None else {"random_state": model.seed_}
    arguments = ", ".join(f"{name}={value!r}" for name, value in (changed | seed).items())
    return "\n".join(
        [
            "import stochpref as sp",
            "",
            "purchases = ...  # your observations",
            f"model = sp.{type(model).__name__}({arguments}).fit(purchases)",
            'sp.write_report(model, "report.html")',
        ]
    )
