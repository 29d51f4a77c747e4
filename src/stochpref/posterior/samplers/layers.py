# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The posterior of μ at a handful of concentrations, and a law to draw (μ, κ) from that follows it.

One menu, or a few, often leaves κ open: the posterior then has no mode inside its bounds and no Gaussian in h = κμ
resembles it, since directions narrow as κ grows. At each single κ it is tame. So it is cut into layers: for some κ the
mode of μ on the sphere and the curvature there, hence by Laplace's method the mass of the layer. In between, modes and
curvatures are interpolated, linearly in κ, and log-masses. Layers are put where the mass is.

Where customers are alike and regions meet in an edge, as all bundles of one menu do that spend the budget, the law of
√κ (μ - edge) hardly changes with κ: curvatures are then proportional to κ, and interpolation is exact.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from stochpref.posterior.target import Target

Array = NDArray[np.float64]

_TOLERANCE: Final = 1e-5  # of the masses; layers only guide proposals
_FIRST_LAYERS: Final = 9
_MOST_LAYERS: Final = 32
_LARGEST_SHARE: Final = 0.07  # of the mass between two layers; above it another one is put there
_TABLE: Final = 20  # points between two layers at which the density of κ is tabulated
_NEWTON_STEPS: Final = 12
_HALVINGS: Final = 6
_LOWEST: Final = -50.0  # log-density of a prior that is 0 at a mode: it need not be 0 all around


class Layer(NamedTuple):
    """The posterior of μ at one concentration.

    concentration : κ.
    mode : (n,) unit vector.
    precision : (n, n) of μ in the tangent plane; 0 along the mode.
    log_mass : log of the posterior density of κ, by Laplace's method, up to a constant.
    """

    concentration: float
    mode: Array
    precision: Array
    log_mass: float


class Layers(NamedTuple):
    """All layers, by concentration: (k,), (k, n), (k, n, n) and (k,), as in `Layer`."""

    concentration: Array
    mode: Array
    precision: Array
    log_mass: Array

    @classmethod
    def of(cls, layers: list[Layer]) -> Layers:
        """Return layers stacked by concentration."""
        ordered = sorted(layers, key=lambda layer: layer.concentration)
        return cls(*(np.array(values) for values in zip(*ordered, strict=True)))

    def at(self, concentration: float) -> tuple[Array, Array]:
        """Return the mode (n,) and the precision (n, n) at a concentration, the latter with 1 along the mode."""
        above = int(np.searchsorted(self.concentration, concentration))
        j = min(max(above, 1), len(self.concentration) - 1)
        low, high = self.concentration[j - 1 : j + 1]
        share = float(np.clip((concentration - low) / (high - low), 0.0, 1.0))
        mode = (1 - share) * self.mode[j - 1] + share * self.mode[j]
        mode /= np.linalg.norm(mode)
        precision = (1 - share) * self.precision[j - 1] + share * self.precision[j]
        return mode, _on_tangent(precision, mode) + np.outer(mode, mode)


def _on_tangent(matrix: Array, mode: Array) -> Array:
    """Return P M P with P the projection across the mode."""
    half = matrix - np.outer(matrix @ mode, mode)
    return np.asarray(half - np.outer(mode, mode @ half), np.float64)


def find_layers(target: Target) -> Layers:
    """Return layers evenly spread in √κ, and more of them where the posterior has its mass: some 100 evaluations."""
    prior, store = target.prior, target.store
    mode = np.eye(store.n_goods)[0]
    if len(store):
        slope = store.sums(np.zeros(store.n_goods), tolerance=_TOLERANCE).gradient  # towards the mean utility
        length = float(np.linalg.norm(slope))
        mode = slope / length if length > 0 else mode
    layers: list[Layer] = []
    lowest = max(prior.lower, 1e-6 * prior.upper)
    for root in np.linspace(np.sqrt(lowest), np.sqrt(prior.upper), _FIRST_LAYERS):
        kappa = float(np.clip(root**2, lowest, prior.upper))  # rounding must not lead outside
        layers.append(_find_layer(target, kappa, mode))
        mode = layers[-1].mode
    while len(layers) < _MOST_LAYERS:
        stacked = Layers.of(layers)
        # Not the mass between layers but a bound on it: beside a peak a steep interval may hide more than it shows.
        density = np.exp(stacked.log_mass - stacked.log_mass.max())
        bounds = np.maximum(density[:-1], density[1:]) * np.diff(stacked.concentration)
        j = int(np.argmax(bounds))
        if bounds[j] < _LARGEST_SHARE * bounds.sum():
            break
        kappa = float(np.mean(np.sqrt(stacked.concentration[j : j + 2])) ** 2)
        layers.append(_find_layer(target, kappa, stacked.at(kappa)[0]))
    return Layers.of(layers)


