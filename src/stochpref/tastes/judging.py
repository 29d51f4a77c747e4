# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What is said of coefficients, and what data leave open of them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import listed
from stochpref.features import FeatureDesign
from stochpref.posterior.diagnostics import diagnose
from stochpref.tastes.law import MEAN_SPREAD
from stochpref.tastes.reported import to_told
from stochpref.tastes.results import TasteRow
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]

_AGREED: Final = 1.05  # R-hat of means and spreads of customers, below which they are shown
_FEWEST: Final = 100  # effective draws
_AS_WIDE: Final = 0.6  # posterior sd over prior sd beyond which data have taught next to nothing
_TAILS: Final = (0.05, 0.95)


def taste_rows(design: FeatureDesign, mean: Array, spread: Array, *, is_chain: bool) -> tuple[TasteRow, ...]:
    """Return a row for every coefficient, of draws (chains, draws, P) of means and spreads over customers."""
    found = [diagnose({"value": values}) for values in (mean, spread)]
    r_hat = np.maximum(found[0].r_hat, found[1].r_hat)
    effective = np.minimum(found[0].ess_bulk, found[1].ess_bulk)
    flat = [values.reshape(-1, values.shape[2]) for values in (mean, spread)]
    ends = [np.quantile(values, _TAILS, axis=0) for values in flat]
    is_known = (r_hat < _AGREED) & (effective >= _FEWEST) if is_chain else np.ones(len(r_hat), np.bool_)
    return tuple(
        TasteRow(
            name, float(flat[0][:, k].mean()), float(ends[0][0, k]), float(ends[0][1, k]),
            float(flat[1][:, k].mean()), float(ends[1][0, k]), float(ends[1][1, k]), float(r_hat[k]),
            float(effective[k]), bool(is_known[k]),
        )
        for k, name in enumerate(design.names)
    )  # fmt: skip


def judge_tastes(rows: tuple[TasteRow, ...], design: FeatureDesign) -> Verdict:
    """Return whether the data tell what customers want on average."""
    widths = MEAN_SPREAD * np.sqrt(np.sum(to_told(design) ** 2, axis=1))
    vague = [
        row.name
        for row, width in zip(rows, widths, strict=True)
        if row.upper - row.lower > _AS_WIDE * 2.0 * 1.645 * width > 0.0
    ]
    if not vague:
        return Verdict(
            "good", "identified: the data narrow what the average customer wants, coefficient by coefficient"
        )
    said = f"not identified: the data say next to nothing of {listed(vague)}; observe more choices, or leave it out"
    return Verdict("bad" if len(vague) > len(rows) / 2 else "nearly", said)
