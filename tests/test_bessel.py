# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Bessel functions against mpmath at 40 digits, and against the identities that tie them together."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from stochpref.bessel import log_normaliser, log_scaled_iv, mean_resultant_length

N_GOODS = (2, 3, 5, 10, 25, 100, 300, 1000)
# The last row surrounds the cut-over between the two expansions, where both are at their worst.
CONCENTRATIONS = (1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0, 200.0, 1e3, 1e4, 1e5,
                  11.0, 16.0, 20.0, 29.0, np.nextafter(30.0, 0.0), 31.0, 35.0, 50.0)  # fmt: skip


def log_bessel(order: mpmath.mpf, x: float) -> mpmath.mpf:
    return mpmath.log(mpmath.besseli(order, mpmath.mpf(x)))


def relative_errors(computed: np.ndarray, truth: list[mpmath.mpf]) -> np.ndarray:
    return np.array([abs(float((mpmath.mpf(c) - t) / t)) for c, t in zip(computed.tolist(), truth, strict=True)])


@pytest.fixture(autouse=True)
def forty_digits():
    with mpmath.workdps(40):
        yield


@pytest.mark.parametrize("n", N_GOODS)
def test_log_scaled_iv_agrees_with_mpmath(n):
    order = mpmath.mpf(n) / 2 - 1
    truth = [log_bessel(order, x) - mpmath.mpf(x) for x in CONCENTRATIONS]
    computed = log_scaled_iv(float(order), CONCENTRATIONS)
    # I_0(x) e^{-x} is near 1 for small x, so its logarithm near 0: an absolute error of 1e-13 is all one can ask.
    errors = [abs(float(c - t)) / max(1.0, abs(float(t))) for c, t in zip(computed, truth, strict=True)]
    assert max(errors) < 1e-13


def test_log_scaled_iv_accepts_order_minus_one_half():
    x = np.array([0.3, 4.0, 29.5, 30.5, 1e4])
    # I_{-1/2}(x) = √(2/(πx)) cosh x.
    exact = 0.5 * np.log(2 / (np.pi * x)) + np.log1p(np.exp(-2 * x)) - np.log(2)
    np.testing.assert_allclose(log_scaled_iv(-0.5, x), exact, rtol=1e-13, atol=1e-14)


def test_log_scaled_iv_at_zero_is_the_limit():
    assert log_scaled_iv(0.0, 0.0) == 0.0
    assert log_scaled_iv(0.5, 0.0) == -np.inf
    assert log_scaled_iv(499.0, 0.0) == -np.inf


@pytest.mark.parametrize("n", N_GOODS)
def test_log_normaliser_agrees_with_mpmath(n):
    order = mpmath.mpf(n) / 2 - 1
    truth = [
        mpmath.mpf(n) / 2 * mpmath.log(2 * mpmath.pi) - order * mpmath.log(mpmath.mpf(x)) + log_bessel(order, x) - x
        for x in CONCENTRATIONS
    ]
    assert relative_errors(log_normaliser(n, CONCENTRATIONS), truth).max() < 1e-13


@pytest.mark.parametrize("n", N_GOODS)
def test_log_normaliser_at_zero_is_the_log_area(n):
    area = 2 * mpmath.pi ** (mpmath.mpf(n) / 2) / mpmath.gamma(mpmath.mpf(n) / 2)
    assert relative_errors(log_normaliser(n, [0.0]), [mpmath.log(area)]).max() < 1e-14


def test_log_normaliser_is_accurate_where_the_area_is_near_one():
    # n = 18 has area 1.478 and a logarithm of 0.39, a difference of terms near 10. Tiny κ lowers it by exactly κ.
    gap = log_normaliser(18, 0.0) - log_normaliser(18, [1e-9, 1e-5])
    np.testing.assert_allclose(gap, [1e-9, 1e-5 - 1e-10 / 36], rtol=1e-5)


@pytest.mark.parametrize("n", N_GOODS)
def test_mean_resultant_length_agrees_with_mpmath(n):
    order = mpmath.mpf(n) / 2 - 1
    truth = [mpmath.besseli(order + 1, x) / mpmath.besseli(order, x) for x in map(mpmath.mpf, CONCENTRATIONS)]
    assert relative_errors(mean_resultant_length(n, CONCENTRATIONS), truth).max() < 1e-14


def test_mean_resultant_length_of_three_goods_is_the_langevin_function():
    kappa = np.array([0.5, 2.0, 25.0, 31.0, 400.0])
    np.testing.assert_allclose(mean_resultant_length(3, kappa), 1 / np.tanh(kappa) - 1 / kappa, rtol=1e-14)


def test_mean_resultant_length_at_the_ends():
    assert mean_resultant_length(7, 0.0) == 0.0
    assert mean_resultant_length(7, 1e300) == 1.0
    np.testing.assert_allclose(mean_resultant_length(7, 1e-200), 1e-200 / 7, rtol=1e-15)


@pytest.mark.parametrize("n", [2, 7, 40, 600])
def test_ratio_is_the_derivative_of_the_normaliser(n):
    # d/dκ log ∫ exp(κ(μ·u − 1)) du = A_n(κ) − 1; four-point differences, on both sides of the cut-over.
    for kappa in (3.0, 28.0, 33.0, 700.0):
        h = 0.02 * kappa**0.5
        f = log_normaliser(n, kappa + h * np.array([-2.0, -1.0, 1.0, 2.0]))
        slope = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
        assert slope == pytest.approx(float(mean_resultant_length(n, kappa)) - 1, abs=2e-6)


def test_shape_follows_the_concentration():
    grid = np.array([[0.0, 1.0, 40.0], [2.0, 29.0, 1e6]])
    for function in (log_normaliser, mean_resultant_length, log_scaled_iv):
        values = function(3, grid)
        assert values.shape == grid.shape
        assert function(3, np.empty(0)).shape == (0,)
        np.testing.assert_array_equal(values.ravel(), [float(function(3, x)) for x in grid.ravel()])


def test_not_a_number_stays_not_a_number():
    assert np.isnan(log_normaliser(4, np.nan))
    assert np.isnan(mean_resultant_length(4, np.nan))
