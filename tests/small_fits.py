"""Small fits that the tests of the report share, made once."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

import stochpref as sp
from stochpref.report import page

HOSTILE = (
    "<script>document.title = 'owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "</script><!-- '--> \\u003c {{ 7 * 7 }}",
    "🍎 and 👨‍👩‍👧",
    "עברית \u202eתה\u2066",
    "x" * 10_000,
    "$\\frac{1}{0$ 100 %\n&amp;",
    "' onfocus='document.title=1' autofocus x='",
)


def purchases(n: int, size: int, *, seed: int = 0, is_common: bool = False, goods: tuple[str, ...] | None = None):
    rng = np.random.default_rng(seed)
    direction = np.linspace(1.0, -0.25, n)
    direction /= np.linalg.norm(direction)
    law = sp.CorruptedUtilityLaw(direction, 0.1) if is_common else sp.VonMisesFisher(direction, 3.0 * n)
    data = sp.simulate(law, sp.MenuLaw("uniform"), size, rng=rng)
    customers = None if goods is None else [f"{goods[t % len(goods)]} {t}" for t in range(size)]
    return sp.Observations(
        data.prices, data.budgets, data.bundles, caps=data.caps, customers=customers,
        goods=goods or [f"good{i + 1}" for i in range(n)],
    )  # fmt: skip


def fit_posterior(data: sp.Observations, n_draws: int = 10, **settings: object) -> sp.HeterogeneousUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few draws have not converged
        model = sp.HeterogeneousUtility(sampler="gibbs", n_draws=n_draws, n_effective=0, random_state=0, **settings)
        return model.fit(data)


@cache
def posterior(n: int, size: int = 60) -> sp.HeterogeneousUtility:
    return fit_posterior(purchases(n, size))


@cache
def segmented(n: int, size: int = 60) -> sp.SegmentedUtility:
    """Return a fit to purchases of two crowds, who want the goods in opposite orders."""
    one, other = purchases(n, size), purchases(n, size, seed=1)
    other = sp.Observations(other.prices[:, ::-1], other.budgets, other.bundles[:, ::-1], goods=one.goods)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few draws have not converged
        model = sp.SegmentedUtility(2, n_draws=10, n_effective=0, random_state=0)
        return model.fit(one.concat(other))


@cache
def common(n: int, size: int = 60) -> sp.CommonUtility:
    return sp.CommonUtility(random_state=0).fit(purchases(n, size, is_common=True))


def satiated_purchases(
    size: int, *, seed: int = 0, goods: tuple[str, ...] = ("tea", "milk", "bread", "rum"), outside: str | None = "rest"
) -> sp.Observations:
    """Return purchases of several goods in part, the first wanted most, and customers' names."""
    rng, n, problem = np.random.default_rng(seed), len(goods), sp.problems.Satiated(outside)
    place = problem.outside_place(goods)
    k, n_inside = n + (outside == "rest"), n + (outside == "rest") - (place is not None)
    location = np.append(np.linspace(-0.6, -1.8, n), np.zeros(k - n))
    law = sp.LognormalLaw(location, 0.7, np.linspace(1.0, 2.0, n_inside), place)
    menus = sp.Menus(rng.uniform(0.5, 2, (size, n)), rng.uniform(4, 15, size), goods=goods, problem=problem)
    data = sp.simulate(law, menus, size, rng=rng)
    customers = [f"{goods[t % n]} {t}" for t in range(size)]
    return sp.Observations(data.prices, data.budgets, data.bundles, goods=goods, customers=customers, problem=problem)


@cache
def of_fading_goods(outside: str | None = "rest") -> sp.SatiatedUtility:
    """A fit to goods that satiate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few draws have not converged
        model = sp.SatiatedUtility(n_draws=10, n_effective=0, random_state=0)
        return model.fit(satiated_purchases(80, outside=outside))


@cache
def in_units() -> sp.HeterogeneousUtility:
    """A fit to goods of which two have several units, each worth less than the one before."""
    centre = np.array([0.8, 0.3, -0.3, 0.2, 0.5, -0.2])
    law = sp.VonMisesFisher(centre / np.linalg.norm(centre), 40.0)
    rng = np.random.default_rng(5)
    problem = sp.problems.Divisible({"tea": 3, "jam": 2})
    menus = sp.Menus(rng.uniform(1, 2, (60, 3)), rng.uniform(1, 6, 60), goods=["tea", "rum", "jam"], problem=problem)
    return fit_posterior(sp.simulate(law, menus, 60, rng=rng))


@cache
def of_whole_goods(n_in_part: int = 0) -> sp.HeterogeneousUtility:
    """A fit to whole goods, two of some and one of others, the last of them in part."""
    n, rng = 6, np.random.default_rng(6)
    goods, caps = [f"good{i + 1}" for i in range(n)], [2, 1, 2, 1, 1, 1]
    problem = sp.problems.Whole(goods[: n - n_in_part] if n_in_part else None)
    menus = sp.Menus(rng.uniform(1, 2, (60, n)), rng.uniform(1, 6, 60), goods=goods, caps=caps, problem=problem)
    law = sp.VonMisesFisher(np.array([3.0, 2.0, 1.0, -1.0, 1.0, 2.0]) / np.sqrt(20.0), 8.0)
    return fit_posterior(sp.simulate(law, menus, 60, rng=rng))


@cache
def hostile(is_common: bool) -> sp.HeterogeneousUtility | sp.CommonUtility:
    data = purchases(len(HOSTILE), 80, is_common=is_common, goods=HOSTILE)
    return sp.CommonUtility(random_state=0).fit(data) if is_common else fit_posterior(data)


@cache
def rendered(model: sp.HeterogeneousUtility | sp.CommonUtility) -> str:
    return page.render(model)
