# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The audit of a data set: what kinds of observation it holds and what a careful analyst would want to know first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stochpref.answers import Answerable, answers_of
from stochpref.errors import InvalidObservations, counted, listed, shown
from stochpref.kinds import AT, DEGENERATE, KIND_NAMES, MONEY_TOLERANCE, QUANTITY_TOLERANCE
from stochpref.problems.faults import is_bought
from stochpref.result import Drawn
from stochpref.rows import GUESSED

if TYPE_CHECKING:
    from stochpref.observations import Observations

KIND_MEANING = {
    "slack": "money left over: what was not bought is not wanted",
    "pivot": "all spent, one good bought in part: it fixes the shadow price",
    "tight": "all spent on whole goods: the best value for money was bought",
    "degenerate": "no strict optimum explains it: two goods bought in part, or one with money left",
}
_ALMOST_ALL = 0.9  # of the purchases: so many customers, and what repeats makes no difference
CLUSTERED = "count as of so many"  # in the caution about customers who come again
_SOME_LEFT = 0.1  # of the observations with money left over, from which on a budget is doubted
_MOST_UNITS = 12  # that a good is worth splitting into
_ALL_BOUGHT = (
    "every good on offer was bought, in every observation, so nothing says what is not wanted: these are baskets, "
    "without the menus they were bought from"
)
_ADD_MENUS = (
    "read order lines as such, layout='orders' (--layout orders), which takes prices of what was not bought from other "
    "orders; or add what else was on offer, with its price and quantity 0"
)


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Drawn):
    """Counts and warnings about a data set; `print` it for a table, `as_dict` for JSON.

    Attributes
    ----------
    kinds : number of observations of each kind; none for a problem whose bundles are of no kind.
    degenerate_rows : indices of observations that force exact ties; fits refuse them unless told to leave them out.
    n_nearly_spent : degenerate observations that leave less than 1 % of the budget: rounded figures, as a rule.
    n_repeated_customers : customer labels that occur more than once (None without labels).
    n_customers : different customer labels (None without labels).
    n_identical_rows : observations equal to an earlier one in prices, budget and bundle.
    n_empty : observations in which nothing was bought.
    never_bought, always_bought, never_offered : names of goods; "always" means in full, at every offer.
    sometimes_absent : number of goods missing from some menus.
    spent_share : mean share of the budget spent, over positive budgets.
    is_whole : every quantity is 0, or a number of whole units, so divisible-goods reasoning deserves a second look.
    n_units : the largest quantity, if all are whole numbers, some above 1, and goods are not split; else 0.
    is_one_menu : all observations, two or more, are from the same prices and caps, and the same budget unless all of it
        was spent.
    fixed_prices : goods, on offer more than once, whose price never varies.
    is_all_bought : every good on offer was bought in every observation, and no bundle tells which was wanted more.
    is_all_spent : every budget is what was spent.
    price_range, budget_range : smallest and largest value; prices over goods on offer.
    notes : how a reader arrived at the numbers, in words.
    nonempty, needs_budget, chooses_one : only purchases of something are recorded; customers have money to spend; they
        choose one good, so that money is no matter.
    proposals : problems other than the one stated that customers may have solved, and what that would change.
    """

    n_observations: int
    n_goods: int
    kinds: dict[str, int]
    degenerate_rows: tuple[int, ...]
    n_nearly_spent: int
    n_repeated_customers: int | None
    n_customers: int | None
    n_identical_rows: int
    n_empty: int
    never_bought: tuple[str, ...]
    always_bought: tuple[str, ...]
    never_offered: tuple[str, ...]
    sometimes_absent: int
    spent_share: float
    is_whole: bool
    n_units: int
    is_one_menu: bool
    fixed_prices: tuple[str, ...]
    is_all_bought: bool
    is_all_spent: bool
    price_range: tuple[float, float]
    budget_range: tuple[float, float]
    nonempty: bool = False
    needs_budget: bool = True
    chooses_one: bool = False
    notes: tuple[str, ...] = ()
    proposals: tuple[str, ...] = ()

    picture: ClassVar[str] = "result_plots:audit"

    @property
    def answers(self) -> tuple[Answerable, ...]:
        """What the data can answer and what they cannot."""
        return answers_of(self)

    @property
    def is_budget_doubtful(self) -> bool:
        """Whether the budgets stated may not be what bound customers: whole items, and money left over by a tenth."""
        has_left = self.kinds.get("slack", 0) > _SOME_LEFT * self.n_observations
        return self.is_whole and has_left and not self.is_all_spent

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each kind of observation."""
        return [
            {"kind": name, "observations": count, "share": count / self.n_observations, "meaning": KIND_MEANING[name]}
            for name, count in self.kinds.items()
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return the facts, the warnings and the proposals."""
        facts = (f"{label}: {value}" for label, value in self.facts())
        said = (f"! {' '.join(warning.split())}" for warning in self.warnings())
        return (*facts, *said, *(f"? {' '.join(proposal.split())}" for proposal in self.proposals))

    def __str__(self) -> str:
        lines = [f"{counted(self.n_observations, 'observation')} of {counted(self.n_goods, 'good')}", ""]
        for name, count in self.kinds.items():
            if count or name != "degenerate":
                share = 100 * count / self.n_observations
                lines.append(f"  {name:<11}{count:>9,} {share:>6.1f} %   {KIND_MEANING[name]}")
        lines += [*([""] if self.kinds else []), *(f"  {label:<20}{value}" for label, value in self.facts())]
        notes = [shown(note) for note in self.notes if not note.startswith(GUESSED)]  # which is a warning
        if notes:
            lines += ["", *(f"  {note}" for note in notes)]
        warnings = self.warnings()
        if warnings:
            lines += ["", *(f"  ! {warning}" for warning in warnings)]
        if self.proposals:
            lines += ["", *(f"  ? {proposal}" for proposal in self.proposals)]
        return "\n".join(lines)

    def facts(self) -> list[tuple[str, str]]:
        """Return what to know first, as pairs of a label and its value in words."""
        spent = f"{100 * self.spent_share:.1f} % of the budget, on average"
        facts = [
            ("prices", _between(self.price_range, "no good is on offer")),
            ("budgets", _between(self.budget_range, "none")),
            ("money spent", spent if math.isfinite(self.spent_share) else "nobody has a stated budget above 0"),
            ("identical rows", f"{self.n_identical_rows:,}"),
        ]
        if self.n_repeated_customers is not None:
            facts.append(("repeated customers", f"{counted(self.n_repeated_customers, 'label')} found more than once"))
        if self.n_empty:
            facts.append(("bought nothing", counted(self.n_empty, "observation")))
        if self.sometimes_absent:
            facts.append(("not always offered", f"{counted(self.sometimes_absent, 'good')} missing from some menus"))
        return facts

    def warnings(self) -> list[str]:
        """Return what a careful analyst would look into, and what to do about it."""
        warnings = [f"{_ALL_BOUGHT.upper()};\n    {_ADD_MENUS}"] if self.is_all_bought else []
        if self.degenerate_rows:
            warnings.append(
                f"{counted(len(self.degenerate_rows), 'degenerate observation')} "
                f"(number {listed(tuple(t + 1 for t in self.degenerate_rows))} of those read): no fit uses them;\n"
                "    correct them, or leave them out: degenerate='drop' (--degenerate drop);\n"
                "    or, if goods satiate, state problem='satiated' (--problem satiated)"
            )
        if 0 < self.n_units <= _MOST_UNITS:
            warnings.append(
                f"quantities are whole numbers, up to {self.n_units}, and fewer than the cap count as bought in part:\n"
                f"    split goods into units, units={self.n_units} (--units {self.n_units}), or some, each unit with "
                "a worth of its own"
            )
        if self.n_nearly_spent:
            warnings.append(
                f"{self.n_nearly_spent:,} of these leave less than 1 % of the budget. If figures were rounded, read "
                "with\n    budget='rounded' (--budget rounded), which takes all of it as spent"
            )
        warnings += self.cautions()
        if self.never_offered:
            warnings.append(f"never on offer, nothing can be learnt: {listed(self.never_offered)}")
        if self.never_bought:
            warnings.append(f"never bought, only bounded from above: {listed(self.never_bought)}")
        if self.always_bought:
            warnings.append(f"always bought in full, only bounded from below: {listed(self.always_bought)}")
        if self.is_whole and self.kinds.get("slack", 0) > self.n_observations / 2:
            warnings.append(
                "whole items with money left over: read literally, nothing unbought is worth anything to these\n"
                "    customers. If the change was just too small for one more item, read with budget='spent'\n"
                "    (--budget spent), which conditions on what was spent"
            )
        return warnings

    def cautions(self) -> list[str]:
        """Return what the data cannot tell and a fit would yet answer: a warning of every number it rests on."""
        cautions = []
        what = f"the price of {listed(self.fixed_prices)} never varies"
        if self.is_one_menu:
            what = "every customer faced the same menu"
        elif len(self.fixed_prices) == self.n_goods - len(self.never_offered):
            what = "no price ever varies"
        if self.is_one_menu or self.fixed_prices:
            cautions.append(
                f"{what}: what is liked can be learnt, how demand answers to prices cannot;\n"
                "    what is said of other prices rests on the form of the model. Collect purchases at other prices\n"
                "    (stochpref design menus chooses some)"
            )
        guesses = (note.removeprefix(GUESSED) for note in self.notes if note.startswith(GUESSED))
        cautions += [fill(guess, 110, subsequent_indent="    ") for guess in guesses]
        if self.n_empty and self.is_all_spent:
            cautions.append(
                f"nothing was bought in {self.n_empty:,} of {counted(self.n_observations, 'observation')}, and the\n"
                "    budget is what was spent: such visits teach nothing; what is predicted is of those who bought"
            )
        if self.n_customers is not None and self.n_customers < _ALMOST_ALL * self.n_observations:
            cautions.append(
                f"{self.n_observations:,} purchases of {counted(self.n_customers, 'customer')} {CLUSTERED}\n"
                "    people: intervals are too narrow, by half or more where customers keep their tastes; take errors\n"
                "    clustered by customer (fit_maximum_likelihood), or one purchase of each"
            )
        return cautions


