# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Learning from signs alone: menus from which a good is bought iff it is wanted (paper, appendix, both cases).

If the budget covers everything on offer, or all of it but a part of one good, every good that is wanted is bought, at
least in part. The share of customers who buy good i then estimates P(u_i > 0), which `halfspace_inverse` turns into μ_i
if κ is known. If it is not, the n shares still hold n numbers: |μ_i| at a given share falls strictly as κ rises, so one
κ alone makes the estimates a unit vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from stochpref.checks import check_count
from stochpref.design.beliefs import good_names
from stochpref.errors import InvalidArgument, InvalidObservations, describe_rows, listed, shown
from stochpref.kinds import MONEY_TOLERANCE
from stochpref.observations import Menus, Observations
from stochpref.paper.halfspace import halfspace_curvature, halfspace_density, halfspace_inverse, halfspace_probability
from stochpref.problems import check_handled

Array = NDArray[np.float64]

_LOWEST, _HIGHEST = 1e-3, 1e4  # concentrations looked for where κ is not known


@dataclass(frozen=True, slots=True)
class SignEstimate:
    """A mean direction learnt from who buys what; `print` it for a table.

    Attributes
    ----------
    mean_direction : (n,) unit vector.
    raw : (n,) estimates of μ_i good by good, before they are normalised.
    standard_errors : (n,) of the unit vector, by the delta method; inf if some good was bought by all or none.
    bias : (n,) of the unit vector, to second order of the delta method; already there in `mean_direction`.
    concentration : κ, given or estimated.
    is_known : κ was given.
    shares : (n,) estimates of P(u_i > 0).
    n_offers : (n,) menus in which the good was on offer.
    at_end : names of goods bought more or less often than any μ_i explains, so that it was set to ±1.
    goods : names.
    """

    mean_direction: Array
    raw: Array
    standard_errors: Array
    bias: Array
    concentration: float
    is_known: bool
    shares: Array
    n_offers: Array
    at_end: tuple[str, ...]
    goods: tuple[str, ...]

    def __str__(self) -> str:
        known = "given" if self.is_known else "estimated"
        lines = [f"mean direction from signs, concentration {self.concentration:.4g} ({known})", ""]
        lines += [
            f"  {shown(name, 22):<24}{value:>10.4f} ± {error:<8.2g} bought by {100 * share:.1f} %"
            for name, value, error, share in zip(
                self.goods, self.mean_direction, self.standard_errors, self.shares, strict=True
            )
        ]
        if self.at_end:
            lines += ["", f"  at an end of the range, so only bounded: {listed(self.at_end, 10)}"]
        return "\n".join(lines)


