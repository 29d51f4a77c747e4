# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Tables of choices: the good chosen by name, by number or by marks, beside wide prices and in long tables."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.problems import OneOf
from stochpref.readers import scan

GOODS = ("dannon", "yoplait", "weight")
PRICES = np.array([[1.0, 2.0, 3.0], [1.5, np.nan, 2.5], [2.0, 1.0, 1.5], [1.2, 1.1, 0.9]])
CHOSEN = np.array([0, 2, 1, 2])


def wide(**more: Any) -> pd.DataFrame:
    prices = {f"price_{good}": PRICES[:, i] for i, good in enumerate(GOODS)}
    return pd.DataFrame(prices | more)


def long(**more: Any) -> pd.DataFrame:
    rows = [(t, GOODS[i], PRICES[t, i], int(CHOSEN[t] == i)) for t in range(4) for i in range(3)]
    return pd.DataFrame(rows, columns=["obs", "good", "price", "choice"]).assign(**more)


def marks(one: Any, zero: Any) -> dict[str, list[Any]]:
    return {f"took_{good}": [one if c == i else zero for c in CHOSEN] for i, good in enumerate(GOODS)}


SOURCES = {
    "names": (wide(choice=[GOODS[c] for c in CHOSEN]), "choice"),
    "numbers from one": (wide(choice=CHOSEN + 1), "choice"),
    "numbers from zero": (wide(choice=CHOSEN), "Choice"),
    "decimals": (wide(choice=CHOSEN + 1.0), "choice"),
    "marks": (wide(**marks(1, 0)), "took"),
    "words": (wide(**marks("Yes", "no")), "took_"),
    "truths": (wide(**marks(True, False)), "took"),
    "long marks": (long(), "choice"),
    "long, one mark": (long(choice=[1 if i == CHOSEN[t] else None for t in range(4) for i in range(3)]), "choice"),
    "long names": (long(choice=[GOODS[CHOSEN[t]] for t in range(4) for _ in range(3)]), "choice"),
    "long truths": (long(choice=["TRUE" if i == CHOSEN[t] else "FALSE" for t in range(4) for i in range(3)]), "choice"),
}

NUMBERED = ("numbers from one", "numbers from zero", "decimals")


@pytest.mark.parametrize("how", SOURCES)
@pytest.mark.parametrize("is_file", [False, True])
def test_every_way_to_say_what_was_chosen(how: str, is_file: bool, tmp_path: Path) -> None:
    frame, choice = SOURCES[how]
    source: Any = frame
    if is_file:
        source = tmp_path / "choices.csv"
        frame.to_csv(source, index=False)
    columns = {"observation": "obs"} if "obs" in frame else {}
    found = sp.read_observations(source, choice=choice, columns=columns)
    wanted = sp.choices(PRICES, CHOSEN, goods=GOODS)
    assert found.goods == GOODS
    assert found.problem == wanted.problem
    np.testing.assert_array_equal(found.bundles, wanted.bundles)
    np.testing.assert_array_equal(found.prices, wanted.prices)
    assert any("numbers count the goods" in note for note in found.notes) == (how in NUMBERED)


def test_marks_without_prices() -> None:
    found = sp.read_observations(pd.DataFrame(marks(1, 0)), choice="took", columns={"price": 1})
    assert found.bundles.argmax(axis=1).tolist() == CHOSEN.tolist()