def _propose(
    observations: Observations, is_bought: NDArray[np.bool_], *, is_whole: bool, no_budgets: bool
) -> list[str]:
    """Return what else customers may have solved whose goods are taken to be bought in part.

    no_budgets : every one is what was spent, and prices vary, without which open budgets have no answer either.
    """
    if not observations.problem.has_kinds or not is_whole:
        return []
    number, on_offer = is_bought.sum(axis=1), np.isfinite(observations.prices).sum(axis=1)
    if (number == 1).all() and (on_offer > 1).any():
        return [
            "exactly one good was bought in each observation: if one of several was chosen, state problem='one'\n"
            "    (--problem one); predictions are shares then, which add up to one, never parts of goods"
        ]
    found = [
        "every good was bought whole or not at all: if none can be bought in part, state problem='whole'\n"
        "    (--problem whole); bundles with a part of a good get no probability then"
    ]
    if no_budgets:
        found.append(
            "every budget is what was spent: if nobody knows what customers could have spent, state problem='open'\n"
            "    (--problem open); demand needs no budget then, and revenue answers to prices"
        )
    return found


def refuse_baskets(observations: Observations) -> None:
    """Refuse observations in which every good on offer was bought, so that no fit could say what is not wanted."""
    if _is_all_bought(observations):
        raise InvalidObservations(f"observations must say what was not bought; {_ALL_BOUGHT}; {_ADD_MENUS}")


