# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The names that options take, a table for each; where a name is loaded on use, the table says what: ``module:name``.

Nothing is imported here, so that the command line can list what there is without loading any of it.
"""

from __future__ import annotations

from typing import Final

LAYOUTS: Final = ("auto", "long", "wide", "orders")  # of tables that are read
ROW_SUFFIXES: Final = (".csv", ".parquet", ".xlsx", ".json")  # of tables for people, such as predictions
WRITTEN_LAYOUTS: Final = ("long", "wide")
BUDGETS: Final = ("stated", "spent", "rounded")  # where they come from
MENU_LAWS: Final = {"uniform": "i", "discrete": "ii", "fixed": "iii"}  # and what the paper calls them

PROBLEMS: Final = {
    "divisible": "problems.divisible:Divisible",
    "linear": "problems.linear:Linear",
    "one": "problems.one:OneOf",
    "open": "problems.open:Open",
    "satiated": "problems.satiated:Satiated",
    "whole": "problems.whole:Whole",
}
READINGS: Final = ("value", "unit")  # of a choice of one good: worth for money, or worth
LAWS: Final = {
    "corrupted": "laws.corrupted:CorruptedUtilityLaw",
    "lognormal": "laws.lognormal:LognormalLaw",
    "mixture": "laws.mixture:MixtureLaw",
    "normal": "laws.normal:NormalLaw",
    "von_mises_fisher": "laws.von_mises_fisher:VonMisesFisher",
}
MODELS: Final = {
    "heterogeneous": "models.heterogeneous:HeterogeneousUtility",
    "segmented": "models.segmented:SegmentedUtility",
    "normal": "models.normal:NormalUtility",
    "common": "models.common:CommonUtility",
    "satiated": "models.satiated:SatiatedUtility",
}
TIES: Final = ("refuse", "drop")  # what to do with observations that only exact ties explain
ENGINES: Final = ("cpu", "jax", "dask")
# None: part of the core.
SAMPLERS: Final[dict[str, str | None]] = {
    "gibbs": None,
    "importance": None,
    "layered": None,
    "hamiltonian": None,
    "metropolis": "paper.metropolis:Metropolis",
}
SOLVERS: Final[dict[str, str | None]] = {"certified": None, "annealing": "paper.annealing:anneal"}
COVARIANCES: Final = ("factor", "diagonal", "full")  # of a normal law of tastes
PROFILES: Final = ("log", "power")  # how worth fades with quantity
FADING_LAWS: Final = ("lognormal", "gumbel")  # of what first units are worth, where goods satiate
OUTSIDE_SCALES: Final = ("own", "common")  # of the worth of the outside good, beside others
CENTRES: Final = ("bayes", "chebyshev", "vertex")  # which of the utilities that explain most
CRITERIA: Final = ("d", "a", "prediction", "profit")  # what designs are best for

EXHIBIT_SETTINGS: Final = ("gaussian", "corruption")  # halves of the paper's table
EXHIBIT_METHODS: Final = ("paper", "ours")
FUNDING_RULES: Final = ("demand", "greedy")  # the most support in all, or in falling order of it
