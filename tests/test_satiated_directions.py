# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Goods that satiate under laws of directions: total mass, the super-pivot, a simulation, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import stochpref as sp
from stochpref.problems import Satiated
from stochpref.satiation.directions import log_density

FADES = np.array([0.8, 1.6])
PRICES, BUDGET = np.array([1.0, 1.4]), 3.0
LAWS = {
    "vMF": sp.VonMisesFisher(np.array([0.4, 0.2, 0.6]) / np.linalg.norm([0.4, 0.2, 0.6]), 4.0),
    "vMF, alike": sp.VonMisesFisher(np.array([0.5, -0.1, 0.4]) / np.linalg.norm([0.5, -0.1, 0.4]), 30.0),
    "normal": sp.NormalLaw([0.5, 0.1, 0.7], [0.5, 1.0, 0.3]),
}
pytestmark = pytest.mark.filterwarnings("ignore:laws of directions:UserWarning")


def seen(bundles: np.ndarray, outside: str | None = "rest", caps: object = None) -> sp.Observations:
    rows = np.ones((len(bundles), 1))
    return sp.Observations(
        rows * PRICES[: bundles.shape[1]], np.full(len(bundles), BUDGET), bundles, caps=caps, problem=Satiated(outside)
    )


def rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights on (0, 1) that crowd at the ends."""
    t, w = np.polynomial.legendre.leggauss(count)
    t, w = 0.5 * (t + 1), 0.5 * w
    return t**3 * (10 - 15 * t + 6 * t**2), w * 30 * t**2 * (1 - t) ** 2


def masses(law: sp.VonMisesFisher | sp.NormalLaw) -> dict[str, float]:
    """Return the chances of the sets of goods that may be bought beside the rest."""
    t, w = rule(24)
    found = {"nothing": float(np.exp(log_density(seen(np.zeros((1, 2))), law, FADES)[0]))}
    for i in range(2):
        x = np.zeros((len(t), 2))
        x[:, i] = t * BUDGET / PRICES[i]
        found[f"good{i}"] = float(w @ np.exp(log_density(seen(x), law, FADES)) * BUDGET / PRICES[i])
    first, second = (part.ravel() for part in np.meshgrid(t, t))
    x = np.column_stack([first * BUDGET / PRICES[0], (1 - first) * second * BUDGET / PRICES[1]])
    area = np.outer(w, w).ravel() * (1 - first) * BUDGET**2 / PRICES.prod()
    has_rest = x @ PRICES < BUDGET * (1 - 1e-6)  # what hardly leaves any has no weight to speak of
    found["both"] = float(area[has_rest] @ np.exp(log_density(seen(x[has_rest]), law, FADES)))
    return found


@pytest.mark.parametrize("name", LAWS)
def test_everything_that_can_be_bought_has_the_mass_one_and_is_what_customers_do(name: str) -> None:
    law, problem = LAWS[name], Satiated("rest")
    found = masses(law)
    assert sum(found.values()) == pytest.approx(1.0, abs=2e-4)
    worth = law.sample(200_000, rng=np.random.default_rng(1))
    worth = worth[worth[:, 2] > 0]
    u = np.concatenate([worth, worth[:, :2] * FADES], axis=1)
    bought = problem.choose(u, sp.Menus(PRICES[None], [BUDGET], problem=problem)) > 0
    shares = {
        "nothing": ~bought.any(axis=1), "good0": bought[:, 0] & ~bought[:, 1], "good1": ~bought[:, 0] & bought[:, 1],
        "both": bought.all(axis=1),
    }  # fmt: skip
    for event, does in shares.items():
        assert found[event] == pytest.approx(does.mean(), abs=5e-3), event


def test_goods_in_part_act_as_one_pivot() -> None:
    law = LAWS["normal"]
    assert isinstance(law, sp.NormalLaw)
    x = np.array([[0.7, 0.6]])
    scale, gap = np.sqrt(np.diag(law.covariance)), BUDGET - x[0] @ PRICES
    s = np.append(PRICES * (1 + x[0] / FADES), gap)
    c, a = np.append(1 / (FADES + x[0]), 1 / gap), np.append(PRICES, 1.0)
    shadow = np.linspace(0, 20, 40_001)
    each = [norm.pdf(shadow * s[i], law.mean[i], scale[i]) for i in range(3)]
    direct = np.trapezoid(shadow**2 * np.prod(each, axis=0), shadow) * np.prod(s * c) * np.sum(a / c)
    expected = np.log(direct) - norm.logcdf(law.mean[2] / scale[2])
    assert log_density(seen(x), law, FADES)[0] == pytest.approx(expected, abs=1e-8)


def test_without_an_outside_good() -> None:
    law, fades = sp.VonMisesFisher([0.6, 0.8], 3.0), FADES
    t, w = rule(40)
    x = np.column_stack([t * BUDGET / PRICES[0], (1 - t) * BUDGET / PRICES[1]])
    both = w @ np.exp(log_density(seen(x, None), law, fades)) * BUDGET / PRICES[1]  # of what is not left out
    ends = np.array([[BUDGET / PRICES[0], 0.0], [0.0, BUDGET / PRICES[1]]])
    assert both + np.exp(log_density(seen(ends, None), law, fades)).sum() == pytest.approx(1.0, abs=1e-6)


def test_they_come_with_a_warning_and_refuse_what_they_cannot() -> None:
    x, law = np.array([[0.7, 0.6]]), LAWS["vMF"]
    with pytest.warns(UserWarning, match="laws of directions fit purchases of goods that satiate badly"):
        log_density(seen(x), law, FADES)
    with pytest.raises(sp.InvalidArgument, match="law and satiation must be of 3 and 2 goods"):
        log_density(seen(x), law, [1.0])
    with pytest.raises(sp.InvalidArgument, match="law must have independent goods"):
        log_density(seen(x), sp.NormalLaw([1.0, 1.0, 1.0], np.eye(3) + 0.2), FADES)
    capped = seen(np.array([[1.0, (BUDGET - 1.0) / PRICES[1]]]), None, [1.0, np.inf])
    with pytest.raises(sp.InvalidArgument, match="caps must be infinite where no good is outside"):
        log_density(capped, sp.VonMisesFisher([0.6, 0.8], 3.0), FADES)
    with pytest.raises(sp.InvalidArgument, match="problem 'satiated' with power 0"):
        log_density(seen(x).under(Satiated("rest", 0.5)), law, FADES)
