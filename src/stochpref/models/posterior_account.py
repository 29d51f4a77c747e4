# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a posterior of customers who differ says of itself: convergence, identification, how alike customers are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochpref import plots
from stochpref.effects import Effects
from stochpref.errors import counted
from stochpref.models.account import Account, Part, Sketch, Table, as_sentence, shorten, shown_number
from stochpref.posterior.diagnostics import RHAT_LIMIT, Diagnostics
from stochpref.posterior.summary import HeterogeneousSummary
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]


def account_of(
    summary: HeterogeneousSummary,
    found: Diagnostics,
    goods: tuple[str, ...],
    seconds: float,
    draws: dict[str, Array],
    effects: Effects | None = None,
) -> Account:
    """Return the account of a posterior.

    Parameters
    ----------
    seconds : spent on drawing.
    draws : "mean_direction" (chains, draws, n) and "concentration" (chains, draws).
    effects : what changes of features do; None where the law does not move.
    """
    converged, identified = summary.verdicts.converged.status, summary.verdicts.identified.status
    draws_are = "The draws can be trusted" if converged == "good" else "The draws can nearly be trusted"
    headline = "The fit can be trusted, and the data say what customers want."
    unfit = f"{draws_are}, but the model does not buy as customers did."
    if converged != "good":
        headline = f"{draws_are}, and the data say what customers want."
    if identified != "good":
        headline = f"{draws_are}, but the data leave something open."
    if converged == "bad":
        left_open = "" if identified == "good" else ", and the data leave something open"
        headline = unfit = f"Not yet: the draws have not converged{left_open}."
    alike = _alike_sentence(summary)
    figure = (f"{100 * summary.alikeness:.0f} %", "agreement of customers") if summary.alikeness is not None else None
    return Account(
        kind="Customers who differ",
        headline=headline,
        headline_unfit=unfit,
        verdicts=_plain_verdicts(summary),
        figure=figure,
        wanted=(
            "The average customer's utility, scaled to length 1, with 90 % intervals: above zero a good is wanted, "
            "below zero the average customer leaves it on the shelf whatever it costs; some customers still buy it."
        ),
        unwanted="Not wanted by the average customer, though some still buy it",
        notes=(alike,),
        spread=(
            *(() if effects is None else _moved(summary, effects)),
            *((_spread(alike, len(goods), draws["concentration"]),) if summary.alikeness is not None else ()),
        ),
        trust=_trust(summary, found, goods, seconds, draws),
    )


def _plain_verdicts(summary: HeterogeneousSummary) -> tuple[Verdict, ...]:
    """Return whether draws and data are enough, without figures; those are in the account of trust."""
    convergence = Verdict("bad", "The draws cannot be trusted yet: Trust, below, says why and what to do.")
    converged, identified, _ = summary.verdicts
    if converged.status == "nearly":
        convergence = Verdict(
            "nearly", "The draws nearly agree, or are few: Trust, below, says how far to rely on them."
        )
    if converged.status == "good":
        convergence = Verdict("good", "The draws agree with one another, and there are enough of them.")
    if identified.status == "good":
        return convergence, Verdict("good", "The data are enough to tell what customers want and how alike they are.")
    lines = [line.removeprefix("not identified: ") for line in summary.verdict[1:-1]]
    return convergence, *(Verdict(identified.status, as_sentence(line)) for line in lines)


def _alike_sentence(summary: HeterogeneousSummary) -> str:
    agreement, kappa = summary.alikeness, summary.concentration
    if agreement is None:
        return (
            f"How alike customers are the data do not tell (concentration from {kappa.lower:.3g} to {kappa.upper:.3g}, "
            "90 % interval)."
        )
    word = "much alike" if agreement > 0.85 else ("alike in the main" if agreement > 0.6 else "rather different")
    return (
        f"Customers are {word}: they agree to {100 * agreement:.0f} % (0: all differ, 100: all alike; "
        f"concentration {kappa.mean:.3g}, 90 % interval {kappa.lower:.3g} to {kappa.upper:.3g})."
    )


def _moved(summary: HeterogeneousSummary, effects: Effects) -> tuple[Part, ...]:
    """Return what features do: pictures of effects, a change to each, and a table of coefficients."""
    sketches = []
    for change in dict.fromkeys(one.change for one in effects.own):
        rows = [one for one in effects.own if one.change == change and np.isfinite(one.relative)]
        if not rows:
            continue
        names = [shorten(summary.titles.get(one.good, one.good)) for one in rows]
        sketches.append(
            Sketch(
                lambda ax, names=names, rows=rows: plots.intervals(
                    names, [100 * one.relative for one in rows], [100 * one.relative_lower for one in rows],
                    [100 * one.relative_upper for one in rows], ax, xlabel="change of purchases, %",
                ),
                f"What {change} does to purchases of each good, with intervals", as_sentence(change),
                size=(3.4, 0.9 + 0.235 * len(rows)),
            )
        )  # fmt: skip
    prose = (
        "What a change does to expected purchases of the good it is made for, at the typical menu, with 90 % "
        "intervals; what is said of an observation, such as an income, changes for all goods at once."
    )
    cells = tuple(
        (
            shorten(row.name), shown_number(row.mean),
            f"{shown_number(row.lower)} to {shown_number(row.upper)}",
        )
        for row in summary.coefficients
    )  # fmt: skip
    columns = (("coefficient", "name"), ("mean", "number"), ("90 % interval", "number"))
    notes = "; ".join(summary.notes)
    return (
        Part(heading="What features do", prose=prose, sketches=tuple(sketches), arrangement="three"),
        Part(
            prose=f"{as_sentence(notes)} " if notes else "", fold="Coefficients, in the units of the features",
            table=Table("coefficients", "Coefficients of features", columns, cells),
        ),
    )  # fmt: skip