def block_sizes(n_goods: int, largest: int) -> list[int]:
    """Return the sizes of the fewest blocks of at most `largest` goods that cover all, as equal as can be."""
    n_blocks = -(-n_goods // largest)
    return [n_goods // n_blocks + (k < n_goods % n_blocks) for k in range(n_blocks)]


def sign_menus(
    goods: int | Sequence[str],
    n_menus: int,
    *,
    lowest_budget: float | None = None,
    budgets: ArrayLike | None = None,
) -> Menus:
    """Return menus from which a good is bought iff it is wanted.

    Parameters
    ----------
    goods : their number, or names.
    n_menus : T; with blocks, they take turns.
    lowest_budget : None where the budget is free: everything at price 1, budget n (case 1). Otherwise b̲ > 0: at most
        ⌈b̲⌉ goods at a time at price 1 and the rest not at all (case 2), b̲ up to rounding.
    budgets : a number or (T,), what customers will have in case 2, at least b̲; b̲ itself by default.
    """
    names = good_names(goods)
    n = len(names)
    if n < 2:
        raise InvalidArgument(f"goods must be two or more: a law on the sphere has no direction in one; received {n}")
    check_count(n_menus, "n_menus", 1)
    if lowest_budget is None:
        return Menus(np.ones((n_menus, n)), np.full(n_menus, float(n)), goods=names)
    if not (np.isfinite(lowest_budget) and lowest_budget > 0):
        raise InvalidArgument(f"lowest_budget must be positive and finite; received {lowest_budget}")
    money = np.asarray(lowest_budget if budgets is None else budgets, dtype=np.float64)
    if money.shape not in ((), (n_menus,)):
        raise InvalidArgument(f"budgets must be a number or one for each of {n_menus} menus; received {money.shape}")
    money = np.broadcast_to(money, (n_menus,))
    if np.any(money < lowest_budget):
        raise InvalidArgument(
            f"budgets must not be below lowest_budget = {lowest_budget:g}; received {money.min():g}; lower the bound"
        )
    # A budget of 3 that was computed as 3.0000000000000004 pays for a part of a fourth good in theory only.
    sizes = block_sizes(n, min(n, int(np.ceil(lowest_budget * (1 - MONEY_TOLERANCE)))))
    block_of = np.repeat(np.arange(len(sizes)), sizes)
    is_offered = block_of[None, :] == (np.arange(n_menus) % len(sizes))[:, None]
    return Menus(np.where(is_offered, 1.0, np.inf), money, goods=names)


def reveals_signs(menus: Menus) -> NDArray[np.bool_]:
    """Return (T,) whether bought at all means wanted: the budget exceeds the cost of all goods but any one."""
    is_offered = np.isfinite(menus.prices)
    cost = np.where(is_offered, menus.prices * np.where(is_offered, menus.caps, 1.0), 0.0)
    cheapest = np.min(np.where(is_offered, cost, np.inf), axis=1)
    return np.asarray(np.sum(cost, axis=1) - cheapest < menus.budgets * (1 - MONEY_TOLERANCE))


def estimate_from_signs(observations: Observations, concentration: float | None = None) -> SignEstimate:
    """Return the mean direction from who buys what, for menus from which bought at all means wanted.

    Parameters
    ----------
    observations : purchases from `sign_menus`, or from any menus whose budget covers all but a part of one good.
    concentration : κ; None estimates it too, as the one κ whose estimates form a unit vector.

    Raises
    ------
    InvalidObservations : the budget of some menus may stop a customer from buying what is wanted.
    InvalidArgument : a good was never on offer, or κ is zero.

    Notes
    -----
    Moment matching, as in the paper; the full likelihood of the same purchases (`fit_maximum_likelihood`) also uses
    which goods are wanted together, and takes any menus.
    """
    check_handled(observations, "estimate_from_signs")
    bad = np.flatnonzero(~reveals_signs(observations.menus))
    if bad.size:
        raise InvalidObservations(
            f"menus must leave money for everything wanted; {bad.size} of {len(observations)} do not "
            f"({describe_rows(bad.tolist())}); use fit_maximum_likelihood, which takes any menus",
            bad.tolist(),
        )
    is_offered = np.isfinite(observations.prices)
    n_offers = np.sum(is_offered, axis=0).astype(np.float64)
    if np.any(n_offers == 0):
        name = observations.goods[int(np.argmin(n_offers))]
        raise InvalidArgument(f"every good must be on offer in some menu; {name!r} never is; offer it or leave it out")
    is_wanted = is_offered & (observations.bundles > 0)
    shares = np.sum(is_wanted, axis=0) / n_offers
    n = observations.n_goods
    kappa = _solve_concentration(shares, n) if concentration is None else float(concentration)
    raw = halfspace_inverse(shares, n, kappa)
    length = float(np.linalg.norm(raw))
    if length == 0:
        raise InvalidArgument("every good is bought by exactly half, so no direction stands out; collect more data")
    errors, bias = _delta_method(raw, _share_covariance(is_offered, is_wanted, shares), kappa, concentration is None)
    ends = np.flatnonzero(np.abs(raw) >= 1)
    return SignEstimate(
        mean_direction=raw / length,
        raw=raw,
        standard_errors=errors,
        bias=bias,
        concentration=kappa,
        is_known=concentration is not None,
        shares=shares,
        n_offers=n_offers,
        at_end=tuple(observations.goods[i] for i in ends),
        goods=observations.goods,
    )


def _solve_concentration(shares: Array, n_goods: int) -> float:
    """Return the κ at which Σ μ_i(κ)² = 1, each μ_i being the inverse of its share."""

    def excess(log_kappa: float) -> float:
        return float(np.sum(np.square(halfspace_inverse(shares, n_goods, float(np.exp(log_kappa)))))) - 1

    low, high = np.log(_LOWEST), np.log(_HIGHEST)
    if np.all(shares == 0.5) or excess(low) <= 0:
        raise InvalidArgument(
            "concentration is not identified: all goods are bought by about half of the customers; "
            "give it, or collect more observations"
        )
    if excess(high) >= 0:
        raise InvalidArgument(
            f"concentration is not identified: it exceeds {_HIGHEST:g}, since some goods are bought by all or none; "
            "give it, or offer menus that make customers choose (optimal_menus)"
        )
    return float(np.exp(brentq(excess, low, high, xtol=1e-9)))


def _share_covariance(is_offered: NDArray[np.bool_], is_wanted: NDArray[np.bool_], shares: Array) -> Array:
    """Return the covariance of the shares: goods in one menu are correlated, purchases from different ones are not."""
    offered = is_offered.astype(np.float64)
    deviation = np.where(is_offered, is_wanted - shares, 0.0)
    counts = np.diag(offered.T @ offered)
    covariance: Array = (deviation.T @ deviation) / np.outer(counts, counts)
    return covariance


def _delta_method(raw: Array, covariance: Array, kappa: float, is_estimated: bool) -> tuple[Array, Array]:
    """Return standard errors and second-order bias of the normalised estimate.

    With f the inverse of P and N(v) = v/|v|: J = N'(v) f', and the bias is ½ Σ_jk N''_jk C_jk + ½ N' f'' diag(C), where
    C is the covariance of v, f' = 1/P', f'' = -P''/P'³. If κ is estimated, v is held at unit length and C is projected.
    """
    n = len(raw)
    slope = halfspace_density(raw, n, kappa)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inverse = 1 / slope
        bend = -halfspace_curvature(raw, n, kappa) * inverse**3
        C = covariance * np.outer(inverse, inverse)
    # A good that all or none bought has no error of its own to show, and after normalising nor have the others.
    if not np.isfinite(C).all() or np.any(np.diag(covariance) == 0):
        return np.full(n, np.inf), np.full(n, np.nan)
    length = float(np.linalg.norm(raw))
    m = raw / length
    across = (np.eye(n) - np.outer(m, m)) / length
    if is_estimated:
        errors = _errors_with_concentration(raw, C, kappa)
        return errors, np.full(n, np.nan)
    # N''(v)[C] = (-2 C m - m tr C + 3 m (mᵀ C m)) / |v|²
    second = (-2 * C @ m - m * np.trace(C) + 3 * m * float(m @ C @ m)) / length**2
    bias = 0.5 * second + 0.5 * across @ (bend * np.diag(covariance))
    return np.sqrt(np.diag(across @ C @ across)), bias


def _errors_with_concentration(raw: Array, C: Array, kappa: float) -> Array:
    """Return standard errors where κ moves with the shares so as to keep |v| = 1: dv = d + v_κ dκ, v·dv = 0."""
    n, step = len(raw), 1e-4 * kappa
    shares = halfspace_probability(raw, n, kappa)
    along = (halfspace_inverse(shares, n, kappa + step) - halfspace_inverse(shares, n, kappa - step)) / (2 * step)
    across = np.eye(n) - np.outer(along, raw) / float(raw @ along)
    return np.sqrt(np.maximum(np.diag(across @ C @ across.T), 0.0))
