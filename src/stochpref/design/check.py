# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a set of menus can teach, before any data are collected.

The information of a menu never exceeds Cov(u), that of seeing the utility itself. Measured against it, the solutions s
of I v = s Cov(u) v are shares between 0 and 1: of what could be learnt along a direction v, how much these menus show.
A direction with a share below 1e-3 needs more than a thousand times the observations; we call it unlearnable.

The paper's L (eq. equiv) compares laws of purchases: W(P_θ, P_θ*) ≥ L |θ - θ*|, W the Wasserstein distance, θ = (μ, κ).
Given menu t, nearby laws differ by half E|s_t·δ| in total variation, and moving that mass costs at most the width w_t
of its set of bundles. By Cauchy's inequality W ≤ ½ E[w_t E|s_t·δ|] ≤ ½ √E[w_t²] √(δᵀ I δ), so √λ_min(I in θ) times half
the root mean square width bounds L from above. The mean bundle is a 1-Lipschitz function of a purchase, so the smallest
stretch of its derivative bounds the local L from below. Simulation looks at laws far away too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment

from stochpref.checks import check_rng
from stochpref.design.halfspace import lower_tail
from stochpref.design.information import (
    Purchases,
    angle_variance,
    draw_customers,
    forecast_angle,
    forecast_words,
    moments_of,
    possible_purchases,
    relative_information,
    reliable_observations,
    tangent_basis,
)
from stochpref.errors import InvalidArgument, shown
from stochpref.laws import VonMisesFisher, uniform_directions
from stochpref.mass.masses import check_direction, vmf_covariance
from stochpref.observations import Menus
from stochpref.problems import check_handled
from stochpref.problems.divisible import choose
from stochpref.result import Result

Array = NDArray[np.float64]

UNLEARNABLE: Final = 1e-3  # share of what could be learnt
_MOST_MENUS: Final = 100  # a longer list is represented by this many of its menus, evenly spaced


@dataclass(frozen=True, slots=True, repr=False)
class MenuCheck(Result):
    """What a set of menus can teach about one law; `print` it for a report.

    Attributes
    ----------
    goods : names.
    n_menus : in the set.
    rank : of the information about h = κμ: directions that can be learnt at all.
    condition : largest over smallest eigenvalue of the information; inf if singular.
    shares : (n,) eigenvalues of the information relative to observing utilities, rising, between 0 and 1.
    good_shares : (n,) information about each good if the others were known, relative to that of seeing its utility.
    unlearnable : names of goods that stay open, with the reason.
    open_directions : (k, n) unit vectors that stay open, one for each of `shares` below 1e-3.
    is_concentration_open : the set tells next to nothing about κ.
    relative_information : trace over the tangent space relative to observing utilities.
    angle : forecast of the root mean square angle error (radians) of one observation of each menu; inf if a direction
        stays open, or below `n_reliable`.
    n_needed : observations for the target angle; inf if a direction stays open.
    n_reliable : fewest observations for which the information forecasts the error: with fewer, chance decides.
    target_angle : radians.
    equivalence_upper, equivalence_lower : bounds on the paper's L nearby, from the information and from demand.
    equivalence_simulated : smallest ratio of distances over simulated laws; None if none were simulated.
    message : the verdict.
    """

    goods: tuple[str, ...]
    n_menus: int
    rank: int
    condition: float
    shares: Array
    good_shares: Array
    unlearnable: dict[str, str]
    open_directions: Array
    is_concentration_open: bool
    relative_information: float
    angle: float
    n_needed: float
    n_reliable: float
    target_angle: float
    equivalence_upper: float
    equivalence_lower: float
    equivalence_simulated: float | None
    message: str

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good."""
        return [
            {"good": name, "share_learnable": float(share), "cannot_be_learnt": self.unlearnable.get(name, "")}
            for name, share in zip(self.goods, self.good_shares, strict=True)
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return what the set can teach, line by line."""
        return tuple(line.strip() for line in str(self).split("\n")[1:7])

    def __str__(self) -> str:
        n = len(self.goods)
        needed = f"{self.n_needed:,.0f}" if np.isfinite(self.n_needed) else "no number of"
        angle = forecast_words(self.angle, self.n_reliable, "after one observation of each menu")
        lines = [
            f"{self.n_menus} menus of {n} goods: {self.message}",
            f"  rank                 {self.rank} of {n}, condition {self.condition:.3g}",
            f"  information          {self.relative_information:.3f} of observing the utilities themselves",
            f"  weakest direction    {self.shares[0]:.2g} of what could be learnt",
            f"  angle error          {angle}",
            f"  for {self.target_angle:g} rad         {needed} observations",
            f"  L of the paper       {self.equivalence_lower:.3g} to {self.equivalence_upper:.3g} nearby"
            + ("" if self.equivalence_simulated is None else f", {self.equivalence_simulated:.3g} by simulation"),
        ]
        lines += [
            f"  cannot be learnt: {shown(name, 30)}: {reason}" for name, reason in list(self.unlearnable.items())[:10]
        ]
        if len(self.unlearnable) > 10:
            lines.append(f"  … and {len(self.unlearnable) - 10} more goods")
        return "\n".join(lines)


