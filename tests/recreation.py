# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The recreation data, and MDCEV in closed form, which other programs fit to them."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
from scipy.special import gammaln, logsumexp

import stochpref as sp


def trips(folder: Path, n_people: int | None = None) -> sp.Observations:
    """Return trips of people by activity at their cost, with income for the budget."""
    with gzip.open(folder / "recreation_mdcev.csv.gz", "rt", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    goods = list(dict.fromkeys(row["alt"] for row in rows))
    people = len(rows) // len(goods)
    table = {
        name: np.array([float(row[name]) for row in rows]).reshape(people, len(goods))
        for name in ("quant", "price", "income")
    }
    kept = slice(n_people)
    return sp.Observations(
        table["price"][kept], table["income"][kept, 0], table["quant"][kept], goods=goods,
        customers=[row["id"] for row in rows[:: len(goods)]][kept], problem=sp.problems.Satiated("rest"),
    )  # fmt: skip


def mdcev_at(data: sp.Observations, location: np.ndarray, log_scale: float, log_satiation: np.ndarray) -> float:
    """Return the log-likelihood of the gamma profile with a logarithm for what is left (Bhat 2008, "hybrid0")."""
    x, a, fade, sigma = data.bundles, data.prices, np.exp(log_satiation), np.exp(log_scale)
    left = data.budgets - np.sum(a * x, axis=1)
    v = (location - np.log1p(x / fade) - np.log(a)) / sigma
    money = -np.log(left) / sigma
    is_bought = x > 0
    number = 1 + is_bought.sum(axis=1)
    each = (1 - number) * np.log(sigma) - np.log(left) + money + np.sum(is_bought * (v - np.log(x + fade)), axis=1)
    each += np.log(left + np.sum(is_bought * a * (x + fade), axis=1)) + gammaln(number)
    return float(np.sum(each - number * logsumexp(np.column_stack([v, money]), axis=1)))
