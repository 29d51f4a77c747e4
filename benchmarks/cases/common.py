"""Cases of one utility."""

from __future__ import annotations

from typing import Any

import numpy as np

import stochpref as sp
from benchmarks.cases.data import LAWS, asked, crowd, degenerate, market, patchy, reloaded
from benchmarks.cases.registry import MASSES, Numbers, case, flat, settings


def quick() -> Any:
    """Return an effort without the part that stops by the clock."""
    return settings("Effort")(seconds=0.0, n_restarts=3, n_chains=2, n_sweeps=30)


def certificate(model: sp.CommonUtility) -> Numbers:
    """Return the utility, what it explains and what is proven."""
    names = (
        "utility_", "utility_interval_", "consistent_", "n_consistent_", "upper_bound_", "is_optimal_", "excluded_by_",
        "corruption_", "corruption_interval_", "margin_", "n_dropped_", "last_utility_",
    )  # fmt: skip
    values = {name: getattr(model, name) for name in names}
    return {name: np.asarray(value) for name, value in values.items() if value is not None}


def _share(model: sp.CommonUtility, data: sp.Observations) -> float:
    """Return the share explained, which was the score of version 0.1.0."""
    return float(model.consistency(data) if hasattr(model, "consistency") else model.score(data))


@case(law=LAWS)
def common(law: str) -> Numbers:
    data = crowd(law)
    model = sp.CommonUtility(random_state=16).fit(data)
    menus = asked(model.goods_)
    found = certificate(model) | {"predict": model.predict(menus), "score": np.array(_share(model, data))}
    odd = np.flatnonzero(~model.consistent_)[:3]
    for t in odd:
        found |= flat(model.explain(int(t)), f"odd{t}")
    return found | {f"again.{name}": values for name, values in certificate(reloaded(model)).items()}


@case(reordered=MASSES)
def common_log_likelihood() -> Numbers:
    data = crowd("i")
    return {"log_likelihood": sp.CommonUtility(random_state=16).fit(data).log_likelihood(data)}


@case()
def common_patchy() -> Numbers:
    return certificate(sp.CommonUtility(random_state=16).fit(patchy(is_common=True)))


@case(margin=(0.02, "theorem"))
def common_margin(margin: float | str) -> Numbers:
    model = sp.CommonUtility(margin=margin, random_state=16, effort=quick()).fit(crowd("i", 3, 80))
    return certificate(model)


@case(centre=("chebyshev", "vertex"))
def common_centre(centre: str) -> Numbers:
    return certificate(sp.CommonUtility(centre=centre, random_state=16).fit(crowd("ii")))


@case(margin=(0.0, 0.05))
def annealing(margin: float) -> Numbers:
    options = settings("Annealing")(n_steps=300)
    model = sp.CommonUtility(solver="annealing", margin=margin, annealing=options, random_state=17)
    return certificate(model.fit(crowd("i")))


@case()
def common_hard() -> Numbers:
    """Where the first proof fails: customers who differ, a sample first, many goods, rows dropped."""
    effort = settings("Effort")(seconds=0.0, n_restarts=3, n_chains=2, n_sweeps=30, core_size=100)
    found: Numbers = {}
    for name, data, options in (
        ("differ", market("i", 4, 80), {"effort": quick()}),
        ("core", crowd("i", 5, 300), {"effort": effort}),
        ("goods", crowd("i", 25, 200), {}),
        ("dropped", degenerate(), {"effort": quick(), "degenerate": "drop"}),
    ):
        model = sp.CommonUtility(random_state=18, **options).fit(data)
        found |= {f"{name}.{key}": value for key, value in certificate(model).items()}
    return found


@case(needs="distributed")
def common_dask() -> Numbers:
    return certificate(sp.CommonUtility(random_state=16, engine="dask").fit(crowd("i")))
