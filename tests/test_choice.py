from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import stochpref as sp


def random_problem(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    n = int(rng.integers(1, 41))
    prices = np.exp(rng.normal(0, 1, n))
    prices[rng.random(n) < 0.15] = np.nan
    caps = rng.choice([0.3, 1.0, 2.5, 7.0], n)
    return rng.standard_normal(n), prices, float(rng.uniform(0, n)), caps


def test_value_equals_the_linear_programme_on_2000_random_problems() -> None:
    rng = np.random.default_rng(7)
    for _ in range(2000):
        u, a, b, caps = random_problem(rng)
        on_offer = ~np.isnan(a)
        x = sp.choose(u, a, b, caps=caps)
        assert np.all(x[~on_offer] == 0)
        assert np.all((x >= 0) & (x <= caps))
        assert np.sum(a[on_offer] * x[on_offer]) <= b * (1 + 1e-12)
        if not on_offer.any():
            continue
        lp = linprog(
            -u[on_offer],
            A_ub=a[None, on_offer],
            b_ub=[b],
            bounds=np.c_[np.zeros(on_offer.sum()), caps[on_offer]],
        )
        assert abs(u @ x + lp.fun) <= 1e-9 * max(1.0, abs(lp.fun))


def test_ties_go_to_the_earlier_good_and_unwanted_goods_stay() -> None:
    x = sp.choose([2.0, 1.0, 3.0, 0.0, -1.0], [2.0, 1.0, 3.0, 1.0, 1.0], 4.0)
    np.testing.assert_array_equal(x, [1.0, 1.0, 1 / 3, 0.0, 0.0])
    many = np.ones(200)
    np.testing.assert_array_equal(sp.choose(many, many, 70.5), np.r_[np.ones(70), 0.5, np.zeros(129)])


def test_broadcasting_equals_a_loop(rng: np.random.Generator) -> None:
    u, a = rng.standard_normal((6, 1, 4)), rng.uniform(1, 2, (5, 4))
    b, caps = rng.uniform(0, 4, 5), rng.uniform(0.5, 1.5, 4)
    x = sp.choose(u, a, b, caps=caps)
    assert x.shape == (6, 5, 4)
    for k in range(6):
        for t in range(5):
            np.testing.assert_array_equal(x[k, t], sp.choose(u[k, 0], a[t], b[t], caps=caps))
    np.testing.assert_array_equal(sp.choose(u[0, 0], a, b, caps=caps), x[0])
    np.testing.assert_array_equal(sp.choose(u[:, 0], a[0], b[0], caps=caps), x[:, 0])


def test_threads_and_scales_change_nothing(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    u, a, b = rng.standard_normal((9000, 7)), rng.uniform(1, 2, (9000, 7)), rng.uniform(1, 7, 9000)
    x = sp.choose(u, a, b)
    monkeypatch.setenv("STOCHPREF_NUM_THREADS", "1")
    np.testing.assert_array_equal(x, sp.choose(u, a, b))
    np.testing.assert_array_equal(x, sp.choose(u, a * 2.0**40, b * 2.0**40))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan], [1.0, 1.0], 1.0), "utilities must be finite"),
        (([1.0, 1.0], [1.0, 0.0], 1.0), r"prices must be positive.*received 0 at index \(1,\)"),
        (([1.0, 1.0], [1.0, 1.0], -1.0), "budgets must be finite and not negative"),
        (([1.0, 1.0], [1.0, 1.0], np.inf), "budgets must be finite"),
        (([1.0, 1.0], [1.0, 1.0, 1.0], 1.0), "agree in their last axis"),
        ((np.ones((3, 2)), np.ones((4, 2)), 1.0), "do not broadcast"),
        ((["a", "b"], [1.0, 1.0], 1.0), "utilities must be numbers"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.choose(*arguments)  # type: ignore[arg-type]


def test_bad_caps_are_named() -> None:
    with pytest.raises(sp.InvalidArgument, match="caps must be positive"):
        sp.choose([1.0, 1.0], [1.0, 1.0], 1.0, caps=0.0)