def check_menus(
    menus: Menus,
    mean_direction: ArrayLike,
    concentration: float,
    *,
    rng: np.random.Generator,
    target_angle: float = 0.1,
    n_draws: int = 400,
    n_simulated: int = 0,
) -> MenuCheck:
    """Return what purchases from these menus can teach, if utilities follow a given law.

    Parameters
    ----------
    menus : the set; each is taken to be offered equally often.
    mean_direction, concentration : the law believed in: a unit vector (n,) and κ.
    rng : draws customers and simulated laws.
    target_angle : accuracy wanted, in radians.
    n_draws : customers a menu; more with few goods.
    n_simulated : laws at which the paper's L is simulated, 0 for none.
    """
    check_rng(rng)
    check_handled(menus, "check_menus")
    h = check_direction(mean_direction, concentration, menus.n_goods)
    if not 0 < target_angle < np.pi:
        raise InvalidArgument(f"target_angle must lie between 0 and π radians; received {target_angle}")
    if np.linalg.norm(h) == 0:
        return _uniform_check(menus, target_angle)
    sample = menus if len(menus) <= _MOST_MENUS else menus[np.linspace(0, len(menus) - 1, _MOST_MENUS).astype(int)]
    purchases = possible_purchases(sample, h, draw_customers(h, n_draws, rng))
    moments, reliable = moments_of(purchases, len(sample)), reliable_observations(purchases, h)
    information = moments.information.mean(axis=0)
    covariance = vmf_covariance(h)
    values = np.linalg.eigvalsh(information)
    shares, vectors = eigh(information, covariance)
    open_directions = (vectors / np.linalg.norm(vectors, axis=0)).T[shares < UNLEARNABLE]
    good_shares = np.clip(np.diag(information) / np.diag(covariance), 0.0, 1.0)
    unlearnable = _explain(menus, h, good_shares, purchases)
    variance = angle_variance(information, h)
    upper, lower = _local_equivalence(information, moments.demand_slope, h, sample)
    along = h / np.linalg.norm(h)
    is_open = float(along @ information @ along) < UNLEARNABLE * float(along @ covariance @ along)
    simulated = _simulate_equivalence(sample, h, n_simulated, rng) if n_simulated else None
    return MenuCheck(
        goods=menus.goods,
        n_menus=len(menus),
        rank=int(np.sum(values > 1e-10 * values[-1])) if values[-1] > 0 else 0,
        condition=float(values[-1] / values[0]) if values[0] > 1e-15 * values[-1] > 0 else np.inf,
        shares=np.clip(shares, 0.0, 1.0),
        good_shares=good_shares,
        unlearnable=unlearnable,
        open_directions=open_directions,
        is_concentration_open=is_open,
        relative_information=relative_information(information, h),
        angle=forecast_angle(variance, len(menus)) if len(menus) >= reliable else np.inf,
        n_needed=float(np.ceil(max(variance / np.tan(min(target_angle, 1.5)) ** 2, reliable))),
        n_reliable=float(np.ceil(reliable)),
        target_angle=float(target_angle),
        equivalence_upper=upper,
        equivalence_lower=lower,
        equivalence_simulated=simulated,
        message=_verdict(unlearnable, len(open_directions), is_open),
    )


def _verdict(unlearnable: dict[str, str], n_open: int, is_concentration_open: bool) -> str:
    if unlearnable:
        return f"{len(unlearnable)} goods cannot be learnt from them"
    if n_open > is_concentration_open:
        return f"{n_open} directions stay open, though every good is seen: some goods move together"
    if is_concentration_open:
        return "every good can be learnt; the concentration next to not"
    return "every good can be learnt"


def _explain(menus: Menus, h: Array, good_shares: Array, purchases: Purchases) -> dict[str, str]:
    """Return the goods that stay open, with the reason."""
    rarer, sign_shares = _signs(h)
    n_offers = np.isfinite(menus.prices).sum(axis=0)
    bought = purchases.weight @ (purchases.bundles > 0) / purchases.weight.sum()
    reasons = {}
    for i in np.flatnonzero((good_shares < UNLEARNABLE) | (n_offers == 0)):
        is_sure = sign_shares[i] < UNLEARNABLE
        if n_offers[i] == 0:
            reason = "it is not on offer in any menu"
        elif is_sure and h[i] < 0:
            reason = f"nobody wants it (probability {rarer[i]:.1g}), so no price will show how little"
        elif is_sure and bought[i] > 0.5:
            reason = "everybody wants it and buys it from all these menus; make them choose: less money"
        else:
            reason = "these prices and budgets leave no doubt whether it is bought; move its price"
        reasons[menus.goods[i]] = reason
    return reasons


