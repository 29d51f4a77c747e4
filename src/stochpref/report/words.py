# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What the page says of any fit: its own account, and in plain words the check, the data, tables, settings.

Names are shortened here and escaped by the template.
"""

from __future__ import annotations

import json
import platform
import shlex
from importlib import metadata
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref import __version__
from stochpref.audit import KIND_MEANING
from stochpref.errors import counted
from stochpref.models.account import Account, as_sentence, shorten, shown_number
from stochpref.models.fit import Fit
from stochpref.observations import Observations
from stochpref.predictive_check import PredictiveCheck, status_of
from stochpref.report.findings import Reading
from stochpref.verdicts import Verdict, worst_of

Array = NDArray[np.float64]

_NOTE: Final = 300  # characters of a note on how a file was read
N_ROWS: Final = 15  # of a table before it folds
_HIDDEN: Final = ("checkpoint", "verbose")  # settings that do not change a fit


def listed(names: list[str], most: int = 3) -> str:
    """Return 'a, b and c', or 'a, b, c and 4 more'."""
    shown = [shorten(name, 30) for name in names[:most]]
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def content_of(model: Fit, account: Account, reading: Reading) -> dict[str, Any]:
    """Return the words of the page: verdict, key figures, data, goods, what-if rows, settings."""
    checks, cautions = check_points(reading.check), model.cautions()
    judged = worst_of([*account.verdicts, *checks])
    headline = account.headline_unfit if worst_of(checks) == "bad" else account.headline
    return {
        "headline": f"{headline} Mind what is marked below." if cautions and judged == "good" else headline,
        "status": "nearly" if cautions and judged == "good" else judged,
        "points": [
            *account.verdicts,
            *checks,
            *_wanted_points(reading, account.unwanted),
            *(Verdict("note", note) for note in account.notes),
            *_data_points(model),
        ],
        "tiles": [
            counted(model.n_observations_, "purchase").split(" "),
            counted(len(model.goods_), "good").split(" "),
            *([account.figure] if account.figure else []),
            *_revenue(model, reading),
        ],
        "limits": [_seen(reading.observations), *model.cautions(reading.menu)],
        "audit": _audit(reading, model.n_observations_),
        "goods": _good_rows(reading),
        "worth_scale": "100 for the best good" if np.any(reading.worth > 0) else "−100 for the least wanted",
        "units": _unit_rows(model),
        "start": _start(reading),
        "settings": [
            (name, repr(value)) for name, value in model.get_params(deep=False).items() if name not in _HIDDEN
        ],
        "provenance": _provenance(model),
        "code": _code(model),
    }


def _revenue(model: Fit, reading: Reading) -> list[tuple[str, str]]:
    """Return the revenue of a customer, where it is not what was put in."""
    if model.problem_.needs_budget and reading.observations.audit().is_all_spent:
        return []
    return [(_figure(reading.start.revenue[0]), "revenue of a customer at the typical menu")]


def _seen(observations: Observations) -> str:
    """Return which prices and budgets were seen."""
    audit = observations.audit()
    ends = [f"prices from {_figure(audit.price_range[0])} to {_figure(audit.price_range[1])}"]
    if np.isfinite(audit.budget_range).all():
        ends.append(f"budgets from {_figure(audit.budget_range[0])} to {_figure(audit.budget_range[1])}")
    return f"Seen were {' and '.join(ends)}: beyond, what is said rests on the form of the model alone."


def _wanted_points(reading: Reading, unwanted_words: str) -> list[Verdict]:
    goods, ends = reading.observations.shown_goods, reading.wanted_range
    low, high = (reading.wanted, reading.wanted) if ends is None else (ends[:, 0], ends[:, 1])
    wanted = [goods[i] for i in reading.order if low[i] > 0]
    unwanted = [goods[i] for i in reading.order[::-1] if high[i] < 0]
    open_ = len(goods) - len(wanted) - len(unwanted)
    points = []
    if wanted:
        points.append(Verdict("note", f"Wanted most: {listed(wanted)}."))
    if unwanted:
        points.append(Verdict("note", f"{unwanted_words}: {listed(unwanted)}."))
    if open_:
        points.append(
            Verdict("note", f"For {open_:,} of {len(goods):,} goods it is not clear whether they are wanted.")
        )
    return points


def check_points(check: PredictiveCheck) -> list[Verdict]:
    """Return what the predictive check says of shares and, where they are off, of all else that it compares."""
    whole = check.verdict()
    if whole.status == "note":
        return [whole._replace(text=as_sentence(whole.text))]
    found = check.misfits
    others = [misfit for name, misfit in found.items() if name != "share" and status_of(misfit) != "good"]
    return [
        _check_of_shares(check, status_of(found["share"])),
        *(Verdict(status_of(misfit), as_sentence(misfit.text)) for misfit in others),
    ]


def _check_of_shares(check: PredictiveCheck, status: str) -> Verdict:
    """Return how often each good is bought, observed beside predicted."""
    miss = f"{100 * check.largest_miss:.1f} percentage points"
    if check.n_replicates == 1:
        fine = f"It buys each good as often as customers did, to within {miss}."
        return Verdict(status, fine if status == "good" else f"It misses how often a good is bought by up to {miss}.")
    beyond = f"; the largest miss is {miss} beyond" if check.n_inside < check.n_checked else ""
    apart = " Customers may be of several kinds, which one law does not hold: fit them apart."
    return Verdict(
        status,
        f"The model buys as customers did for {check.n_inside:,} of {check.n_checked:,} goods (observed share within "
        f"its 90 % interval{beyond}).{'' if status == 'good' else apart}",
    )


def _data_points(model: Fit) -> list[Verdict]:
    """Return what the data cannot tell, and what else a careful analyst would look into."""
    audit = model.observations_.audit()
    others = [line for line in audit.warnings() if line not in audit.cautions()]
    return [Verdict("bad", line) for line in (*model.cautions(), *map(as_sentence, others))]


def _audit(reading: Reading, n_fitted: int) -> dict[str, Any]:
    found = reading.observations.audit()
    count = found.n_observations
    sampled = [("observations fitted", f"{n_fitted:,}; shown here are {count:,} of them, picked at random")]
    return {
        "kinds": [
            (name, f"{number:,}", 100 * number / count, KIND_MEANING[name])
            for name, number in found.kinds.items()
            if number or name != "degenerate"
        ],
        "facts": [*(sampled if count < n_fitted else []), *found.facts()],
        "warnings": [as_sentence(line) for line in found.warnings()],
        "notes": [as_sentence(shorten(note, _NOTE)) for note in found.notes],
    }


def _good_rows(reading: Reading) -> list[dict[str, Any]]:
    """Return a row for every good, the most wanted first."""
    known = reading.worth[np.isfinite(reading.worth)]
    best = max(known.max(initial=0.0), 0.0) or np.abs(known).max(initial=0.0) or 1.0
    menu, check = reading.menu, reading.check
    return [
        {
            "rank": rank + 1,
            "name": shorten(reading.observations.shown_goods[i]),
            "wanted": shown_number(reading.wanted[i]),
            "wanted_range": _range(reading.wanted_range, i),
            "price": _figure(menu.prices[0, i]) if np.isfinite(menu.prices[0, i]) else "not offered",
            "worth": shown_number(100 * reading.worth[i] / best, 0),
            "worth_range": _range(None if reading.worth_range is None else 100 * reading.worth_range / best, i, 0),
            "share": f"{100 * check.share[i]:.0f} %" if np.isfinite(check.share[i]) else "–",
        }
        for rank, i in enumerate(reading.order)
    ]


def _unit_rows(model: Fit) -> list[tuple[str, str]]:
    """Return what each unit is worth of goods that have several."""
    owners = model.problem_.owners(model.goods_)
    several = np.bincount(owners[owners >= 0], minlength=len(model.goods_)) > 1
    return [
        (shorten(name), shown_number(float(worth)))
        for name, worth, owner in zip(model.coordinates_, model.best_utility, owners.tolist(), strict=True)
        if owner >= 0 and several[owner]
    ]


def _start(reading: Reading) -> list[dict[str, Any]]:
    """Return the rows of the what-if, the good bought most first, as they stand before anything is moved."""
    start, names = reading.start, reading.observations.shown_goods
    return [
        {"place": int(i), "name": shorten(names[i]), "mean": float(start.mean[i])}
        for i in np.argsort(-start.mean, kind="stable")
    ]


def _provenance(model: Fit) -> list[tuple[str, str]]:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "numba"))
    return [
        ("seed", "a Generator was passed" if model.seed_ is None else str(model.seed_)),
        ("data", f"{counted(model.n_observations_, 'observation')}, {model.data_hash_}"),
        ("degenerate, left out", f"{model.n_dropped_:,}"),
        ("versions", f"stochpref {__version__}, Python {platform.python_version()}, {versions}"),
    ]


def _code(model: Fit) -> str:
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


def safe_json(content: Any) -> str:
    """Return JSON that can stand inside a script element: no character in it can end the element or open another."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def _figure(value: float) -> str:
    """Return a figure of money or quantity: four digits, grouped."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _range(ranges: Array | None, i: int, digits: int = 3) -> str:
    if ranges is None or not np.isfinite(ranges[i]).all():
        return "–"
    return f"{shown_number(ranges[i, 0], digits)} to {shown_number(ranges[i, 1], digits)}"
