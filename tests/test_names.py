# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The tables of names are those of the things that bear them, and cost nothing to read."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import pytest

import stochpref as sp
from stochpref import names
from stochpref.loading import load
from stochpref.paper.reproduce import methods

TABLES = {name: table for name, table in vars(names).items() if name.isupper()}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_what_a_table_names_by_its_place_is_there(name: str) -> None:
    table = TABLES[name]
    for place in table.values() if isinstance(table, dict) else ():
        assert place is None or ":" not in place or load(place)
    assert len(set(table)) == len(table) > 0


def test_names_are_those_of_the_things() -> None:
    assert [sp.MenuLaw(name).name for name in names.MENU_LAWS] == list(names.MENU_LAWS)
    assert [sp.MenuLaw(numeral).name for numeral in names.MENU_LAWS.values()] == list(names.MENU_LAWS)
    assert set(methods.METHODS) == set(product(names.EXHIBIT_SETTINGS, names.EXHIBIT_METHODS))


def test_reading_them_imports_nothing_heavy() -> None:
    code = "import sys, stochpref.names; print(*(name for name in sys.modules if name.startswith('stochpref')))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert set(shown.stdout.split()) == {"stochpref", "stochpref.names"}
