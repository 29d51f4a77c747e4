# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What one common utility says of itself: how much it explains, the proof of it, and who is odd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from stochpref import plots
from stochpref.consensus.explanation import Explanation
from stochpref.consensus.summary import CommonSummary
from stochpref.errors import counted
from stochpref.models.account import Account, Part, Sketch, Table, as_sentence, shorten
from stochpref.verdicts import Verdict

_N_ODD: Final = 50  # odd observations explained
_MANY_ODD: Final = 0.2  # a share of odd purchases beyond which one utility is a poor account of them


def account_of(
    summary: CommonSummary, odd: Sequence[int], explain_fn: Callable[[int], Explanation], *, has_customers: bool
) -> Account:
    """Return the account of a common utility; `explain_fn` says why one of the odd observations is odd."""
    n_used = summary.n_observations - summary.n_dropped
    identified = summary.verdicts.identified
    share, many = 100 * summary.n_consistent / n_used, summary.corruption > _MANY_ODD
    low, high = (100 * end for end in summary.corruption_interval)
    proof = "No other utility explains more: this is proven."
    if not summary.is_optimal:
        proof = f"No utility explains more than {summary.upper_bound:,}; whether one explains as many is open."
    how_odd = f"{100 * summary.corruption:.1f} % of the purchases are odd (95 % interval {low:.1f} to {high:.1f} %)."
    advice = " So many say that customers may differ: fit the other model (--model heterogeneous)." if many else ""
    explained = f"{'only ' if many else ''}{summary.n_consistent:,} of {counted(n_used, 'purchase')} ({share:.1f} %)"
    has_range = all(lower is not None for _, _, lower, _ in summary.goods)
    ranges = "; the lines hold 95\u00a0% of the utilities that explain as much" if has_range else ""
    chances = (
        "An odd customer may agree with the common utility by chance, so this is a low estimate of the share of odd "
        "customers."
    )
    return Account(
        kind="One common utility, some odd customers",
        headline=f"One utility explains {explained}.",
        headline_unfit=f"One utility explains {explained}.",
        verdicts=(
            Verdict("good" if summary.is_optimal else "nearly", proof),
            Verdict("bad" if many else "good", how_odd + advice),
            *(
                [identified._replace(text=as_sentence(identified.text))]
                if identified.status in ("nearly", "bad")
                else []
            ),
        ),
        figure=(f"{share:.1f} %", "explained by one utility"),
        wanted=f"The utility that all customers but the odd ones share, scaled to length 1{ranges}.",
        unwanted="Not wanted, except by odd customers",
        notes=(),
        spread=(),
        trust=(
            Part(prose=f"{proof} {how_odd} {chances}"),
            Part(sketches=(_certificate(summary, n_used),)),
            *_odd_part(odd, explain_fn, has_customers),
            Part(fold="What the solver did", lines=summary.steps),
        ),
    )


def _certificate(summary: CommonSummary, n_used: int) -> Sketch:
    return Sketch(
        lambda ax: plots.certificate(summary.n_consistent, summary.upper_bound, n_used, ax),
        "Observations explained, undecided, and odd, at least, whatever the utility", size=(6.4, 1.5),
    )  # fmt: skip


def _odd_part(odd: Sequence[int], explain_fn: Callable[[int], Explanation], has_customers: bool) -> tuple[Part, ...]:
    """Return why the first odd observations are odd; nothing if none is."""
    if not len(odd):
        return ()
    rows = [_odd_row(explain_fn(int(t)), has_customers) for t in odd[:_N_ODD]]
    some = f"The first {len(rows)} of {len(odd):,}; all of them with `stochpref fit … --odd odd.csv`. "
    customer = (("customer", "text"),) if has_customers else ()
    columns = (
        ("observation", "text"), *customer, ("kind", "text"), ("what does not fit", "text"), ("excluded by", "text"),
    )  # fmt: skip
    return (
        Part(
            heading="Odd customers",
            prose=(some if len(odd) > len(rows) else "") + "The last column names purchases that the utility explains "
            "and that cannot hold together with the odd one.",
            is_small=True,
            table=Table("odd", "Odd customers", columns, tuple(rows)),
        ),
    )


def _odd_row(why: Explanation, has_customers: bool) -> tuple[str, ...]:
    reasons = [
        f"{shorten(item.good, 30)}: bought {item.bought:.3g}, expected {item.expected:.3g}" for item in why.at_odds[:2]
    ]
    if len(why.at_odds) > 2:
        reasons.append(f"and {len(why.at_odds) - 2} more")
    customer = ("" if why.customer is None else shorten(why.customer, 30),) if has_customers else ()
    return (
        shorten(why.name, 30),
        *customer,
        why.kind,
        "; ".join(reasons) or "only exact ties could explain it",
        ", ".join(shorten(name, 30) for name in why.excluders[:3]),
    )
