# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What the page says: verdicts in plain words, tables, settings.

Names are shortened here and escaped by the template.
"""

from __future__ import annotations

import json
import platform
import shlex
from importlib import metadata
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref import __version__
from stochpref.audit import KIND_MEANING
from stochpref.errors import counted
from stochpref.models import CommonUtility, HeterogeneousUtility
from stochpref.posterior.diagnostics import RHAT_LIMIT
from stochpref.posterior.summary import HeterogeneousSummary
from stochpref.predictive_check import PredictiveCheck
from stochpref.report.findings import Reading

Array = NDArray[np.float64]

N_ROWS: Final = 15  # of a table before it folds
_N_ODD: Final = 50  # odd observations explained
_NAME: Final = 60  # characters of a name
_ENOUGH: Final = 0.75  # of the goods within their 90 % intervals: fewer by chance is rare
_CLOSE: Final = 0.05  # a share that one utility misses by less does not change a decision,
_BEYOND: Final = 0.02  # nor does one so little beyond the interval of a posterior
_MANY_ODD: Final = 0.2  # a share of odd purchases beyond which one utility is a poor account of them
# Control characters, and the marks that change the direction of writing: a letter knows its own.
_UNFIT: Final = dict.fromkeys(
    (*range(32), *range(127, 160), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), " "
)
_HIDDEN: Final = ("checkpoint", "verbose")  # settings that do not change a fit


class Point(NamedTuple):
    """One line of the verdict: "good", "note" or "bad", and what to say."""

    status: str
    text: str


def shorten(name: str, most: int = _NAME) -> str:
    """Return a name of one line and at most `most` characters, without those that turn the text around them."""
    plain = name[: most + 1].translate(_UNFIT)
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def listed(names: list[str], most: int = 3) -> str:
    """Return 'a, b and c', or 'a, b, c and 4 more'."""
    shown = [shorten(name, 30) for name in names[:most]]
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def shared_content(reading: Reading, model: HeterogeneousUtility | CommonUtility) -> dict[str, Any]:
    """Return what both models put on the page: data, goods, what-if rows, settings."""
    return {
        "audit": _audit(reading, model.n_observations_),
        "goods": _good_rows(reading),
        "worth_scale": "100 for the best good" if np.any(reading.worth > 0) else "−100 for the least wanted",
        "start": _start(reading),
        "settings": [
            (name, repr(value)) for name, value in model.get_params(deep=False).items() if name not in _HIDDEN
        ],
        "provenance": _provenance(model),
        "code": _code(model),
    }


def posterior_content(model: HeterogeneousUtility, reading: Reading) -> dict[str, Any]:
    """Return the words of a posterior: verdict, key figures, diagnostics."""
    summary = model.summary()
    convergence, *identification = summary.verdict
    checks = check_points(reading.check)
    is_fitting = all(point.status != "bad" for point in checks)
    trust = [
        Point("good" if summary.is_converged else "bad", _sentence(convergence)),
        *(Point("good" if summary.is_identified else "bad", _sentence(line)) for line in identification),
    ]
    points = [
        *_plain_points(summary),
        *checks,
        *_wanted_points(reading, "Not wanted by the average customer, though some still buy it"),
        Point("note", _alike_sentence(summary)),
        *_data_points(reading),
    ]
    is_fine = summary.is_converged and summary.is_identified and is_fitting
    return {
        "model": "Customers who differ",
        "headline": _headline(summary.is_converged, summary.is_identified, is_fitting),
        "status": "good" if is_fine else "bad",
        "points": points,
        "tiles": [
            counted(summary.n_observations, "purchase").split(" "),
            counted(summary.n_goods, "good").split(" "),
            (f"{100 * summary.alikeness:.0f} %", "agreement of customers"),
            (_figure(reading.start.revenue[0]), "revenue of a customer at the typical menu"),
        ],
        "trust": trust,
        "alike": _alike_sentence(summary),
        "sampling": (
            f"{summary.sampler}: {counted(summary.n_chains, 'chain')} of {counted(summary.n_draws, 'draw')} in "
            f"{model.seconds_:.0f} s; {summary.reason}"
        ),
        "weights": summary.pareto_k,
        "diagnostics": _diagnostic_rows(summary),
    }


def utility_content(model: CommonUtility, reading: Reading) -> dict[str, Any]:
    """Return the words of a common utility: verdict, key figures, the odd ones."""
    n_used = model.n_observations_ - model.n_dropped_
    low, high = (100 * end for end in model.corruption_interval_)
    share = 100 * model.n_consistent_ / n_used
    proof = (
        "No other utility explains more: this is proven."
        if model.is_optimal_
        else f"No utility explains more than {model.upper_bound_:,}; whether one explains as many is open."
    )
    is_many = model.corruption_ > _MANY_ODD
    only, used = "only " if is_many else "", counted(n_used, "purchase")
    odd = f"{100 * model.corruption_:.1f} % of the purchases are odd (95 % interval {low:.1f} to {high:.1f} %)."
    advice = " So many say that customers may differ: fit the other model (--model heterogeneous)." if is_many else ""
    checks = check_points(reading.check)
    points = [
        Point("good" if model.is_optimal_ else "note", proof),
        Point("bad" if is_many else "good", odd + advice),
        *checks,
        *_wanted_points(reading, "Not wanted, except by odd customers"),
        *_data_points(reading),
    ]
    is_fitting = not is_many and all(point.status != "bad" for point in checks)
    return {
        "model": "One common utility, some odd customers",
        "headline": f"One utility explains {only}{model.n_consistent_:,} of {used} ({share:.1f} %).",
        "status": "good" if model.is_optimal_ and is_fitting else "bad",
        "points": points,
        "tiles": [
            counted(model.n_observations_, "purchase").split(" "),
            counted(len(model.goods_), "good").split(" "),
            (f"{share:.1f} %", "explained by one utility"),
            (_figure(reading.start.revenue[0]), "revenue of a customer at the typical menu"),
        ],
        "proof": proof,
        "odd_sentence": odd,
        "steps": list(model.steps_),
        **_odd_rows(model),
    }


def _headline(is_converged: bool, is_identified: bool, is_fitting: bool) -> str:
    if not is_converged:
        return f"Not yet: the draws have not converged{'' if is_identified else ', and the data leave something open'}."
    if not is_fitting:
        return "The draws can be trusted, but the model does not buy as customers did."
    if not is_identified:
        return "The draws can be trusted, but the data leave something open."
    return "The fit can be trusted, and the data say what customers want."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _alike_sentence(summary: HeterogeneousSummary) -> str:
    agreement = summary.alikeness
    word = "much alike" if agreement > 0.85 else ("alike in the main" if agreement > 0.6 else "rather different")
    kappa = summary.concentration
    return (
        f"Customers are {word}: they agree to {100 * agreement:.0f} % (0: all differ, 100: all alike; "
        f"concentration {kappa.mean:.3g}, 90 % interval {kappa.lower:.3g} to {kappa.upper:.3g})."
    )


def _plain_points(summary: HeterogeneousSummary) -> list[Point]:
    """Return whether draws and data are enough, without figures; those are under Trust."""
    convergence = Point("bad", "The draws cannot be trusted yet: Trust, below, says why and what to do.")
    if summary.is_converged:
        convergence = Point("good", "The draws agree with one another, and there are enough of them.")
    if summary.is_identified:
        return [convergence, Point("good", "The data are enough to tell what customers want and how alike they are.")]
    lines = [line.removeprefix("not identified: ") for line in summary.verdict[1:]]
    return [convergence, *(Point("bad", _sentence(line)) for line in lines)]


def _wanted_points(reading: Reading, unwanted_words: str) -> list[Point]:
    goods, ends = reading.observations.goods, reading.wanted_range
    low, high = (reading.wanted, reading.wanted) if ends is None else (ends[:, 0], ends[:, 1])
    wanted = [goods[i] for i in reading.order if low[i] > 0]
    unwanted = [goods[i] for i in reading.order[::-1] if high[i] < 0]
    open_ = len(goods) - len(wanted) - len(unwanted)
    points = []
    if wanted:
        points.append(Point("note", f"Wanted most: {listed(wanted)}."))
    if unwanted:
        points.append(Point("note", f"{unwanted_words}: {listed(unwanted)}."))
    if open_:
        points.append(Point("note", f"For {open_:,} of {len(goods):,} goods it is not clear whether they are wanted."))
    return points


def check_points(check: PredictiveCheck) -> list[Point]:
    """Return what the predictive check says of shares and, where they are off, of basket sizes."""
    if check.n_checked == 0:
        return [Point("note", "No good was ever on offer: there is nothing to compare with.")]
    is_posterior = check.n_replicates > 1
    points = [(_posterior_check if is_posterior else _utility_check)(check)]
    if not _fits(check.n_sizes_inside, len(check.size), check.largest_size_miss, is_posterior):
        miss = f"{100 * check.largest_size_miss:.1f} percentage points"
        points.append(Point("bad", f"It misses the number of different goods in the basket by up to {miss}."))
    return points


def _fits(n_inside: int, n_checked: int, miss: float, has_intervals: bool) -> bool:
    """Return whether predictions are close to what was observed, or enough of their intervals hold it."""
    return miss <= _BEYOND or n_inside >= _ENOUGH * n_checked if has_intervals else miss <= _CLOSE


def _posterior_check(check: PredictiveCheck) -> Point:
    is_fine = _fits(check.n_inside, check.n_checked, check.largest_miss, True)
    miss = f"; the largest miss is {100 * check.largest_miss:.1f} percentage points beyond"
    return Point(
        "good" if is_fine else "bad",
        f"The model buys as customers did for {check.n_inside:,} of {check.n_checked:,} goods (observed share within "
        f"its 90 % interval{miss if check.n_inside < check.n_checked else ''})."
        f"{'' if is_fine else ' Customers may be of several kinds, which one law does not hold: fit them apart.'}",
    )


def _utility_check(check: PredictiveCheck) -> Point:
    miss = f"{100 * check.largest_miss:.1f} percentage points"
    if _fits(check.n_inside, check.n_checked, check.largest_miss, False):
        return Point("good", f"It buys each good as often as customers did, to within {miss}.")
    return Point("bad", f"It misses how often a good is bought by up to {miss}.")


def _data_points(reading: Reading) -> list[Point]:
    return [Point("bad", _sentence(" ".join(line.split()))) for line in reading.observations.audit().warnings()]


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
        "warnings": [_sentence(" ".join(line.split())) for line in found.warnings()],
    }


def _good_rows(reading: Reading) -> list[dict[str, Any]]:
    """Return a row for every good, the most wanted first."""
    known = reading.worth[np.isfinite(reading.worth)]
    best = max(known.max(initial=0.0), 0.0) or np.abs(known).max(initial=0.0) or 1.0
    menu, check = reading.menu, reading.check
    return [
        {
            "rank": rank + 1,
            "name": shorten(menu.goods[i]),
            "wanted": _number(reading.wanted[i]),
            "wanted_range": _range(reading.wanted_range, i),
            "price": _figure(menu.prices[0, i]) if np.isfinite(menu.prices[0, i]) else "not offered",
            "worth": _number(100 * reading.worth[i] / best, 0),
            "worth_range": _range(None if reading.worth_range is None else 100 * reading.worth_range / best, i, 0),
            "share": f"{100 * check.share[i]:.0f} %" if np.isfinite(check.share[i]) else "–",
        }
        for rank, i in enumerate(reading.order)
    ]


def _start(reading: Reading) -> list[dict[str, Any]]:
    """Return the rows of the what-if, the good bought most first, as they stand before anything is moved."""
    start, menu = reading.start, reading.menu
    return [
        {"place": int(i), "name": shorten(menu.goods[i]), "mean": float(start.mean[i])}
        for i in np.argsort(-start.mean, kind="stable")
    ]


def _diagnostic_rows(summary: HeterogeneousSummary) -> list[dict[str, Any]]:
    """Return a row for the concentration and every good, the least trustworthy first."""
    rows = sorted((summary.concentration, *summary.goods), key=lambda row: -np.nan_to_num(row.r_hat, nan=np.inf))
    return [
        {
            "name": shorten(row.name),
            "r_hat": _number(row.r_hat),
            "bulk": f"{row.ess_bulk:,.0f}" if np.isfinite(row.ess_bulk) else "–",
            "tail": f"{row.ess_tail:,.0f}" if np.isfinite(row.ess_tail) else "–",
            "mcse": f"{row.mcse:.2g}" if np.isfinite(row.mcse) else "–",
            "is_bad": not row.r_hat < RHAT_LIMIT,
        }
        for row in rows
    ]


def _odd_rows(model: CommonUtility) -> dict[str, Any]:
    places = np.flatnonzero(~model.consistent_)
    rows = []
    for t in places[:_N_ODD]:
        why = model.explain(int(t))
        reasons = [
            f"{shorten(item.good, 30)}: bought {item.bought:.3g}, expected {item.expected:.3g}"
            for item in why.at_odds[:2]
        ]
        if len(why.at_odds) > 2:
            reasons.append(f"and {len(why.at_odds) - 2} more")
        rows.append(
            {
                "observation": shorten(why.name, 30),
                "customer": "" if why.customer is None else shorten(why.customer, 30),
                "kind": why.kind,
                "why": "; ".join(reasons) or "only exact ties could explain it",
                "excluded": ", ".join(shorten(name, 30) for name in why.excluders[:3]),
            }
        )
    return {"odd": rows, "n_odd": int(places.size), "has_customers": model.observations_.customers is not None}


def _provenance(model: HeterogeneousUtility | CommonUtility) -> list[tuple[str, str]]:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "numba"))
    return [
        ("seed", "a Generator was passed" if model.seed_ is None else str(model.seed_)),
        ("data", f"{counted(model.n_observations_, 'observation')}, {model.data_hash_}"),
        ("degenerate, left out", f"{model.n_dropped_:,}"),
        ("versions", f"stochpref {__version__}, Python {platform.python_version()}, {versions}"),
    ]


def _code(model: HeterogeneousUtility | CommonUtility) -> str:
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


def _number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".replace("-", "−") if np.isfinite(value) else "–"


def _figure(value: float) -> str:
    """Return a figure of money or quantity: four digits, grouped."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _range(ranges: Array | None, i: int, digits: int = 3) -> str:
    if ranges is None or not np.isfinite(ranges[i]).all():
        return "–"
    return f"{_number(ranges[i, 0], digits)} to {_number(ranges[i, 1], digits)}"
