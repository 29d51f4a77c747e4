from __future__ import annotations

import mpmath
import numpy as np

from stochpref.mass.contour import gauss_rules
from stochpref.mass.normal import fast_exp, fast_sincos, half_erfcx


def test_half_erfcx_against_mpmath_over_the_right_half_plane() -> None:
    rng = np.random.default_rng(0)
    radius, angle = 10 ** rng.uniform(-3, 3, 400), rng.uniform(-np.pi / 2, np.pi / 2, 400)
    with mpmath.workdps(30):
        for x, y in zip(radius * np.cos(angle), radius * np.sin(angle), strict=True):
            zeta = mpmath.mpc(abs(x), y) / mpmath.sqrt(2)
            # erfcx by the continued fraction's cousin: exp(ζ²) erfc(ζ), both at 30 digits
            expected = mpmath.exp(zeta**2) * mpmath.erfc(zeta) / 2 if abs(zeta) < 25 else _asymptotic(zeta) / 2
            got = complex(*half_erfcx(abs(x), y))
            assert abs(got - complex(expected)) <= 1e-13 * abs(complex(expected))


def _asymptotic(zeta: mpmath.mpc) -> mpmath.mpc:
    total, term = mpmath.mpf(1), mpmath.mpf(1)
    for k in range(1, 20):
        term *= -(2 * k - 1) / (2 * zeta**2)
        total += term
    return total / (zeta * mpmath.sqrt(mpmath.pi))


def test_elementary_functions() -> None:
    x = np.random.default_rng(1).uniform(-700, 700, 2000)
    ours = np.array([fast_exp(v) for v in x])
    assert np.max(np.abs(ours / np.exp(x) - 1)) < 1e-15
    assert fast_exp(-1e9) < 1e-300
    y = np.random.default_rng(2).uniform(-1e5, 1e5, 2000)
    pairs = np.array([fast_sincos(v) for v in y])
    np.testing.assert_allclose(pairs[:, 0], np.sin(y), atol=3e-16, rtol=0)
    np.testing.assert_allclose(pairs[:, 1], np.cos(y), atol=3e-16, rtol=0)


def test_rules_integrate_polynomials_and_are_cached() -> None:
    for n, kappa in ((2, 1.0), (3, 1e4), (25, 5.0), (200, 300.0), (1000, 10.0)):
        rules = gauss_rules(n, kappa, 1e-10)
        assert np.all(rules.defect < 1e-10)
        assert np.all(rules.n_nodes <= rules.degree)
        assert gauss_rules(n, kappa, 1e-10) is rules
