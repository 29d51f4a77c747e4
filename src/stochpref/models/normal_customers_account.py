# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of tastes by customer says of itself: whom to know, how much they differ, what is liked together."""

from __future__ import annotations

from typing import Final

from stochpref import plots
from stochpref.errors import counted
from stochpref.models.account import Account, Part, Sketch, Table, as_sentence, shown_number
from stochpref.tastes.results import CustomerCoefficients, TasteRow, TasteSummary
from stochpref.verdicts import Verdict

_PICTURED: Final = 20  # goods of a picture
_LISTED: Final = 200  # customers of a table


def account_of(summary: TasteSummary, customers: CustomerCoefficients, seconds: float) -> Account:
    """Return the account of tastes by customer; `seconds` were spent on learning them."""
    converged, identified = summary.verdicts.converged.status, summary.verdicts.identified.status
    headline = "The fit can be trusted, and the data say what customers want."
    unfit = "The draws can be trusted, but the model does not choose as customers did."
    if identified != "good":
        headline = "The draws can be trusted, but the data leave something open."
    if converged == "nearly":
        headline = headline.replace("can be trusted", "can nearly be trusted")
    if converged == "bad":
        headline = unfit = "Not yet: the draws have not converged."
    gain = summary.left_out - summary.customer_left_out
    return Account(
        kind="Customers who keep their tastes",
        headline=headline,
        headline_unfit=unfit,
        verdicts=tuple(Verdict(one.status, as_sentence(one.text)) for one in summary.verdicts[:2]),
        figure=None,
        wanted=(
            "What the average customer wants, scaled to length 1, with 90 % intervals: above zero a good is wanted "
            "more than others on average."
        ),
        unwanted="Wanted less than the others on average; some customers still choose it",
        notes=(
            f"Knowing what a customer chose before adds {gain:.3f} to the logarithm of the probability of a choice, "
            f"{summary.left_out:.3f} against {summary.customer_left_out:.3f}.",
            *summary.together,
        ),
        spread=(_spreads(summary), _shrinkage(customers), _table(customers)),
        trust=(
            Part(verdicts=tuple(Verdict(one.status, as_sentence(one.text)) for one in summary.verdicts)),
            Part(prose=_provenance(summary, seconds), is_small=True),
        ),
    )


def _spreads(summary: TasteSummary) -> Part:
    rows: list[TasteRow] = [row for row in (*summary.goods, *summary.features) if row.is_known]
    rows = sorted(rows, key=lambda row: -row.spread)[:_PICTURED]
    open_ones = [row.name for row in (*summary.goods, *summary.features) if not row.is_known]
    left = f" Of {', '.join(open_ones)} chains do not agree on how much customers differ." if open_ones else ""
    ends = [row.spread for row in rows], [row.spread_lower for row in rows], [row.spread_upper for row in rows]
    return Part(
        heading="How much customers differ",
        prose="The spread over customers of each taste: of a good in units of the noise of a choice, of a feature in "
        "those units for one more of it." + left,
        sketches=(
            Sketch(
                lambda ax: plots.intervals([row.name for row in rows], *ends, ax, xlabel="spread"),
                "Spread of tastes over customers, with intervals", size=(4.6, 0.9 + 0.235 * len(rows)),
            ),
        ) if rows else (),
        arrangement="beside",
    )  # fmt: skip


def _shrinkage(customers: CustomerCoefficients) -> Part:
    return Part(
        heading="What is known of single customers",
        prose="Each dot is a customer: what is known of their taste, and how sure that is. Of whom little is known is "
        "taken to be like the average, the line.",
        sketches=tuple(
            Sketch(
                lambda ax, k=k: plots.shrinkage(
                    customers.mean[:, k], customers.spread[:, k], float(customers.average[k]), ax, customers.names[k]
                ),
                f"Tastes of customers for {customers.names[k]}, and how sure they are", size=(3.1, 2.5),
            )
            for k in range(min(len(customers.names), 6))
        ),
        arrangement="three",
    )  # fmt: skip


def _table(customers: CustomerCoefficients) -> Part:
    count = min(len(customers.customers), _LISTED)
    rows = tuple(
        (customers.customers[i], *(shown_number(value, 2) for value in customers.mean[i])) for i in range(count)
    )
    columns = (("customer", "name"), *((name, "number") for name in customers.names))
    return Part(
        table=Table("customers", "Tastes of customers", columns, rows, (False,) * count),
        fold=f"Tastes of {counted(count, 'customer')}",
    )


def _provenance(summary: TasteSummary, seconds: float) -> str:
    drawn = f"{counted(summary.n_chains, 'chain')} of {counted(summary.n_draws, 'draw')}"
    return f"Drawn by {summary.sampler}: {drawn} in {seconds:.0f} s; {summary.reason}."