def _is_all_bought(observations: Observations) -> bool:
    """Tell whether the menus are the baskets.

    Where all goods are always on offer, a bundle that has one in full and another in part tells which is wanted more.
    """
    offered, bundles = observations.prices < np.inf, observations.bundles
    bought = is_bought(bundles, observations.caps)
    if not offered.any() or (offered & ~bought).any() or observations.problem.tells_by_amount:
        return False
    in_full = bundles >= observations.problem.limits(observations) * (1.0 - QUANTITY_TOLERANCE)
    tells = (bought & in_full).any(axis=1) & (bought & ~in_full).any(axis=1)
    return not (offered.all() and tells.any())


def _n_units(bundles: NDArray[np.float64]) -> int:
    """Return the largest quantity if all are whole numbers and some are above 1, else 0."""
    largest = float(bundles.max())
    return (
        round(largest) if largest > 1.5 and not np.any(np.abs(bundles - np.rint(bundles)) > QUANTITY_TOLERANCE) else 0
    )


def _between(ends: tuple[float, float], otherwise: str) -> str:
    return f"{ends[0]:,.6g} to {ends[1]:,.6g}" if math.isfinite(ends[0]) else otherwise


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    return (float(values.min()), float(values.max())) if values.size else (float("nan"), float("nan"))


