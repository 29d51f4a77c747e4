# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Learn the distribution of what customers want from what they bought.

Public names are loaded on first use, so that ``import stochpref`` and ``stochpref --help`` stay instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stochpref import problems as problems
    from stochpref.choosing import choices as choices
    from stochpref.comparison import Comparison as Comparison
    from stochpref.comparison import compare_fits as compare_fits
    from stochpref.consensus.effort import Effort as Effort
    from stochpref.demand import Demand as Demand
    from stochpref.demand import Elasticities as Elasticities
    from stochpref.design import DesignEffort as DesignEffort
    from stochpref.design import MenuCheck as MenuCheck
    from stochpref.design import MenuDesign as MenuDesign
    from stochpref.design import MenuLimits as MenuLimits
    from stochpref.design import bisect_utility as bisect_utility
    from stochpref.design import check_menus as check_menus
    from stochpref.design import learn_sequentially as learn_sequentially
    from stochpref.design import optimal_menus as optimal_menus
    from stochpref.effects import Effects as Effects
    from stochpref.errors import InvalidArgument as InvalidArgument
    from stochpref.errors import InvalidObservations as InvalidObservations
    from stochpref.errors import NotConverged as NotConverged
    from stochpref.errors import NotIdentified as NotIdentified
    from stochpref.errors import StochprefError as StochprefError
    from stochpref.errors import UnreadableData as UnreadableData
    from stochpref.feature_likelihood import FeatureLikelihood as FeatureLikelihood
    from stochpref.groups import GroupFits as GroupFits
    from stochpref.groups import fit_groups as fit_groups
    from stochpref.laws import CorruptedUtilityLaw as CorruptedUtilityLaw
    from stochpref.laws import LognormalLaw as LognormalLaw
    from stochpref.laws import MenuLaw as MenuLaw
    from stochpref.laws import MixtureLaw as MixtureLaw
    from stochpref.laws import NormalLaw as NormalLaw
    from stochpref.laws import VonMisesFisher as VonMisesFisher
    from stochpref.laws import simulate as simulate
    from stochpref.likelihood import MaximumLikelihood as MaximumLikelihood
    from stochpref.likelihood import fit_maximum_likelihood as fit_maximum_likelihood
    from stochpref.models import CommonUtility as CommonUtility
    from stochpref.models import HeterogeneousUtility as HeterogeneousUtility
    from stochpref.models import NormalUtility as NormalUtility
    from stochpref.models import SatiatedUtility as SatiatedUtility
    from stochpref.models import SegmentedUtility as SegmentedUtility
    from stochpref.models import Selection as Selection
    from stochpref.models import fit_best as fit_best
    from stochpref.models import load_fit as load_fit
    from stochpref.models.readings import Readings as Readings
    from stochpref.models.readings import compare_readings as compare_readings
    from stochpref.observations import Menus as Menus
    from stochpref.observations import Observations as Observations
    from stochpref.paper.annealing import Annealing as Annealing
    from stochpref.paper.metropolis import MetropolisOptions as MetropolisOptions
    from stochpref.paper.reproduce.markets import PaperMarket as PaperMarket
    from stochpref.paper.reproduce.markets import paper_markets as paper_markets
    from stochpref.paper.reproduce.table1 import Table1 as Table1
    from stochpref.paper.reproduce.table1 import reproduce_table1 as reproduce_table1
    from stochpref.paper.signs import SignEstimate as SignEstimate
    from stochpref.paper.signs import estimate_from_signs as estimate_from_signs
    from stochpref.paper.signs import sign_menus as sign_menus
    from stochpref.probability import log_mass as log_mass
    from stochpref.problems.divisible import choose as choose
    from stochpref.programmes.decisions import Decisions as Decisions
    from stochpref.programmes.linear import LinearProgramme as LinearProgramme
    from stochpref.programmes.moments import fit_moments as fit_moments
    from stochpref.readers import StoredObservations as StoredObservations
    from stochpref.readers import read_menus as read_menus
    from stochpref.readers import read_observations as read_observations
    from stochpref.readers import read_orders as read_orders
    from stochpref.readers import write_menus as write_menus
    from stochpref.readers import write_observations as write_observations
    from stochpref.regions import Regions as Regions
    from stochpref.report import write_report as write_report
    from stochpref.scores import accuracy as accuracy
    from stochpref.scores import consistency as consistency

_HOME = {
    "Annealing": "paper.annealing",
    "CommonUtility": "models",
    "Comparison": "comparison",
    "CorruptedUtilityLaw": "laws",
    "Decisions": "programmes.decisions",
    "Demand": "demand",
    "DesignEffort": "design",
    "Effects": "effects",
    "Effort": "consensus.effort",
    "Elasticities": "demand",
    "FeatureLikelihood": "feature_likelihood",
    "GroupFits": "groups",
    "HeterogeneousUtility": "models",
    "InvalidArgument": "errors",
    "InvalidObservations": "errors",
    "LinearProgramme": "programmes.linear",
    "LognormalLaw": "laws",
    "MaximumLikelihood": "likelihood",
    "MenuCheck": "design",
    "MenuDesign": "design",
    "MenuLaw": "laws",
    "MenuLimits": "design",
    "Menus": "observations",
    "MetropolisOptions": "paper.metropolis",
    "MixtureLaw": "laws",
    "NormalLaw": "laws",
    "NormalUtility": "models",
    "NotConverged": "errors",
    "NotIdentified": "errors",
    "Observations": "observations",
    "PaperMarket": "paper.reproduce.markets",
    "Readings": "models.readings",
    "Regions": "regions",
    "SatiatedUtility": "models",
    "SegmentedUtility": "models",
    "Selection": "models",
    "SignEstimate": "paper.signs",
    "StoredObservations": "readers",
    "StochprefError": "errors",
    "Table1": "paper.reproduce.table1",
    "UnreadableData": "errors",
    "VonMisesFisher": "laws",
    "accuracy": "scores",
    "bisect_utility": "design",
    "check_menus": "design",
    "choices": "choosing",
    "choose": "problems.divisible",
    "compare_fits": "comparison",
    "compare_readings": "models.readings",
    "consistency": "scores",
    "estimate_from_signs": "paper.signs",
    "fit_best": "models",
    "fit_groups": "groups",
    "fit_maximum_likelihood": "likelihood",
    "fit_moments": "programmes.moments",
    "learn_sequentially": "design",
    "load_fit": "models",
    "log_mass": "probability",
    "optimal_menus": "design",
    "paper_markets": "paper.reproduce.markets",
    "read_menus": "readers",
    "read_observations": "readers",
    "read_orders": "readers",
    "reproduce_table1": "paper.reproduce.table1",
    "sign_menus": "paper.signs",
    "simulate": "laws",
    "write_menus": "readers",
    "write_observations": "readers",
    "write_report": "report",
}
_PACKAGES = ("problems",)  # public as a whole

__version__ = "0.2.0.dev0"
__all__ = [*_HOME, *_PACKAGES, "__version__"]  # noqa: PLE0604  (every one is a string)


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"stochpref.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'stochpref' has no attribute {name!r}")
    return getattr(import_module(f"stochpref.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