def test_none_of_the_goods() -> None:
    frame = wide(choice=["dannon", None, "yoplait", "weight"])
    with pytest.raises(sp.InvalidObservations, match=r"row 1: 0 chosen(?s:.*)outside=True"):
        sp.read_observations(frame, choice="choice")
    found = sp.read_observations(frame, choice="choice", problem=OneOf(outside=True))
    assert found.bundles[1].tolist() == [0, 0, 0]
    numbered = sp.read_observations(wide(choice=[1, 0, 2, 3]), choice="choice", problem=OneOf(outside=True))
    np.testing.assert_array_equal(numbered.bundles, found.bundles)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (wide(choice=["danon", *GOODS]), {}, "row 0: 'danon'; the nearest is 'dannon'"),
        (wide(choice=[4, 1, 2, 3]), {}, r"row 0: '4'"),
        (wide(choice=[-1, 1, 2, 3]), {}, r"row 0: '-1'"),
        (wide(choice=[1.5, 1, 2, 3]), {}, r"row 0: '1.5'"),
        (wide(choice=["inf", "1", "2", "3"]), {}, r"row 0: 'inf'"),
        (wide(choice=["dannon", "yoplait", "dannon", "weight"]), {}, "not on offer.*row 1: 1 for 'yoplait'"),
        (wide(chosen=CHOSEN), {}, "no column 'choice' for the choice; the nearest is 'chosen'"),
        (wide(**marks(1, 0)).assign(took_dannon=[1, 1, 0, 0]), {"choice": "took"}, "row 1: 2 chosen"),
        (wide(**marks(1, 0)).assign(took_dannon=0), {"choice": "took"}, "row 0: 0 chosen"),
        (wide(**marks(1, 0)).assign(took_dannon=[2, 0, 0, 0]), {"choice": "took"}, "row 0: '2'.*write 1"),
        (wide(**marks(1, 0)).assign(took_dannon=["x", 0, 0, 0]), {"choice": "took"}, "row 0: 'x'"),
        (
            wide(**marks(1, 0)).drop(columns="took_weight"),
            {"choice": "took"},
            "'weight' has no column for its quantity",
        ),
        (long(choice=[1] * 3 + [0] * 9), {}, "3 chosen"),
        (long(choice=[0.5] * 12), {}, "row 0 .*'0.5'"),
        (long(choice=["dannon"] * 3 + ["cream"] * 9), {}, "row 0 .*'dannon'"),
        (long(took_a=1), {"choice": "took"}, "no column 'took' for the choice"),
        (long(), {"columns": {"observation": "obs", "quantity": "choice"}}, "choice must name a column, in place"),
        (long(), {"choice": 3}, "choice must name a column"),
        (long(), {"choice": ""}, "choice must name a column"),
        (long(), {"layout": "orders"}, "choice is for tables of menus"),
        (long(), {"budget": "spent"}, "budget must be left out"),
    ],
)
def test_what_is_no_choice_is_refused_by_row(frame: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    columns = {"columns": {"observation": "obs"}} if "obs" in frame else {}
    with pytest.raises(sp.StochprefError) as caught:
        sp.read_observations(frame, **({"choice": "choice"} | columns | options))
    assert re.search(message, str(caught.value), re.DOTALL), caught.value


def test_choices_from_the_command_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    prices = rng.uniform(1, 2, (120, 3)).round(2)
    law = sp.VonMisesFisher(np.array([0.8, 0.5, 0.33]) / np.linalg.norm([0.8, 0.5, 0.33]), 6.0)
    bought = sp.simulate(law, sp.Menus(prices, goods=GOODS, problem="one"), 120, rng=rng)
    path, fit = tmp_path / "choices.csv", tmp_path / "fit"
    table = pd.DataFrame({f"price_{good}": prices[:, i] for i, good in enumerate(GOODS)})
    table.assign(pick=[GOODS[i] for i in bought.bundles.argmax(axis=1)]).to_csv(path, index=False)
    shown = CliRunner().invoke(app, ["check", str(path), "--choice", "pick"])
    assert shown.exit_code == 0, shown.output
    assert "120 observations of 3 goods" in shown.stdout
    words = ["--choice", "pick", "--out", str(fit), "--model", "common"]
    assert CliRunner().invoke(app, ["fit", str(path), *words]).exit_code == 0
    assert sp.load_fit(fit).observations_.problem == OneOf()
    (tmp_path / "pq").mkdir()
    table.to_parquet(tmp_path / "pq" / "a.parquet")
    refused = CliRunner().invoke(app, ["fit", str(tmp_path / "pq"), "--choice", "pick", "--out", str(fit)])
    assert refused.exit_code == 2
    assert "--choice is for files" in refused.stderr


def test_predictions_are_shares() -> None:
    rng = np.random.default_rng(3)
    prices = rng.uniform(1, 2, (150, 3))
    law = sp.VonMisesFisher(np.array([0.8, 0.5, 0.33]) / np.linalg.norm([0.8, 0.5, 0.33]), 6.0)
    bought = sp.simulate(law, sp.Menus(prices, goods=GOODS, problem="one"), 150, rng=rng)
    frame = pd.DataFrame({f"price_{good}": prices[:, i] for i, good in enumerate(GOODS)})
    found = scan(frame.assign(pick=bought.bundles.argmax(axis=1) + 1), choice="pick").accept()
    model = sp.HeterogeneousUtility(sampler="importance", n_draws=400, n_effective=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.NotConverged)  # so few draws need not be trusted
        model.fit(found)
    demand = model.demand(dict(zip(GOODS, [1.0, 1.5, 2.0], strict=True)))
    assert demand.mean.sum() == pytest.approx(1.0, abs=1e-9)
    assert (np.diff(demand.mean[0]) < 0).all()  # the better is the cheaper