def _signs(h: Array) -> tuple[Array, Array]:
    """Return (n,) the probability of the rarer sign of each u_i, and what the sign tells about h_i, as a share.

    A sign with probability P has information (dP/dh_i)² / P(1 - P), and u_i itself Var(u_i). No price puts a threshold
    below zero, so about a good that is seldom wanted no purchase tells more than the sign does.
    """
    step, probability, slope = 1e-4, np.empty(len(h)), np.empty(len(h))
    for i, h_i in enumerate(-np.abs(h)):
        ends = np.array([h_i - step, h_i])
        kappas = np.hypot(ends, np.linalg.norm(np.delete(h, i)))
        before, probability[i] = (
            float(lower_tail(max(end / kappa, -1.0), len(h), kappa)) for end, kappa in zip(ends, kappas, strict=True)
        )
        slope[i] = (probability[i] - before) / step
    told = np.square(slope) / np.maximum(probability * (1 - probability), np.finfo(float).tiny)
    return probability, told / np.diag(vmf_covariance(h))


def _local_equivalence(information: Array, slopes: Array, h: Array, menus: Menus) -> tuple[float, float]:
    """Return bounds on L near h, from above by the information and from below by the slope of mean demand."""
    kappa = float(np.linalg.norm(h))
    # dh = κ dμ + μ dκ: columns map (n-1 tangent coordinates of μ, κ) to h.
    jacobian = np.column_stack([kappa * tangent_basis(h / kappa), h / kappa])
    smallest = max(float(np.linalg.eigvalsh(jacobian.T @ information @ jacobian)[0]), 0.0)
    caps = np.where(np.isfinite(menus.prices), np.minimum(menus.caps, menus.budgets[:, None] / menus.prices), 0.0)
    width = float(np.sqrt(np.mean(np.sum(np.square(caps), axis=1))))
    stretch = float(np.linalg.svd(slopes.mean(axis=0) @ jacobian, compute_uv=False)[-1])
    return 0.5 * width * float(np.sqrt(smallest)), stretch


def _simulate_equivalence(
    menus: Menus, h: Array, n_simulated: int, rng: np.random.Generator, n_customers: int = 300
) -> float:
    """Return the smallest W(P_θ, P_θ*)/|θ - θ*| over simulated laws θ, distances between samples by assignment.

    Both samples come from the same random numbers and face the same menus, so that two equal laws have distance zero.
    """
    kappa = float(np.linalg.norm(h))
    rows = np.arange(n_customers) % len(menus)
    table = menus[rows]
    seed = int(rng.integers(2**63))

    def purchases(law: VonMisesFisher, stream: int) -> Array:
        u = law.sample(n_customers, rng=np.random.default_rng([seed, stream]))
        bundles = choose(u, table.prices, table.budgets, caps=table.caps)
        prices = np.where(np.isfinite(table.prices), table.prices, 0.0)
        return np.column_stack([bundles, prices, table.budgets])

    def distance(one: Array, other: Array) -> float:
        cost = np.linalg.norm(one[:, None, :] - other[None, :, :], axis=2)
        matched = linear_sum_assignment(cost)
        return float(cost[matched].mean())

    truth = VonMisesFisher(h / kappa, kappa)
    base = purchases(truth, 0)
    ratios = []
    for step, towards in enumerate(uniform_directions(n_simulated, len(h), rng=rng)):
        size = (0.1, 0.3, 1.0, 2.0)[step % 4]
        mean = truth.mean_direction + size * towards
        law = VonMisesFisher(mean / np.linalg.norm(mean), kappa * float(np.exp(0.3 * rng.standard_normal())))
        gap = np.hypot(np.linalg.norm(law.mean_direction - truth.mean_direction), law.concentration - kappa)
        ratios.append(distance(base, purchases(law, 0)) / float(gap))
    return float(min(ratios))


def _uniform_check(menus: Menus, target_angle: float) -> MenuCheck:
    n = menus.n_goods
    nothing = np.full(n, np.nan)
    return MenuCheck(
        goods=menus.goods,
        n_menus=len(menus),
        rank=0,
        condition=np.inf,
        shares=np.zeros(n),
        good_shares=nothing,
        unlearnable={},
        open_directions=np.eye(n),
        is_concentration_open=True,
        relative_information=np.nan,
        angle=np.inf,
        n_needed=np.inf,
        n_reliable=np.inf,
        target_angle=float(target_angle),
        equivalence_upper=0.0,
        equivalence_lower=0.0,
        equivalence_simulated=None,
        message="at concentration 0 customers have no common direction, so there is none to learn",
    )
