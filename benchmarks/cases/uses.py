"""Cases of what a posterior is used for: demand, customers, scores; fits saved and loaded, compared, by group."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import stochpref as sp
from benchmarks.cases.common import quick
from benchmarks.cases.data import DATA, asked, crowd, market, reloaded
from benchmarks.cases.posterior import drawn, posterior
from benchmarks.cases.registry import STEPS, Numbers, case, flat


@cache
def _fit(data: str) -> sp.HeterogeneousUtility:
    return posterior(DATA[data](), "gibbs")


@case(reordered=STEPS, data=("i", "patchy"))
def demand(data: str) -> Numbers:
    model = _fit(data)
    menus = asked(model.goods_)
    again = reloaded(model)
    found = flat(model.demand(menus, n_customers=512, n_draws=40))
    found |= flat(again.demand(menus, n_customers=512, n_draws=40), "again")
    found |= {f"again.{name}": values for name, values in drawn(again).items()}
    some = model.demand(menus.prices[0], 1.5, n_customers=64, n_draws=20, level=0.5)
    return found | {f"plain.{name}": values for name, values in flat(some).items()}


@case(reordered=STEPS, data=("i", "patchy"))
def elasticities(data: str) -> Numbers:
    model = _fit(data)
    menus = asked(model.goods_)
    found = flat(model.elasticities(menus[0], n_customers=512, n_draws=40), "all")
    some = model.elasticities(menus[2], goods=model.goods_[1:3], n_customers=512, n_draws=40)
    return found | flat(some, "some")


@case(reordered=STEPS, data=("i", "iii", "patchy"))
def customers(data: str) -> Numbers:
    """Utilities of customers, scores of observations, predictions."""
    model, whole = _fit(data), DATA[data]()
    own, new = model.utilities(), model.utilities(whole[:7])
    left_out = model.loo()
    menus = asked(model.goods_)
    return {
        "mean": own.mean, "sd": own.sd, "new.mean": new.mean, "new.sd": new.sd,
        "log_likelihood": model.log_likelihood(whole[:20]), "score": np.array(model.score(whole[:20])),
        "loo": np.asarray(left_out.elpd_i.values), "pareto_k": np.asarray(left_out.pareto_k.values),
        "predict": model.predict(menus), "draw": model.predict(menus, draw=True, rng=np.random.default_rng(14)),
    }  # fmt: skip


@case(reordered=STEPS)
def compare() -> Numbers:
    learnt, held_out = market("i", 4, 80), market("i", 4, 30, 6.0, 99)
    fits: dict[str, Any] = {
        "differ": posterior(learnt, "gibbs"),
        "bounded": posterior(learnt, "gibbs", concentration_bounds=(0.1, 3.0)),
        "common": sp.CommonUtility(random_state=0, effort=quick()).fit(learnt),
    }
    return flat(sp.compare_fits(fits, held_out).as_dict())


@case(reordered=STEPS, model=("heterogeneous", "common"))
def groups(model: str) -> Numbers:
    data = market("i", 3, 90) if model == "heterogeneous" else crowd("i", 3, 90)
    if model == "heterogeneous":
        alone: Any = sp.HeterogeneousUtility(sampler="gibbs", n_chains=2, n_draws=20, n_effective=0, random_state=15)
    else:
        alone = sp.CommonUtility(random_state=15)
    table = sp.fit_groups(alone, data, np.arange(90) % 3, jobs=1).table.to_pydict()
    return {name: np.array(values, float) for name, values in table.items() if not isinstance(values[0], str)}
