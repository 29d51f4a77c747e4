# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Corners of a group of rows: the masses of their pieces, added up.

A piece without shadow prices, or with one and slopes above zero, is a row like others (`row_kernel`); the rest is
integrated over its prices (`corner`). Pieces are disjoint: with shares w_p of the mass, gradients g_p and covariances
C_p, a corner has the gradient g = Σ w_p g_p and the covariance Σ w_p (C_p + g_p g_pᵀ) - g gᵀ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochpref.corners import Corners
from stochpref.kinds import ABSENT, AT, CORNER, PIVOT, SLACK
from stochpref.mass.corner import priced_mass
from stochpref.mass.prices import FIBRE, MAX_FIBRES, Piece
from stochpref.mass.region import Scratch
from stochpref.mass.row_kernel import HOPELESS, LawConstants, Output, RowArrays, mass_rows
from stochpref.threads import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled
def _priced_rows(
    laws: LawConstants, law: Indices, corners: Corners, places: Indices, tolerance: float, out: Output,
    scratch: Scratch, fibres: Array,
) -> None:  # fmt: skip
    """Fill `out` at some places, those of pieces with prices."""
    means, moments = scratch.means, scratch.moments
    for p in places:
        slope = np.ascontiguousarray(corners.slope[p, : corners.n_prices[p]])
        piece = Piece(laws.h[law[p]], corners.side[p], slope, corners.log_det[p])
        value, out.error[p] = priced_mass(piece, laws.rules, tolerance, fibres, scratch)
        out.log_mass[p] = min(value - laws.log_total[law[p]], 0.0)
        for i in range(moments.shape[0]):
            for j in range(i + 1):
                out.covariance[p, i, j] = moments[i, j] - means[i] * means[j]
        if out.gradient.shape[0] > 0:
            out.gradient[p] = means - laws.mean[law[p]]


def _room(count: int, n: int, has_gradient: bool, has_covariance: bool) -> Output:
    slopes, covariance = count if has_gradient else 0, count if has_covariance else 0
    return Output(np.empty(count), np.empty(count), np.empty((slopes, n)), np.zeros((covariance, n, n)))


def corner_rows(
    laws: LawConstants, rows: RowArrays, corners: Corners, tolerance: float, out: Output, scratch: Scratch
) -> None:
    """Fill `out` for the rows that are corners, as `mass_rows` does for others."""
    places = np.flatnonzero(rows.kind == CORNER)
    if places.size == 0:
        return
    counts = np.diff(corners.first_piece)[places]
    law, n = np.repeat(rows.law[places], counts), rows.side.shape[1]
    found = _room(int(counts.sum()), n, len(out.gradient) > 0, len(out.covariance) > 0)
    _fill_pieces(laws, law, corners, tolerance, found, scratch)
    starts = np.concatenate([np.zeros(1, np.intp), np.cumsum(counts)])
    for t, first, stop in zip(places.tolist(), starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        _add_up(rows, t, found, slice(first, stop), out)


def _fill_pieces(
    laws: LawConstants, law: Indices, corners: Corners, tolerance: float, found: Output, scratch: Scratch
) -> None:
    """Fill `found` for every piece: those like rows first, then the others."""
    is_on_offer = corners.side != ABSENT
    first = corners.slope[:, 0]
    is_plain = corners.n_prices == 0
    is_plain |= (corners.n_prices == 1) & np.all((first > 0) | ~is_on_offer, axis=1)
    plain, priced = np.flatnonzero(is_plain), np.flatnonzero(~is_plain)
    if plain.size:
        has_price = corners.n_prices[plain] == 1
        side = corners.side[plain]
        slope = np.where(has_price[:, None] & is_on_offer[plain], first[plain], 1.0)
        slope.flags.writeable = False  # as those of regions: one kernel for both
        own = _room(plain.size, side.shape[1], len(found.gradient) > 0, len(found.covariance) > 0)
        arrays = RowArrays(
            np.where(has_price, PIVOT, SLACK).astype(np.int8), side, slope,
            np.where(has_price, np.argmax(side == AT, axis=1), -1).astype(np.int32), law[plain], np.ones(plain.size),
            np.arange(plain.size),
        )  # fmt: skip
        mass_rows(laws, arrays, tolerance, own, scratch)
        for whole, part in zip(found, own, strict=True):
            if len(whole):
                whole[plain] = part
    if priced.size:
        _priced_rows(laws, law, corners, priced, tolerance, found, scratch, np.empty((MAX_FIBRES, FIBRE)))


def _add_up(rows: RowArrays, t: int, found: Output, own: slice, out: Output) -> None:
    """Write what the pieces of one row say together."""
    logs = found.log_mass[own]
    if not np.all(np.isfinite(found.error[own]) & ~np.isnan(logs)):
        out.log_mass[t], out.error[t] = -np.inf, np.inf
        return
    top = float(logs.max())
    shares = np.exp(logs - top)
    size = float(shares.sum())
    shares /= size
    out.log_mass[t], out.error[t] = min(top + np.log(size), 0.0), float(shares @ found.error[own])
    if len(out.gradient) == 0 or not out.error[t] < HOPELESS:
        return
    slopes = found.gradient[own]
    mean = shares @ slopes
    out.gradient[t] = mean
    if len(out.covariance):
        within = np.einsum("p,pij->ij", shares, found.covariance[own])
        between = (slopes * shares[:, None]).T @ slopes - np.outer(mean, mean)
        out.covariance[rows.run[t]] += rows.repeats[t] * np.tril(within + between)
