"""Draw the figures of the documentation: ``python docs/figures.py docs/_generated``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import wofz

import stochpref as sp
from stochpref.mass.contour import _gauss_rules
from stochpref.paper.reproduce.second_limit import gain_of_a_limit

mpl.use("Agg")


def log_phi(z: np.ndarray) -> np.ndarray:
    """Log of the normal distribution function at complex points, by SciPy's Faddeeva function."""
    left = z.real <= 0
    half = wofz(1j * np.where(left, -z, z) / np.sqrt(2)) / 2
    return np.where(left, -z * z / 2 + np.log(half), np.log1p(-np.exp(-z * z / 2) * half))


def orthant(h: np.ndarray, side: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Log of exp(|h|²q²/2) times the Gaussian mass of a slack region at h q."""
    return log_phi(side * h * q[:, None]).sum(axis=1) + (h @ h) * q**2 / 2


def saddle(h: np.ndarray, side: np.ndarray) -> float:
    p = np.linspace(0.6, 40, 4000)
    q = 1 / (np.sqrt(2) * p)
    size = p**2 + (1 - len(h)) * np.log(p) + orthant(h, side, q + 0j).real
    return float(p[np.argmin(size)])


def by_contour(h: np.ndarray, side: np.ndarray, p0: float, n_nodes: int, reach: float = 4.0) -> float:
    eta = np.arange(n_nodes) * reach / n_nodes
    p = p0 + 1j * eta
    terms = np.exp(p**2 + (1 - len(h)) * np.log(p) + orthant(h, side, 1 / (np.sqrt(2) * p)) - p0**2)
    return float((terms.sum() - terms[0] / 2).real * reach / n_nodes)


def by_rule(h: np.ndarray, side: np.ndarray, p0: float, degree: int) -> tuple[float, int]:
    rule = _gauss_rules(len(h), degree, p0, p0 + 0.05)
    count = int(rule.n_nodes[0])
    q = (rule.node_re + 1j * rule.node_im)[0, :count]
    weight = (rule.log_weight_re + 1j * rule.log_weight_im)[0, :count]
    return float(np.exp(weight + orthant(h, side, q) - p0**2).sum().real), count


def nodes_figure(axis: plt.Axes) -> None:
    rng = np.random.default_rng(4)
    cases = ((3, 10.0, "near"), (25, 5.0, "near"), (10, 60.0, "far"))
    for (n, kappa, where), marker in zip(cases, "os^", strict=True):
        h = rng.standard_normal(n)
        h *= kappa / np.linalg.norm(h)
        side = np.sign(h)
        if where == "far":
            side[rng.permutation(n)[: n // 2]] *= -1
        p0 = saddle(h, side)
        truth = by_contour(h, side, p0, 600, reach=6.0)
        own = [by_rule(h, side, p0, degree) for degree in (2, 4, 6, 8, 10, 12)]
        plain_p0 = float(np.sqrt((n + np.sqrt(n**2 + 4 * kappa**2)) / 4))
        plain = [by_rule(h, side, plain_p0, degree) for degree in (2, 4, 6, 8, 10, 12)]
        scale = np.exp(plain_p0**2 - p0**2)
        label = f"n = {n}, κ = {kappa:g}, {where}"
        axis.semilogy(
            [c for _, c in own],
            [abs(v / truth - 1) + 1e-16 for v, _ in own],
            "k-" + marker,
            label=f"Gauss, own saddle: {label}",
        )
        axis.semilogy(
            [c for _, c in plain],
            [abs(v * scale / truth - 1) + 1e-16 for v, _ in plain],
            "--" + marker, color="0.6", label=f"Gauss, shared: {label}",
        )  # fmt: skip
        if where == "near" and n == 25:
            counts = (2, 3, 4, 6, 8, 10, 12, 14)
            axis.semilogy(
                counts,
                [abs(by_contour(h, side, p0, c) / truth - 1) + 1e-16 for c in counts],
                ":", color="0.3", lw=2, label=f"contour: {label}",
            )  # fmt: skip
    axis.set(xlabel="complex evaluations of the Gaussian mass", ylabel="relative error", ylim=(1e-16, 10))
    axis.legend(fontsize=6.5, loc="upper right", frameon=False)


def time_figure(axis: plt.Axes) -> None:
    rng = np.random.default_rng(5)
    mu = rng.standard_normal(10)
    mu /= np.linalg.norm(mu)
    law = sp.VonMisesFisher(mu, 3.0)
    regions = sp.Regions.of(sp.simulate(law, sp.MenuLaw("uniform"), 40, rng=rng))
    truth = sp.log_mass(regions, law, tolerance=1e-12)
    for method, style, draws in (("monte_carlo", "s", (100, 1000, 10_000)), ("cloud", "o", (1000, 10_000, 100_000))):
        points = []
        for n_draws in draws:
            start = time.perf_counter()
            value = sp.log_mass(regions, law, method=method, n_draws=n_draws, rng=rng)
            seconds = (time.perf_counter() - start) / len(regions)
            error = np.where(np.isfinite(value), np.abs(np.expm1(value - truth)), 1.0)
            points.append((seconds, np.sqrt(np.mean(error**2))))
        name = "separation of variables" if method == "monte_carlo" else "the paper's cloud"
        axis.loglog(*zip(*points, strict=True), "-" + style, color="0.5" if method == "cloud" else "0.25", label=name)
    sp.log_mass(regions, law)
    start = time.perf_counter()
    value = sp.log_mass(regions, law)
    seconds = (time.perf_counter() - start) / len(regions)
    axis.loglog([seconds], [np.abs(np.expm1(value - truth)).max()], "k*", ms=14, label="exact")
    axis.set(
        xlabel="seconds an observation", ylabel="relative error (root mean square)", title="n = 10, κ = 3, law (i)"
    )
    axis.legend(fontsize=8, frameon=False)


def second_limit_figure(axes: np.ndarray) -> None:
    for axis, (budget, room) in zip(axes, ((0.8, 0.5), (0.5, 0.5), (0.3, 0.3)), strict=True):
        for n, marker in ((3, "o"), (5, "s"), (8, "^")):
            found = [gain_of_a_limit(n, kappa, budget, room, 400, 0) for kappa in (3.0, 10.0, 30.0)]
            change, error = ([one.with_limit - one.without for one in found], [one.error for one in found])
            axis.errorbar((3, 10, 30), change, error, fmt="-" + marker, label=f"n = {n}", capsize=2)
        axis.axhline(0.0, color="0.6", lw=0.8)
        axis.set(xscale="log", xlabel="concentration κ", title=f"budget {budget:g}, room {room:g} of all goods")
    axes[0].set_ylabel("change of information, of 1 for the utility")
    axes[0].legend(fontsize=8, frameon=False)


def tidy(figure: plt.Figure, path: Path) -> None:
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.2)
    figure.savefig(path.with_suffix(".svg"))
    figure.savefig(path.with_suffix(".png"), dpi=130)


def main(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    nodes_figure(axes[0])
    time_figure(axes[1])
    tidy(figure, Path(folder) / "mass_error")
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharey=True)
    second_limit_figure(axes)
    tidy(figure, Path(folder) / "second_limit")


if __name__ == "__main__":
    main(sys.argv[1])