def _spread(alike: str, n_goods: int, concentration: Array) -> Part:
    return Part(
        heading="How alike customers are",
        prose=f"{alike} At 100 % every customer would buy the same from the same menu; the lower the figure, the more "
        "a price cut finds customers who care, and the smoother demand is.",
        sketches=(
            Sketch(
                lambda ax: plots.alikeness(n_goods, concentration, ax),
                "Distribution of the angle between a customer's utility and the average one",
                "How far single customers are from the average; dotted, customers who have nothing in common.",
            ),
        ),
        arrangement="beside",
    )


def _trust(
    summary: HeterogeneousSummary, found: Diagnostics, goods: tuple[str, ...], seconds: float, draws: dict[str, Array]
) -> tuple[Part, ...]:
    converged, identified, fits = summary.verdicts
    verdicts = [
        converged._replace(text=as_sentence(converged.text)),
        *(Verdict(identified.status, as_sentence(line)) for line in summary.verdict[1:-1]),
        fits._replace(text=as_sentence(fits.text)),
    ]
    sampled = (
        f"Sampled by {summary.sampler}: {counted(summary.n_chains, 'chain')} of {counted(summary.n_draws, 'draw')} in "
        f"{seconds:.0f} s; {summary.reason}."
    )
    if summary.pareto_k is not None:
        sampled += f" Importance weights have Pareto k {summary.pareto_k:.2f}: below 0.7 they can be trusted."
    ranks = Part(
        heading="Do the chains agree?",
        prose="Ranks of each chain's draws, for the concentration and the goods with the largest R-hat. Lines within "
        "the grey band, without slope or bulge: they agree.",
        sketches=_rank_sketches(found, goods, draws),
        arrangement="three",
    )
    table = Part(fold="R-hat, effective draws and Monte Carlo errors of everything", table=_diagnostic_table(summary))
    return (
        Part(verdicts=tuple(verdicts)),
        Part(prose=sampled, is_small=True),
        *((ranks,) if ranks.sketches else ()),
        table,
    )


def _rank_sketches(found: Diagnostics, goods: tuple[str, ...], draws: dict[str, Array]) -> tuple[Sketch, ...]:
    """Return rank plots of the concentration and the least certain goods; none of weights, or of a single draw."""
    directions, concentration = draws["mean_direction"], draws["concentration"]
    if found.pareto_k is not None or concentration.shape[1] < 2:
        return ()
    worst = np.argsort(-np.nan_to_num(found.of("mean_direction").r_hat), kind="stable")[:2]
    shown = [("concentration", concentration)] + [(goods[i], directions[:, :, i]) for i in worst]
    return tuple(
        Sketch(
            lambda ax, values=values, name=name: plots.ranks(values, ax, name=name),
            f"Rank plot of {plots.label(name)}", size=(3.4, 2.3),
        )
        for name, values in shown
    )  # fmt: skip


def _diagnostic_table(summary: HeterogeneousSummary) -> Table:
    """Return a row for the concentration and every good, the least trustworthy first."""
    rows = sorted((summary.concentration, *summary.goods), key=lambda row: -np.nan_to_num(row.r_hat, nan=np.inf))
    is_bad = tuple(not row.r_hat < RHAT_LIMIT for row in rows)
    return Table(
        name="diagnostics",
        label="Diagnostics",
        columns=(
            ("quantity", "name"),
            ("R-hat", "number"),
            ("effective draws, bulk", "number"),
            ("in the tails", "number"),
            ("Monte Carlo error", "number"),
        ),
        rows=tuple(
            (
                shorten(row.name),
                shown_number(row.r_hat) + (" !" if is_bad_row else ""),
                f"{row.ess_bulk:,.0f}" if np.isfinite(row.ess_bulk) else "–",
                f"{row.ess_tail:,.0f}" if np.isfinite(row.ess_tail) else "–",
                f"{row.mcse:.2g}" if np.isfinite(row.mcse) else "–",
            )
            for row, is_bad_row in zip(rows, is_bad, strict=True)
        ),
        is_bad=is_bad,
    )