def _n_identical(*arrays: NDArray[np.float64]) -> int:
    rows = np.ascontiguousarray(np.column_stack(arrays))
    # One opaque value per row: sorting those is far cheaper than np.unique(axis=0), which sorts columns.
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return int(rows.shape[0] - np.unique(keys).size)


def audit(observations: Observations) -> Audit:
    """Return the audit of observations; see `Observations.audit`."""
    prices, budgets = observations.prices, observations.budgets
    bundles, caps = observations.bundles, observations.caps
    classes = observations.problem.classify(observations, bundles)
    kind = np.full(len(prices), -1) if classes is None else classes.kind
    has_kinds = classes is not None and observations.problem.has_kinds
    offered = prices < np.inf
    bought = offered & is_bought(bundles, caps)
    limits = observations.problem.limits(observations)
    in_full = bought & (bundles >= limits * (1.0 - QUANTITY_TOLERANCE))
    in_part = classes.side == AT if classes is not None and has_kinds else bought & ~in_full

    def named(mask: Any) -> tuple[str, ...]:
        return tuple(observations.shown_goods[i] for i in np.flatnonzero(mask))

    n_customers = repeated = None
    if observations.customers is not None:
        _, counts = np.unique(np.asarray(observations.customers, dtype=object).astype(str), return_counts=True)
        n_customers, repeated = len(counts), int(np.sum(counts > 1))
    funded = (budgets > 0) & np.isfinite(budgets)
    spent = np.sum(np.where(offered, prices, 0.0) * bundles, axis=1)
    is_all_spent = bool(funded.any()) and bool((spent >= budgets * (1.0 - MONEY_TOLERANCE)).all())
    lowest, highest = prices.min(axis=0), np.max(prices, axis=0, where=offered, initial=0.0)
    moves = bool((lowest < highest).any())
    return Audit(
        n_observations=len(prices),
        n_goods=prices.shape[1],
        kinds={name: int(np.sum(kind == code)) for code, name in enumerate(KIND_NAMES) if name in KIND_MEANING}
        if has_kinds
        else {},
        degenerate_rows=tuple(np.flatnonzero(kind == DEGENERATE).tolist()),
        n_nearly_spent=int(np.sum((kind == DEGENERATE) & (spent < budgets) & (spent > 0.99 * budgets))),
        n_repeated_customers=repeated,
        n_customers=n_customers,
        n_identical_rows=_n_identical(prices, budgets, bundles, caps),
        n_empty=int(np.sum(~bought.any(axis=1))),
        never_bought=named(~bought.any(axis=0) & offered.any(axis=0)),
        always_bought=named((in_full | ~offered).all(axis=0) & offered.any(axis=0)),
        never_offered=named(~offered.any(axis=0)),
        sometimes_absent=int(np.sum(~offered.all(axis=0) & offered.any(axis=0))),
        spent_share=float(np.mean(spent[funded] / budgets[funded])) if funded.any() else float("nan"),
        is_whole=not in_part.any(),
        n_units=_n_units(bundles) if limits is caps and not observations.problem.tells_by_amount else 0,
        is_one_menu=len(prices) > 1
        and all(bool((a == a[0]).all()) for a in (prices, caps))
        and (is_all_spent or bool((budgets == budgets[0]).all())),
        fixed_prices=named((offered.sum(axis=0) > 1) & (lowest == highest)),
        is_all_bought=_is_all_bought(observations),
        is_all_spent=is_all_spent,
        price_range=_range(prices[offered]),
        budget_range=_range(budgets),
        nonempty=observations.nonempty,
        needs_budget=observations.problem.needs_budget,
        chooses_one=observations.problem.chooses_one,
        notes=observations.notes,
        proposals=tuple(_propose(observations, bought, is_whole=not in_part.any(), no_budgets=is_all_spent and moves)),
    )
