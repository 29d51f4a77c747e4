"""Query design: half-spaces, sign estimators, information of laws and designs, savings, forecasts, time.

``python -m benchmarks.design halfspace signs …`` runs the parts named, all of them by default; ``full`` among the
arguments takes the sizes that the documentation quotes, otherwise a small version of each runs; ``n:kappa`` picks cells
of `cells`, `savings` and `forecast`, ``trials=N`` the trials of `savings`, ``seed=N`` the means of `forecast`.
"""

from __future__ import annotations

import sys
import time

import mpmath as mp
import numpy as np

import stochpref as sp
from stochpref.design.information import (
    angle_variance,
    draw_customers,
    forecast_angle,
    menu_moments,
    moments_of,
    possible_purchases,
    relative_information,
    reliable_observations,
)
from stochpref.likelihood import fit_maximum_likelihood
from stochpref.mass.masses import vmf_covariance
from stochpref.paper.dismantling import block_menus, learn_blocks, overlapping_blocks
from stochpref.paper.halfspace import halfspace_density, halfspace_inverse, halfspace_probability

FULL = "full" in sys.argv
LAWS = {"(i)": "uniform", "(ii)": "discrete", "(iii)": "fixed"}
QUICK = sp.DesignEffort(n_candidates=80, n_draws=128, n_rounds=1, n_generations=4)


def direction(n_goods: int, signs: str, seed: int) -> np.ndarray:
    mu = np.random.default_rng([seed, n_goods]).standard_normal(n_goods)
    mu = np.abs(mu) if signs == "positive" else mu
    return mu / np.linalg.norm(mu)


def angle(estimate: np.ndarray, truth: np.ndarray) -> float:
    if not np.isfinite(estimate).all():
        return float(np.pi / 2)
    return float(np.arccos(np.clip(estimate @ truth, -1, 1)))


def reference(m: float, n: int, kappa: float) -> mp.mpf:
    """P(u_i > 0) by mpmath's quadrature of eq. von_density, 30 digits."""
    m, kappa = mp.mpf(m), mp.mpf(kappa)
    phi, half = mp.acos(m), mp.mpf(n) / 2

    def z(k: int, x: mp.mpf) -> mp.mpf:
        return 2 * mp.pi ** (mp.mpf(k) / 2) / mp.gamma(mp.mpf(k) / 2) * mp.hyp0f1(mp.mpf(k) / 2, x * x / 4)

    total = (2 * mp.pi) ** half * mp.besseli(half - 1, kappa) / kappa ** (half - 1) if kappa > 0 else z(n, mp.mpf(0))

    def density(psi: mp.mpf) -> mp.mpf:
        tilt = mp.exp(kappa * mp.cos(phi) * mp.cos(psi))
        return mp.sin(psi) ** (n - 2) * tilt * z(n - 1, kappa * mp.sin(phi) * mp.sin(psi)) / total

    end, width = mp.pi / 2, 1 / mp.sqrt(max(kappa, n, 1))
    centre = min(max(phi, 0), end)
    cuts = {mp.mpf(0), end, *(min(max(centre + j * width, 0), end) for j in (-12, -8, -4, -2, -1, 0, 1, 2, 4, 8, 12))}
    cuts |= {max(end - j * width, 0) for j in (1, 2, 4, 8, 12, 20)}
    cuts |= {max(end - mp.mpf(j) / max(kappa, 1), 0) for j in (1, 5, 20, 50)}
    return mp.quad(density, sorted(cuts))


def halfspace() -> None:
    mp.mp.dps = 30
    goods = (2, 3, 10, 100, 1000) if FULL else (2, 10, 1000)
    kappas = (0, 0.01, 1, 30, 1000, 10_000) if FULL else (0, 1, 10_000)
    means = (-1, -0.99, -0.3, -0.01, 0, 0.02, 0.5, 1) if FULL else (-0.3, 0.02, 1)
    worst = max(
        abs(float(halfspace_probability(m, n, k)) - reference(m, n, k)) for n in goods for k in kappas for m in means
    )
    print(f"half-space against mpmath, {len(goods) * len(kappas) * len(means)} cases: worst error {mp.nstr(worst, 2)}")
    largest, flattest = 0.0, np.inf
    m = np.linspace(-1, 1, 41)[1:-1]
    for n in goods:
        for k in (0.01, 1, 30, 1000, 10_000):
            p = halfspace_probability(m, n, k)
            is_seen = np.minimum(p, 1 - p) > 1e-6
            largest = max(largest, float(np.abs(halfspace_inverse(p, n, k) - m)[is_seen].max()))
            flattest = min(flattest, float(halfspace_density(m, n, k)[is_seen].min()))
    print(
        f"  inverse where 1e-6 < P < 1 - 1e-6: worst round trip {largest:.1e} (target 1e-8); least slope {flattest:.1e}"
    )


