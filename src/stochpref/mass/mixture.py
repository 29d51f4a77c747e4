# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The likelihood of a mixture of von Mises–Fisher laws: log-masses under all K laws in one pass, and sums of them.

A *unit* is what belongs to one segment as a whole: an observation, or all purchases of one customer. With L_ck the sum
of a unit's log-masses under law k and π the weights, its log-likelihood is log Σ_k π_k exp L_ck, its responsibilities
r_ck ∝ π_k exp L_ck are the probabilities of the segments given what was bought, and the gradient in h_k is
Σ_c r_ck ∇L_ck. Minus the Hessian follows from Louis' identity: what all utilities' segments would tell, less what not
knowing the segments takes away.

Where only some purchases are recorded, the likelihood is divided by that of what was conditioned on, a mixture too:
log Σ_k π_k exp L_ck − log Σ_k π_k exp E_ck. Weights are then those of all customers, seen or not, and counts hold the
expected unseen ones, so that a step of expectation–maximisation is the same (`recorded_sums`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from stochpref.chances import Chance, Recorded
from stochpref.mass.conditional import log_chance
from stochpref.mass.masses import exact_log_mass, sum_by_law
from stochpref.regions import Regions

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_DIFFERENCE: Final = 1e-3  # log-masses vary over h, and over logarithms of weights, on scales of 1 or more


class LawMasses(NamedTuple):
    """Of distinct regions under each of K laws.

    log_mass, gradient : (K, m) and (K, m, n), or (K, m, 0) if not asked for.
    counts : (m,) how often each occurs.
    place : (T,) which of them each row has.
    regions : the m of them; None where they are not known by inequalities.
    """

    log_mass: Array
    gradient: Array
    counts: Array
    place: Indices
    regions: Regions | None


class MixtureSums(NamedTuple):
    """Sums over all units.

    value : Σ log-likelihood.
    units, rows : (K,) how many units, and observations, each segment has, by responsibilities.
    gradient : (K, n) in h of each law; empty if not asked for, as the next.
    information : (K + Kn, K + Kn) minus the Hessian, in the logarithms of the weights before they are normalised,
        then in h of one law after the other.
    """

    value: float
    units: Array
    rows: Array
    gradient: Array
    information: Array


def masses_by_law(regions: Regions, laws: Array, *, gradient: bool, tolerance: float) -> LawMasses:
    """Return log-masses of distinct regions under each law, (K, n) of them, in one pass."""
    merged = regions.merged()
    if merged is None:
        distinct, counts, place = regions, np.ones(len(regions)), np.arange(len(regions))
    else:
        assert isinstance(merged.place, np.ndarray)
        distinct, counts, place = merged.regions, merged.counts, merged.place
    k, m = len(laws), len(distinct)
    found = exact_log_mass(_repeated(distinct, k), laws, _laws_of(k, m), gradient=gradient, tolerance=tolerance)
    slopes = np.empty((k, m, 0)) if found.gradient is None else found.gradient.reshape(k, m, -1)
    return LawMasses(found.log_mass.reshape(k, m), slopes, counts, place, distinct)


def chances_by_law(chance: Chance, laws: Array, *, gradient: bool, tolerance: float) -> LawMasses:
    """Return logarithms of chances under each law."""
    if chance.is_single:
        found = masses_by_law(chance.parts[0].regions, laws, gradient=gradient, tolerance=tolerance)
        place = found.place[chance.parts[0].row]
        counts = np.bincount(place, minlength=len(found.counts)).astype(np.float64)
        return found._replace(place=place, counts=counts)
    each = [log_chance(chance, h, gradient=gradient, tolerance=tolerance) for h in laws]
    slopes = np.stack([np.empty((len(chance), 0)) if one.gradient is None else one.gradient for one in each])
    first = chance.parts[0]
    counts, place = np.ones(len(chance)), np.arange(len(chance))
    return LawMasses(np.stack([one.log_mass for one in each]), slopes, counts, place, first.regions[first.row])


def join_law_masses(parts: Sequence[LawMasses]) -> LawMasses:
    """Return masses of some rows after those of others."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.counts) for part in parts[:-1])])
    return LawMasses(
        np.concatenate([part.log_mass for part in parts], axis=1),
        np.concatenate([part.gradient for part in parts], axis=1),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.place + start for part, start in zip(parts, starts, strict=True)]),
        _joined([part.regions for part in parts if part.regions is not None]),
    )


def _repeated(regions: Regions, times: int) -> Regions:
    """Return all regions, so many times one after another."""
    return regions if times == 1 else _joined([regions] * times)


def _joined(parts: Sequence[Regions]) -> Regions:
    """Return all regions of the parts, one after another."""
    return parts[0].joined(parts[1:])


def _laws_of(n_laws: int, n_rows: int) -> Indices:
    return np.repeat(np.arange(n_laws), n_rows)


def responsibilities(log_mass: Array, log_weights: Array) -> tuple[Array, Array]:
    """Return (c,) log-likelihoods of units and (K, c) responsibilities, of log-masses (K, c) and log-weights (K,)."""
    joint = log_mass + log_weights[:, None]
    total = np.asarray(logsumexp(joint, axis=0))
    with np.errstate(invalid="ignore"):  # a unit that no law explains belongs to none
        return total, np.nan_to_num(np.exp(joint - total))


def unit_masses(found: LawMasses, unit: Indices | None) -> tuple[Array, Array]:
    """Return log-masses (K, c) of units and how often each counts; `unit` (T,) says whose each row is."""
    if unit is None:
        return found.log_mass, found.counts
    each = np.stack([_added(unit, row[found.place]) for row in found.log_mass])
    return each, np.ones(each.shape[1])


def spread_units(found: LawMasses, share: Array, often: Array, unit: Indices | None) -> Array:
    """Return responsibilities (K, m) of distinct regions, of all rows that have one, given those of units (K, c)."""
    if unit is None:
        return share * often
    return np.stack([_added(found.place, row[unit], len(found.counts)) for row in share])


def _added(places: Indices, values: Array, n_places: int = 0) -> Array:
    """Return the sum of the values at each place."""
    return np.asarray(np.bincount(places, values, n_places), np.float64)


def sums_over_units(
    found: LawMasses, log_weights: Array, unit: Indices | None, laws: Array, derivatives: int, tolerance: float
) -> MixtureSums:
    """Return the sums of log-masses that are known.

    Parameters
    ----------
    log_weights : (K,) of sum 1 when raised.
    unit : (T,) the unit of each row, numbered from 0; None where every row is one.
    derivatives : 0 for values, 1 for gradients too, 2 for the information too; `found` has gradients then.
    """
    masses, often = unit_masses(found, unit)
    total, share = responsibilities(masses, log_weights)
    own, of_rows = share * often, spread_units(found, share, often, unit)
    gradient = np.einsum("km,kmi->ki", of_rows, found.gradient) if derivatives else np.empty(0)
    information = np.empty(0)
    if derivatives == 2:
        information = _information(found, unit, laws, np.exp(log_weights), share, often, of_rows, tolerance)
    return MixtureSums(float(np.sum(often * total)), own.sum(axis=1), of_rows.sum(axis=1), gradient, information)


def _information(
    found: LawMasses, unit: Indices | None, laws: Array, weights: Array, share: Array, often: Array, of_rows: Array,
    tolerance: float,
) -> Array:  # fmt: skip
    k, n = laws.shape
    m = len(found.counts)
    assert found.regions is not None
    within = sum_by_law(
        _repeated(found.regions, k), laws, _laws_of(k, m), weights=of_rows.ravel(), information=True,
        tolerance=tolerance,
    ).information  # fmt: skip
    slopes = found.gradient
    if unit is not None:
        slopes = np.stack([np.stack([_added(unit, row[found.place, i]) for i in range(n)], axis=1) for row in slopes])
    matrix = np.zeros((k + k * n, k + k * n))
    for a in range(k):
        rows = slice(k + a * n, k + (a + 1) * n)
        matrix[rows, rows] = within[a] - np.einsum("c,ci,cj->ij", often * share[a], slopes[a], slopes[a])
        for b in range(k):
            columns = slice(k + b * n, k + (b + 1) * n)
            shared = often * share[a] * share[b]
            matrix[rows, columns] += (slopes[a] * shared[:, None]).T @ slopes[b]
            own = often * share[a] if a == b else 0.0
            matrix[a, columns] = (shared - own) @ slopes[b]
            matrix[columns, a] = matrix[a, columns]
            matrix[a, b] = np.sum(shared - own)
    count = float(np.sum(often))
    matrix[:k, :k] += count * (np.diag(weights) - np.outer(weights, weights))
    return matrix


def mixture_sums(
    regions: Regions, log_weights: Array, laws: Array, unit: Indices | None, derivatives: int, tolerance: float
) -> MixtureSums:
    """Return the sums over regions in memory; parameters as in `sums_over_units`."""
    found = masses_by_law(regions, laws, gradient=derivatives > 0, tolerance=tolerance)
    return sums_over_units(found, log_weights, unit, laws, derivatives, tolerance)


def recorded_sums(
    recorded: Recorded, log_weights: Array, laws: Array, unit: Indices | None, derivatives: int, tolerance: float
) -> MixtureSums:
    """Return the sums over what was recorded; parameters as in `sums_over_units`. The information is by differences."""
    bought = chances_by_law(recorded.chance, laws, gradient=derivatives > 0, tolerance=tolerance)
    sums = sums_over_units(bought, log_weights, unit, laws, min(derivatives, 1), tolerance)
    if recorded.event is not None:
        event = chances_by_law(recorded.event, laws, gradient=derivatives > 0, tolerance=tolerance)
        sums = _given(sums, event, log_weights, unit, laws, min(derivatives, 1), tolerance)
    if derivatives < 2:
        return sums
    return sums._replace(information=_differences(recorded, log_weights, laws, unit, tolerance))


def _given(
    bought: MixtureSums, found: LawMasses, log_weights: Array, unit: Indices | None, laws: Array, derivatives: int,
    tolerance: float,
) -> MixtureSums:  # fmt: skip
    """Return sums less those of what was conditioned on, with the expected unseen units and rows in the counts."""
    event = sums_over_units(found, log_weights, unit, laws, derivatives, tolerance)
    masses, often = unit_masses(found, unit)
    total, share = responsibilities(masses, log_weights)
    # For each unit that is seen 1/P(event) are drawn, of which the seen one is not unseen.
    unseen = often * (np.exp(log_weights)[:, None] * np.exp(-total) - share)
    sizes = np.ones(len(total)) if unit is None else np.bincount(unit).astype(np.float64)
    gradient = bought.gradient - event.gradient if derivatives else bought.gradient
    return MixtureSums(
        bought.value - event.value, bought.units + unseen.sum(axis=1), bought.rows + unseen @ sizes, gradient,
        bought.information,
    )  # fmt: skip


def _differences(recorded: Recorded, log_weights: Array, laws: Array, unit: Indices | None, tolerance: float) -> Array:
    """Return minus the Hessian by central differences of gradients."""
    k, n = laws.shape

    def slope(step: Array) -> Array:
        weights = log_weights + step[:k]
        weights = weights - logsumexp(weights)
        sums = recorded_sums(recorded, weights, laws + step[k:].reshape(k, n), unit, 1, tolerance)
        return np.concatenate([sums.units - sums.units.sum() * np.exp(weights), sums.gradient.ravel()])

    steps = _DIFFERENCE * np.eye(k + k * n)
    matrix = np.array([slope(-step) - slope(step) for step in steps]) / (2 * _DIFFERENCE)
    return 0.5 * (matrix + matrix.T)
