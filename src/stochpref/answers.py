# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a data set can answer and what it cannot, question by question, before anything is fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stochpref.errors import counted, listed

if TYPE_CHECKING:
    from stochpref.audit import Audit


class Answerable(NamedTuple):
    """A question.

    question : in words.
    answer : "yes", "partly" or "no".
    why : what is missing, or what to keep in mind; "" for nothing.
    """

    question: str
    answer: str
    why: str


def answers_of(audit: Audit) -> tuple[Answerable, ...]:
    """Return what the data of an audit can tell."""
    asked = (
        ("what customers like", _liking(audit)),
        ("what sells at other prices", _prices(audit)),
        ("how much money is spent", _money(audit)),
        ("how many buy nothing", _nothing(audit)),
        ("what one customer wants", _customers(audit)),
    )
    return tuple(Answerable(question, *answer) for question, answer in asked)


def as_lines(answers: tuple[Answerable, ...]) -> list[str]:
    """Return a line for each question."""
    return [f"{one.question:<28}{one.answer:<8}{one.why}".rstrip() for one in answers]


def _liking(audit: Audit) -> tuple[str, str]:
    unknown = [*audit.never_bought, *audit.always_bought, *audit.never_offered]
    if audit.is_all_bought:
        return "no", "every good on offer was bought: nothing says what is not wanted"
    if len(audit.degenerate_rows) > audit.n_observations / 2:
        return "no", f"{len(audit.degenerate_rows):,} of {audit.n_observations:,} fit no such problem, see below"
    if audit.is_budget_doubtful:
        return "partly", "read literally, nothing unbought is worth anything where money is left, see below"
    if unknown:
        return "partly", f"never or always bought, or never on offer, so that only bounds are known: {listed(unknown)}"
    return "yes", ""


def _prices(audit: Audit) -> tuple[str, str]:
    n_seen = audit.n_goods - len(audit.never_offered)
    if audit.is_all_bought:
        return "no", "only what was bought has a price"
    if audit.is_one_menu:
        return "no", "all faced one menu: other prices rest on the form of the model"
    if len(audit.fixed_prices) >= n_seen:
        return "no", "no price ever varies: other prices rest on the form of the model"
    if audit.fixed_prices:
        return "partly", f"not where a price never varies: {listed(audit.fixed_prices)}"
    if any(note.startswith("guessed: ") for note in audit.notes):
        return "partly", "some prices of what was not bought are guesses from other weeks or stores"
    low, high = audit.price_range
    return "yes", f"between {low:,.4g} and {high:,.4g}"


def _money(audit: Audit) -> tuple[str, str]:
    if audit.chooses_one:
        return "no", "one good is chosen, whatever it costs"
    if not audit.needs_budget:
        return ("yes", "") if _prices(audit)[0] == "yes" else ("partly", "as far as prices vary")
    if audit.is_all_spent:
        return "no", "every budget is what was spent: state budgets, or read them as open (--problem open)"
    return "yes", "of budgets as they are stated"


def _nothing(audit: Audit) -> tuple[str, str]:
    if audit.nonempty:
        return "no", "visits without a purchase are not recorded"
    if audit.n_empty:
        spent = audit.needs_budget and audit.is_all_spent
        empty = f"{counted(audit.n_empty, 'visit')} without a purchase"
        return ("no", f"{empty} teach nothing where the budget is what was spent") if spent else ("yes", empty)
    return (
        ("no", "everybody chooses one") if audit.chooses_one else ("no", "nobody bought nothing: were they recorded?")
    )


def _customers(audit: Audit) -> tuple[str, str]:
    if audit.n_customers is None or audit.n_repeated_customers is None:
        return "no", "customers are not told apart (column customer)"
    if not audit.n_repeated_customers:
        return "no", "nobody was seen twice"
    return (
        "partly",
        f"{audit.n_repeated_customers:,} of {counted(audit.n_customers, 'customer')} were seen more than once",
    )