def signs() -> None:
    n_trials = 500 if FULL else 100
    mu, kappa = np.array([0.5, -0.4, 0.3, 0.6, -0.2]) / np.linalg.norm([0.5, -0.4, 0.3, 0.6, -0.2]), 4.0
    law, rng = sp.VonMisesFisher(mu, kappa), np.random.default_rng(0)
    print(f"estimates from signs, n = 5, kappa = 4, {n_trials} simulations, z-scores of bias and of standard error:")
    for name, lowest, size in (("case 1", None, 400), ("case 2, b >= 1.6", 1.6, 1200), ("case 2, b >= 3.2", 3.2, 800)):
        for known in (kappa, None):
            estimates, errors, biases = [], [], []
            for _ in range(n_trials):
                budgets = None if lowest is None else rng.uniform(lowest, lowest + 2, size)
                menus = sp.sign_menus(5, size, lowest_budget=lowest, budgets=budgets)
                found = sp.estimate_from_signs(sp.simulate(law, menus, size, rng=rng), known)
                estimates.append(found.mean_direction)
                errors.append(found.standard_errors)
                biases.append(found.bias)
            e = np.array(estimates)
            spread = e.std(axis=0, ddof=1)
            stated = np.sqrt(np.mean(np.square(errors), axis=0))
            z_error = (spread / stated - 1) * np.sqrt(2 * n_trials)
            bias = np.zeros(5) if known is None else np.mean(biases, axis=0)
            z_bias = (e.mean(axis=0) - mu - bias) / (spread / np.sqrt(n_trials))
            print(
                f"  {name:<17} T = {size:>4}  kappa {'known' if known else 'estimated':<9}  largest |z| of bias "
                f"{np.abs(z_bias).max():.1f}, of standard error {np.abs(z_error).max():.1f} (target 4); mean error "
                f"{np.sqrt(np.mean(np.square(e - mu))):.4f} against {np.sqrt(np.mean(stated**2)):.4f} stated"
            )
    sizes, rms = (100, 400, 1600, 6400), []
    for size in sizes:
        runs = [
            sp.estimate_from_signs(sp.simulate(law, sp.sign_menus(5, size), size, rng=rng), kappa).mean_direction - mu
            for _ in range(60)
        ]
        rms.append(float(np.sqrt(np.mean(np.sum(np.square(runs), axis=1)))))
    print(f"  case 1, root mean square distance at T = {sizes}: {', '.join(f'{x:.4f}' for x in rms)}")
    print(f"  exponent in T {np.polyfit(np.log(sizes), np.log(rms), 1)[0]:.3f} (consistent: -0.5)")


def relative() -> None:
    n_menus, n_draws, n_means = (100, 400, 8) if FULL else (30, 150, 2)
    print(f"information relative to observing utilities (trace, tangent space), kappa = 5, {n_means} random means:")
    for n in (10, 25):
        shares: dict[str, list[float]] = {"(i)": [], "(ii)": [], "(iii)": [], "all at price 1": []}
        for seed in range(n_means):
            h, rng = 5.0 * direction(n, "mixed", seed), np.random.default_rng(seed)
            customers = draw_customers(h, n_draws, rng)
            for name, values in shares.items():
                menus = sp.MenuLaw(LAWS[name]).sample(n_menus, n, rng=rng) if name in LAWS else sp.sign_menus(n, 1)
                table = customers if name in LAWS else draw_customers(h, 20 * n_draws, rng)
                values.append(relative_information(menu_moments(menus, h, table).information.mean(axis=0), h))
        text = "   ".join(f"{k} {np.mean(v):.3f} ± {np.std(v) / np.sqrt(len(v)):.3f}" for k, v in shares.items())
        print(f"  n = {n:>2}   {text}   (2/pi = {2 / np.pi:.3f})")


