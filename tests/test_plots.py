"""Every picture draws what it is given on the axis it is given, and returns that axis."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

import stochpref as sp
from stochpref import plots
from stochpref.demand import Elasticities

THREE = ("milk", "bread", "tea")


@pytest.fixture
def ax():
    return Figure(layout="constrained").add_subplot()


def draw(ax) -> str:
    stream = io.StringIO()
    ax.figure.savefig(stream, format="svg")
    return stream.getvalue()


def market(n: int, size: int = 9) -> sp.Regions:
    rng = np.random.default_rng(3)
    direction = np.arange(1.0, n + 1)
    law = sp.VonMisesFisher(direction / np.linalg.norm(direction), 4.0)
    return sp.Regions.of(sp.simulate(law, sp.MenuLaw("uniform"), size, rng=rng))


def ticks(ax) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("milk", "milk"),
        ("a" * 30, "a" * 21 + "…"),
        ("two\nlines", "two lines"),
        ("$x$", r"\$x\$"),
        (r"\$", r"\\$"),
        ("right\u202eleft", "right left"),
    ],
)
def test_names_are_one_short_line(name, shown):
    assert plots.label(name) == shown


@pytest.mark.parametrize("name", ["$\\frac{1}{2$", "$x$ $", r"\$ $", "100 %", "$" * 40, "{}_^"])
def test_no_name_is_read_as_a_formula(ax, name):
    assert plots.intervals([name], [1.0], None, None, ax) is ax
    drawn = draw(ax)
    assert "mathdefault" not in drawn
    assert ax.get_yticklabels()[0]._preprocess_math(ticks(ax)[0]) == (
        name[:21] + "…" if len(name) > 22 else name,
        False,
    )


def test_intervals(ax):
    assert plots.intervals(THREE, [0.5, 0.1, -0.2], [0.4, 0.0, -0.3], [0.6, 0.2, -0.1], ax, xlabel="utility") is ax
    assert ticks(ax) == list(THREE)
    assert ax.get_xlabel() == "utility"
    segments = ax.collections[0].get_segments()
    np.testing.assert_allclose([one[:, 0] for one in segments], [[0.4, 0.6], [0.0, 0.2], [-0.3, -0.1]])
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first name on top


@pytest.mark.parametrize("n", [2, 3, 40])
def test_alikeness_is_a_density_whose_mode_moves_in_with_concentration(ax, n):
    modes = []
    for kappa in (0.0, 2.0, 50.0):
        density = plots._angle_density(n, kappa, np.linspace(0, 180, 361))
        assert density.sum() == pytest.approx(1.0)
        modes.append(int(np.argmax(density)))
    assert modes[0] >= modes[1] >= modes[2]
    assert plots.alikeness(n, np.array([[2.0, 3.0], [2.5, 2.7]]), ax) is ax


def test_ranks_of_agreeing_and_of_disagreeing_chains(ax):
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4, 200))
    assert plots.ranks(draws, ax, name="κ") is ax
    counts = np.array([patch.get_data().values for patch in ax.patches if hasattr(patch, "get_data")])
    assert counts.shape == (4, 10)
    np.testing.assert_array_equal(counts.sum(axis=1), 200)
    np.testing.assert_array_equal(counts.sum(axis=0), 80)
    other = Figure().add_subplot()
    plots.ranks(np.concatenate([draws[:3], draws[3:] + 9.0]), other)
    lone = [patch.get_data().values for patch in other.patches if hasattr(patch, "get_data")][3]
    assert lone[:7].sum() == 0


def test_ranks_of_a_single_draw(ax):
    assert plots.ranks([[1.0], [1.0]], ax) is ax


@pytest.mark.parametrize(("held", "bound"), [(80, 80), (80, 90), (100, 100), (0, 0)])
def test_certificate_adds_up(ax, held, bound):
    plots.certificate(held, bound, 100, ax)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert ("odd, at least, whatever the utility" in " ".join(words)) == (bound < 100)
    assert sum(bar.get_width() for bar in ax.patches) == 100
    assert len(ax.patches) == sum(part > 0 for part in (held, bound - held, 100 - bound))


def test_shares_tell_inside_from_outside(ax):
    plots.shares(THREE, [0.5, 0.9, 0.1], [0.4, 0.6, 0.1], [0.6, 0.8, 0.1], ax)
    inside, outside = ax.lines
    np.testing.assert_array_equal(inside.get_ydata(), [0, 2])
    np.testing.assert_array_equal(outside.get_xdata(), [90.0])
    assert inside.get_marker() != outside.get_marker()  # not by colour alone


def test_a_prediction_without_interval_is_a_tick(ax):
    plots.shares(THREE, [0.5, 0.9, 0.1], [0.4, 0.6, 0.1], [0.4, 0.6, 0.1], ax)
    ticks, observed = ax.lines
    np.testing.assert_allclose(ticks.get_xdata(), [40, 60, 10])
    np.testing.assert_allclose(observed.get_xdata(), [50, 90, 10])  # none is "outside" of a single number
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["predicted", "observed"]
    sizes = Figure().add_subplot()
    plots.basket_sizes([0.2, 0.8], [0.3, 0.7], [0.3, 0.7], sizes)
    assert not sizes.patches


def test_basket_sizes_in_steps(ax):
    plots.basket_sizes([0.2, 0.5, 0.3], [0.1, 0.4, 0.2], [0.3, 0.6, 0.4], ax, step=3)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [1, 4, 7])


def test_response_marks_the_price(ax):
    prices = np.array([1.0, 2.0, 3.0])
    assert plots.response(prices, 4 - prices, 3 - prices, 5 - prices, ax, ylabel="demand", title="tea", at=1.5) is ax
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), [1.5, 1.5])
    assert (ax.get_title(), ax.get_ylabel()) == ("tea", "demand")
    bare = Figure().add_subplot()
    plots.response(prices, prices, None, None, bare, ylabel="revenue")
    assert not bare.collections


def test_elasticities_write_every_number(ax):
    mean = np.array([[-1.234, 0.5], [np.nan, -0.001]])
    found = Elasticities(mean, mean - 0.1, mean + 0.1, 0.05, 0.9, ("tea", "rum"))
    assert plots.elasticities(found, ax) is ax
    assert [text.get_text() for text in ax.texts] == ["−1.23*", "0.50*", "–", "0.00"]


def test_circle_and_sphere_draw_regions_and_draws():
    regions = market(2)
    polar = Figure().add_subplot(projection="polar")
    assert plots.circle(regions, THREE[:2], polar, directions=[[0.6, 0.8], [0.8, 0.6]]) is polar
    for t, line in enumerate(polar.lines[: len(regions)]):  # what is drawn of a ring lies in its region
        angles = line.get_xdata()[np.isfinite(line.get_ydata())]
        assert regions[[t]].contains(np.stack([np.cos(angles), np.sin(angles)], axis=1)).all()
    flat = Figure(layout="constrained").add_subplot()
    directions = np.eye(3)
    assert plots.sphere(market(3), THREE, [0.6, 0.0, 0.8], flat, directions=directions, resolution=41) is flat
    assert "milk" in draw(flat)


@pytest.mark.parametrize("centre", [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.6, 0.0, 0.8]])
def test_face_is_a_frame(centre):
    frame = plots.face(np.array(centre))
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(frame[2], centre)
    assert np.linalg.det(frame) == pytest.approx(1.0)


def test_the_sphere_of_other_goods_is_refused(ax):
    with pytest.raises(sp.InvalidArgument, match="regions must be of 3 goods"):
        plots.sphere(market(2), THREE, [0.0, 0.0, 1.0], ax)
    with pytest.raises(sp.InvalidArgument, match="regions must be of 2 goods"):
        plots.circle(market(3), THREE, ax)
