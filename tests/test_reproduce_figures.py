"""Transport distances, what figures 1 and 2 compute, and that they are drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.paper.reproduce import drawing, figure1, figure2
from stochpref.paper.reproduce import guarantees as exhibit
from stochpref.paper.reproduce.transport import wasserstein


def test_transport_agrees_with_assignment_and_with_the_line(rng):
    left, right = rng.standard_normal((2, 12, 3))
    cost = cdist(left, right)
    best = cost[linear_sum_assignment(cost)].mean()
    points = np.vstack([left, right])
    p, q = np.repeat([[1 / 12, 0.0], [0.0, 1 / 12]], 12, axis=1)
    assert wasserstein(points, p, q) == pytest.approx(best, abs=1e-9)
    squared = (cost**2)[linear_sum_assignment(cost**2)].mean()
    assert wasserstein(points, p, q, order=2) == pytest.approx(np.sqrt(squared), abs=1e-9)
    line, p, q = rng.standard_normal(30), *rng.dirichlet(np.ones(30), 2)
    assert wasserstein(line[:, None], p, q) == pytest.approx(wasserstein_distance(line, line, p, q), abs=1e-9)
    assert wasserstein(line[:, None], p, p) == 0.0


def test_figure_1_shows_an_empty_intersection_and_a_posterior():
    grid = figure1.circle_grid(24)[:10]
    panel = figure1.compute(2, grid, rng=np.random.default_rng(0))
    assert panel.n_explained < len(panel.regions)  # no direction explains everyone
    assert panel.regions.contains(panel.best).sum() == panel.n_explained
    assert panel.density.mean() == pytest.approx(1.0)
    # Slow twin at one direction: plain average of the likelihood over κ, from independent sums.
    kappas = 1 + 9 * (np.arange(20) + 0.5) / 20
    values = [np.mean([np.exp(sp.log_mass(panel.regions, grid[k], kappa).sum()) for kappa in kappas]) for k in (2, 4)]
    assert panel.density[2] / panel.density[4] == pytest.approx(values[0] / values[1], rel=0.05)


def test_sphere_grid_has_equal_areas():
    grid = figure1.sphere_grid(2000)
    np.testing.assert_allclose(np.linalg.norm(grid, axis=1), 1.0)
    np.testing.assert_allclose(grid.T @ grid / 2000, np.eye(3) / 3, atol=2e-3)


@pytest.fixture(scope="module")
def small_figure_2():
    return figure2.run(1, n_menus=3, n_each=3)


def test_figure_2_brackets_the_distance(small_figure_2):
    for one in small_figure_2:
        assert np.all(one.below <= one.above + 1e-9)
        assert np.all(one.below > 0)
        assert one.estimate[1] <= one.estimate[0]
        assert one.sampled_baseline > 0.05  # between samples of one and the same law
    numbers = figure2.as_dict(small_figure_2, 1)
    assert "L_at_least" not in numbers["laws"][0]  # the least of a few parameters bounds an infimum from above only
    assert "L at least" not in figure2.as_text(numbers)
    assert small_figure_2[2].error == (0.0, 0.0)
    assert small_figure_2[0].error[0] > 0


def test_purchases_of_a_menu_have_probability_one(rng):
    market = figure2.all_purchases("discrete", 4, rng=rng)
    mu = sp.laws.uniform_directions(1, 5, rng=rng)[0]
    mass = np.exp(sp.log_mass(market.regions, mu, 3.0))
    np.testing.assert_allclose(np.bincount(market.menu, mass), 1.0, rtol=1e-7)


def test_figures_are_drawn(small_figure_2, monkeypatch, tmp_path):
    # Few directions, none that regions turn away from: those masses are dear.
    monkeypatch.setattr(figure1, "circle_grid", lambda size=24: _near(_circle(size), 2, size))
    monkeypatch.setattr(figure1, "sphere_grid", lambda size=90: _near(_sphere(size), 3, size))
    monkeypatch.setattr(figure2, "run", lambda *_args, **_kwargs: small_figure_2)
    for name in ("figure1", "figure2"):
        shown = CliRunner().invoke(cli.app, ["reproduce", name, "--out", str(tmp_path), "--seed", "1", "--json"])
        assert shown.exit_code == 0, shown.output
        assert json.loads(shown.stdout)["seed"] == 1
        assert f"{name}.png and .svg (seed 1" in shown.stderr
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / f"{name}.svg").read_bytes()
    first = (tmp_path / "figure2.svg").read_bytes()
    drawing.save(figure2.draw(small_figure_2), tmp_path, "figure2")
    assert (tmp_path / "figure2.svg").read_bytes() == first


_circle, _sphere = figure1.circle_grid, figure1.sphere_grid


def _near(grid, n, size):
    return grid if size > 100 else grid[grid @ figure1.DIRECTIONS[n] > 0.3]


def test_guarantees_command(monkeypatch, tmp_path):
    report = exhibit.Report(
        seed=5,
        separation=0.02,
        checks=(exhibit._compare("Theorem 1", 100, 70.0, 0.9, 0.2, "√n·TV"),),
        first_informative=(exhibit.informative_sizes(2),),
    )
    monkeypatch.setattr(exhibit, "run", lambda seed: report._replace(seed=seed))
    shown = CliRunner().invoke(cli.app, ["reproduce", "guarantees", "--seed", "6", "--out", str(tmp_path)])
    assert shown.exit_code == 0
    assert "seed 6" in shown.stdout
    assert "yes/yes" in shown.stdout
    written = json.loads((tmp_path / "guarantees.json").read_text(encoding="utf-8"))
    assert written["checks"][0]["corrected"] == 0.9
    assert 30 < written["first_informative"][0]["Theorem 1, corrected"] < 60