def score(menus: sp.Menus, h: np.ndarray, customers: np.ndarray) -> tuple[float, float, float]:
    """Squared angle of one observation, -log det / n, and relative information."""
    return grade(menu_moments(menus, h, customers).information.mean(axis=0), h, np.eye(len(h)))


def grade(information: np.ndarray, h: np.ndarray, basis: np.ndarray) -> tuple[float, float, float]:
    """Return the scores of an information, along the columns of a basis of what can be learnt; inf if singular."""
    kappa = float(np.linalg.norm(h))
    inner = basis.T @ information @ basis
    across = basis.T @ (np.eye(len(h)) - np.outer(h, h) / kappa**2) @ basis
    values, vectors = np.linalg.eigh(inner)
    if values[0] <= 1e-12 * values[-1]:  # rounding would decide, even the sign
        return np.inf, np.inf, relative_information(information, h)
    variance = float(np.sum(np.diag(vectors.T @ across @ vectors) / values)) / kappa**2
    return variance, -float(np.mean(np.log(values))), relative_information(information, h)


def learnable(tables: list[np.ndarray], h: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the directions along which some design tells a thousandth of what it could."""
    values, vectors = np.linalg.eigh(vmf_covariance(h))
    white = vectors / np.sqrt(values)
    kept = []
    for information in tables:
        shares, axes = np.linalg.eigh(white.T @ information @ white)
        kept.append((vectors * np.sqrt(values)) @ axes[:, shares > 1e-3])
    left, sizes, _ = np.linalg.svd(np.hstack(kept), full_matrices=False)
    return left[:, sizes > 1e-3 * sizes[0]]


def named_cells() -> list[tuple[int, float]]:
    """Return the cells given on the command line as n:kappa."""
    return [(int(text.split(":")[0]), float(text.split(":")[1])) for text in sys.argv if ":" in text]


def cells() -> None:
    goods, kappas = ((3, 5, 10, 25), (2.0, 5.0, 10.0, 50.0)) if FULL else ((3, 5), (5.0, 50.0))
    grid = named_cells() or [(n, kappa) for n in goods for kappa in kappas]
    print("designs against laws (i)-(iii) and all at price 1; one mean a cell, seed 3; judged by fresh customers:")
    print("  angle^2 T of the a-optimal design over the best of the four; gain in log det / n of the d-optimal one")
    ratios, gains = [], []
    for kind in ("mixed", "positive"):
        for n, kappa in grid:
            h, rng = kappa * direction(n, kind, 3), np.random.default_rng(3)
            customers = draw_customers(h, 400 if n < 10 else 800, rng)
            rivals = {name: sp.MenuLaw(law).sample(60, n, rng=rng) for name, law in LAWS.items()}
            rivals["price 1"] = sp.sign_menus(n, 1)
            ours = {
                c: sp.optimal_menus(n, 50, rng=rng, mean_direction=h / kappa, concentration=kappa, criterion=c)
                for c in ("a", "d")
            }
            menus = {**rivals, "a-optimal": ours["a"].menus, "d-optimal": ours["d"].menus}
            tables = {name: menu_moments(m, h, customers).information.mean(axis=0) for name, m in menus.items()}
            basis = learnable(list(tables.values()), h)
            scores = {name: grade(table, h, basis) for name, table in tables.items()}
            by_a, by_d = scores.pop("a-optimal"), scores.pop("d-optimal")
            best_a = min(scores, key=lambda k, s=scores: s[k][0])
            best_d = min(scores, key=lambda k, s=scores: s[k][1])
            gain = scores[best_d][1] - by_d[1]
            ratios.append(by_a[0] / scores[best_a][0])
            gains.append(gain)
            print(
                f"  {kind:<8} n = {n:>2} kappa = {kappa:>2g}   {by_a[0]:8.3f} / {scores[best_a][0]:8.3f} "
                f"{best_a:<8} = {ratios[-1]:.3f}   log det {gain:+.3f} over {best_d:<8} "
                f"trace {by_a[2]:.3f} / {max(s[2] for s in scores.values()):.3f}   "
                f"bound {ours['a'].efficiency_bound:.3f}"
                + (f"   {n - basis.shape[1]} directions open" if basis.shape[1] < n else ""),
                flush=True,
            )
    print(
        f"  at least as good as the best of the four: a-optimal in {np.sum(np.array(ratios) <= 1)} of {len(ratios)} "
        f"cells (worst ratio {max(ratios):.4f}), d-optimal in {np.sum(np.array(gains) >= 0)} (worst gain "
        f"{min(gains):+.4f})"
    )


def savings() -> None:
    stated = [int(text.removeprefix("trials=")) for text in sys.argv if text.startswith("trials=")]
    n_trials = stated[0] if stated else 20 if FULL else 4
    grid = named_cells() or ([(n, k) for n in (3, 5, 10, 25) for k in (10.0, 50.0)] if FULL else [(5, 10.0)])
    print(f"all-positive means, {n_trials} paired trials: angle of T by a law, 0.7 T by designs; ratio at equal error")
    for n, kappa in grid:
        errors: dict[str, list[float]] = {"law": [], "optimal": [], "sequential": []}
        for seed in range(n_trials):
            mu = direction(n, "positive", 100 + seed)
            h, rng = kappa * mu, np.random.default_rng([seed, n])
            customers = draw_customers(h, 200, rng)
            tables = {name: sp.MenuLaw(law).sample(40, n, rng=rng) for name, law in LAWS.items()}
            variances = {name: score(menus, h, customers)[0] for name, menus in tables.items()}
            best = min(variances, key=variances.get)
            size = int(np.clip(variances[best] / np.tan(0.12 if n < 25 else 0.2) ** 2, 60, 1500))
            fewer = int(np.ceil(0.7 * size))
            law = sp.VonMisesFisher(mu, kappa)
            bought = sp.simulate(law, sp.MenuLaw(LAWS[best]), size, rng=rng)
            errors["law"].append(angle(fit_maximum_likelihood(bought).mean_direction, mu))
            batch = sp.optimal_menus(
                n, 50, rng=rng, mean_direction=mu, concentration=kappa, criterion="a", effort=QUICK
            ).menus
            bought = sp.simulate(law, batch[np.arange(fewer) % 50], fewer, rng=rng)
            errors["optimal"].append(angle(fit_maximum_likelihood(bought).mean_direction, mu))
            answers = np.random.default_rng([seed, n, 1])
            parts = [fewer // 6, fewer // 3, fewer - fewer // 6 - fewer // 3]
            learnt = sp.learn_sequentially(
                lambda menus, law=law, answers=answers: sp.simulate(law, menus, len(menus), rng=answers),
                n, batch_sizes=parts, rng=rng, criterion="a", effort=QUICK, concentration=10.0,
            )  # fmt: skip
            errors["sequential"].append(angle(learnt.fit.mean_direction, mu))
        rms = {name: float(np.sqrt(np.mean(np.square(values)))) for name, values in errors.items()}
        squares = {name: np.square(values) for name, values in errors.items()}
        text = []
        for name in ("optimal", "sequential"):
            ratio = 0.7 * squares[name].mean() / squares["law"].mean()
            pieces = [
                0.7 * np.delete(squares[name], k).mean() / np.delete(squares["law"], k).mean() for k in range(n_trials)
            ]
            error = np.sqrt((n_trials - 1) * np.var(pieces))
            text.append(f"{name} {rms[name]:.4f} (ratio {ratio:.2f} ± {error:.2f})")
        print(f"  n = {n:>2} kappa = {kappa:>2g}   law {rms['law']:.4f}   {'   '.join(text)}   target 0.70", flush=True)


def optimum() -> None:
    """Search long for a better menu where two thirds are out of reach: sensitivities above 1 would show one."""
    grid = ((10, 10.0), (25, 10.0)) if FULL else ((5, 10.0),)
    print("how good the best design can be, all-positive mean, seed 100: long search, a-optimality:")
    for n, kappa in grid:
        mu = direction(n, "positive", 100)
        h, rng = kappa * mu, np.random.default_rng(0)
        customers = draw_customers(h, 800, rng)
        laws = min(score(sp.MenuLaw(law).sample(60, n, rng=rng), h, customers)[0] for law in LAWS.values())
        effort = sp.DesignEffort(n_candidates=300, n_draws=384, n_rounds=5, n_generations=10, n_starts=8)
        found = sp.optimal_menus(n, 50, rng=rng, mean_direction=mu, concentration=kappa, criterion="a", effort=effort)
        ours = score(found.menus, h, customers)[0]
        seen = angle_variance(vmf_covariance(h), h)
        print(
            f"  n = {n} kappa = {kappa:g}: angle^2 T {ours:.3f}, best law {laws:.3f}, ratio {ours / laws:.3f}; "
            f"at least {found.efficiency_bound:.3f} of any mixture of {found.n_judged} menus, the best of "
            f"{found.n_tried} tried; one bit a good would give "
            f"{seen * np.pi / 2:.3f}, ratio {seen * np.pi / 2 / laws:.3f}"
        )


def forecast() -> None:
    n_trials = 200 if FULL else 40
    stated = [int(text.removeprefix("seed=")) for text in sys.argv if text.startswith("seed=")]
    seed = stated[0] if stated else 11  # the constants of the rule were chosen at seeds 5, 23 and 31
    print(
        f"forecast against realised root mean square angle, {n_trials} trials; T from the forecast wanted, if reliable:"
    )
    grid = ((3, 5.0, "mixed"), (3, 50.0, "positive"), (5, 10.0, "positive"), (10, 5.0, "mixed"), (10, 50.0, "positive"))
    cells = named_cells() or [cell[:2] for cell in (grid if FULL else grid[2:4])]
    for n, kappa, kind in [cell for cell in grid if cell[:2] in cells]:
        mu = direction(n, kind, seed)
        h, rng = kappa * mu, np.random.default_rng([seed, n])
        law, customers = sp.VonMisesFisher(mu, kappa), draw_customers(h, 600, rng)
        design = sp.optimal_menus(n, 50, rng=rng, mean_direction=mu, concentration=kappa, criterion="a")
        pools = {"(i)": sp.MenuLaw("uniform").sample(80, n, rng=rng), "price 1": sp.sign_menus(n, 1)}
        for name, pool in {**pools, "a-optimal": design.menus}.items():
            purchases = possible_purchases(pool, h, customers)
            variance = angle_variance(moments_of(purchases, len(pool)).information.mean(axis=0), h)
            least = reliable_observations(purchases, h)
            sizes = {float(np.ceil(max(least, variance / np.tan(wanted) ** 2))) for wanted in (0.38, 0.15)}
            if min(sizes) > 800:
                print(f"  {kind:<8} n = {n:>2} kappa = {kappa:>2g} {name:<9} T = {min(sizes):,.0f} or more: left out")
            for size in sorted(int(s) for s in sizes if s <= 800):
                errors = []
                for _ in range(n_trials):
                    menus = pool[rng.integers(len(pool), size=size)]
                    fit = fit_maximum_likelihood(sp.simulate(law, menus, size, rng=rng))
                    errors.append(angle(fit.mean_direction, mu) ** 2)
                said, was = forecast_angle(variance, size), float(np.sqrt(np.mean(errors)))
                noise = np.std(errors) / np.sqrt(n_trials) / (2 * was)
                print(
                    f"  {kind:<8} n = {n:>2} kappa = {kappa:>2g} {name:<9} T = {size:>3} (reliable from {least:4.0f})  "
                    f"forecast {said:.4f}   realised {was:.4f} ± {noise:.4f}   ratio {was / said:.3f} (0.85 to 1.15)",
                    flush=True,
                )


def speed() -> None:
    print("designing 50 menus for n = 25, seed 0 (a core's seconds over two are what two free cores would take):")
    for kappa, kind, given in ((5.0, "mixed", True), (50.0, "positive", True), (5.0, "mixed", False)):
        start, busy = time.perf_counter(), time.process_time()
        mean = direction(25, kind, 0) if given else None
        sp.optimal_menus(25, 50, rng=np.random.default_rng(0), concentration=kappa, mean_direction=mean)
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        known = "direction given" if given else "averaged over directions"
        print(
            f"  kappa = {kappa:>2g} {kind:<8} {known:<24} {seconds:5.1f} s (target 30), {busy:5.1f} s of a core",
            flush=True,
        )


def dismantling() -> None:
    n_trials, size = (20, 1200) if FULL else (4, 600)
    print(
        f"blocks against all goods at once, n = 12, kappa = 5, {size} queries, {n_trials} paired trials, angle error:"
    )
    for width in (3, 4, 6):
        errors = []
        for seed in range(n_trials):
            mu, rng = direction(12, "mixed", seed), np.random.default_rng([seed, 12])
            law, blocks = sp.VonMisesFisher(mu, 5.0), overlapping_blocks(12, width)
            menus = block_menus(12, blocks, sp.MenuLaw("uniform"), size, rng=rng)
            learnt = learn_blocks(sp.simulate(law, menus, size, rng=rng), blocks)
            whole = fit_maximum_likelihood(sp.simulate(law, sp.MenuLaw("uniform"), size, rng=rng))
            found = (learnt.stitched, learnt.joint.mean_direction, whole.mean_direction)
            errors.append([angle(estimate, mu) ** 2 for estimate in found])
        stitched, joint, whole = np.sqrt(np.mean(errors, axis=0))
        print(
            f"  blocks of {width} ({len(blocks)}): stitched {stitched:.3f}   joined by the likelihood {joint:.3f}   "
            f"all at once {whole:.3f}   queries for equal error {joint**2 / whole**2:.2f} times",
            flush=True,
        )


def bisection() -> None:
    print(
        "one customer, ratios to the best good: menus used, limit of one good at a time; utilities U(-0.3, 1), seed 0:"
    )
    for n in (5, 20, 100):
        for accuracy in (1e-2, 1e-4, 1e-6):
            u = np.random.default_rng([0, n]).uniform(-0.3, 1, n)
            found = sp.bisect_utility(lambda m, u=u: sp.choose(u, m.prices, m.budgets), n, accuracy=accuracy)
            worst = float(np.nanmax(np.abs(found.ratios - u / u.max())))
            print(
                f"  n = {n:>3} eps = {accuracy:.0e}   {found.n_queries:>5} menus   limit {found.query_limit:>5}   "
                f"worst error {worst:.1e}"
            )


def example() -> None:
    """Plan, simulate, fit, compare with random menus: the worked example of docs/design.md."""
    rng = np.random.default_rng(0)
    mu, kappa = np.array([0.7, 0.5, 0.4, 0.25, 0.2]), 20.0
    mu /= np.linalg.norm(mu)
    law = sp.VonMisesFisher(mu, kappa)
    pilot = fit_maximum_likelihood(sp.simulate(law, sp.MenuLaw("uniform"), 60, rng=rng))
    design = sp.optimal_menus(
        5, 50, rng=rng, mean_direction=pilot.mean_direction, concentration=pilot.concentration, criterion="a",
        limits=sp.MenuLimits(budget=2.0, price_step=0.05),
    )  # fmt: skip
    print(design)
    print(sp.check_menus(design.menus, pilot.mean_direction, pilot.concentration, rng=rng))
    errors = []
    for _ in range(40):
        ours = sp.simulate(law, design.menus[np.arange(200) % 50], 200, rng=rng)
        random = sp.simulate(law, sp.MenuLaw("uniform"), 200, rng=rng)
        errors.append([angle(fit_maximum_likelihood(data).mean_direction, mu) ** 2 for data in (ours, random)])
    ours, random = np.sqrt(np.mean(errors, axis=0))
    print(f"angle error of 200 purchases, 40 trials: designed {ours:.4f}, random menus (i) {random:.4f}")


PARTS = {
    part.__name__: part
    for part in (halfspace, signs, relative, cells, savings, optimum, forecast, speed, dismantling, bisection, example)
}


def main() -> None:
    for name in [name for name in sys.argv[1:] if name in PARTS] or list(PARTS):
        PARTS[name]()


if __name__ == "__main__":
    main()