class Table(NamedTuple):
    """The approximate density of κ: exponential between the points of a table.

    concentration, log_density : (m,), the latter up to a constant.
    share : (m - 1,) of the mass between neighbouring points.
    """

    concentration: Array
    log_density: Array
    share: Array


def tabulate(layers: Layers) -> Table:
    """Return the density of κ between layers, by monotone cubics in √κ: straight lines would cut off its peak."""
    roots = np.sqrt(layers.concentration)
    fine = np.interp(np.arange(_TABLE * (len(roots) - 1) + 1) / _TABLE, np.arange(len(roots)), roots)
    log_density = PchipInterpolator(roots, layers.log_mass)(fine)
    log_density -= log_density.max()
    density, gap = np.exp(log_density), np.diff(log_density)
    is_flat = np.abs(gap) < 1e-6
    mean = np.where(is_flat, density[1:], np.diff(density) / np.where(is_flat, 1.0, gap))
    mass = mean * np.diff(fine**2)
    return Table(fine**2, log_density, mass / mass.sum())


def _find_layer(target: Target, kappa: float, start: Array) -> Layer:
    """Return the layer at κ by Newton steps on the sphere, halved until they climb."""
    mode, value = start, _value(target, start, kappa)
    precision = np.empty((0, 0))
    for step in range(_NEWTON_STEPS + 1):
        slope, precision = _slope_and_precision(target, mode, kappa)
        if step == _NEWTON_STEPS:
            break
        move = np.linalg.solve(precision + np.outer(mode, mode), slope)
        if float(move @ slope) < 1e-3:  # in squared standard deviations
            break
        for halving in range(_HALVINGS):
            tried = mode + 0.5**halving * move
            tried /= np.linalg.norm(tried)
            found = _value(target, tried, kappa)
            if found > value:
                break
        else:
            break
        mode, value = tried, found
    log_determinant = np.linalg.slogdet(precision + np.outer(mode, mode))[1]
    return Layer(kappa, mode, precision, value - 0.5 * float(log_determinant))


def _value(target: Target, mode: Array, kappa: float) -> float:
    """Return the log-posterior with respect to dμ dκ, up to a constant; low but finite where the prior is 0."""
    value = max(float(target.prior.log_density(mode[None], np.array([kappa]))[0]), _LOWEST)
    if len(target.store) == 0:
        return value
    return value + target.store.sums(kappa * mode, derivatives=0, tolerance=_TOLERANCE).value


def _slope_and_precision(target: Target, mode: Array, kappa: float) -> tuple[Array, Array]:
    """Return gradient and minus Hessian of the log-likelihood in μ on the sphere, both in the tangent plane.

    No eigenvalue is below n, the precision of the uniform law: the sphere is no wider than that.
    """
    n = len(mode)
    slope, information = np.zeros(n), np.zeros((n, n))
    if len(target.store):
        slope = target.store.sums(kappa * mode, tolerance=_TOLERANCE).gradient
        information = target.store.sums(kappa * mode, derivatives=2, tolerance=_TOLERANCE).information
    # On a sphere the gradient along the mode, κ μ·g, bends every direction across it.
    hessian = _on_tangent(kappa**2 * information, mode) + kappa * float(slope @ mode) * (
        np.eye(n) - np.outer(mode, mode)
    )
    values, vectors = np.linalg.eigh(hessian - np.outer(mode, mode) * (1 + np.abs(hessian).sum()))
    precision = (vectors[:, 1:] * np.maximum(values[1:], n)) @ vectors[:, 1:].T  # the first is the mode itself
    return kappa * (slope - float(slope @ mode) * mode), precision
