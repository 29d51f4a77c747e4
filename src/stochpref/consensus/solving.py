# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The certified solver: greedy cover, repair, certificate; then, only while the proof is open, the dearer steps.

Of more than `Effort.core_size` observations a sample is solved first; its cell is cut by the observations that disagree
with it until none helps, and the proof is made over all observations. Where that proof fails all pairs are compared, up
to `Effort.largest_direct` observations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.consensus.centre import Centre, chebyshev_point, find_centre, middle_point, vertex_point
from stochpref.consensus.certificate import certify
from stochpref.consensus.conflicts import count_conflicts
from stochpref.consensus.cover import keep_greedily
from stochpref.consensus.effort import Effort
from stochpref.consensus.feasibility import Cell, complete, find_fitting, repair
from stochpref.consensus.objective import Array, Mask, Packed, is_consistent, pack, take
from stochpref.consensus.polish import cool
from stochpref.consensus.program import LARGEST as LARGEST_PROGRAMME
from stochpref.consensus.program import solve_programme
from stochpref.consensus.relaxation import LARGEST as LARGEST_RELAXATION
from stochpref.consensus.relaxation import relax
from stochpref.regions import Regions

Report = Callable[[str], None]
CountFn = Callable[[Packed], NDArray[np.int64]]


class Solution(NamedTuple):
    """A utility, what it explains and what is proven about it.

    utility : (n,) unit vector.
    is_consistent : (T,) the observations it explains, strictly.
    upper_bound : no utility explains more.
    witness : (T,) for an odd observation, one that excludes it; -1 where none was found.
    samples : (k, n) utilities drawn from the same cell.
    cell : the cell.
    steps : what was done, in words, with what it reached.
    """

    utility: Array
    is_consistent: Mask
    upper_bound: int
    witness: NDArray[np.int64]
    samples: Array
    cell: Cell
    steps: tuple[str, ...]

    @property
    def n_consistent(self) -> int:
        """Number of observations explained."""
        return int(self.is_consistent.sum())


class _Search:
    """The best set so far and the best bound; every step reports to it."""

    def __init__(self, packed: Packed, report: Report, count_fn: CountFn) -> None:
        self.packed, self.report = packed, report
        self.n_conflicts = count_fn(packed)
        self.kept: Mask = np.zeros(packed.pivot.size, np.bool_)
        self.bound: int = packed.pivot.size
        self.witness = np.full(packed.pivot.size, -1)
        self.cell: Cell
        self.steps: list[str] = []

    @property
    def is_open(self) -> bool:
        return int(self.kept.sum()) < self.bound

    def offer(self, kept: Mask) -> bool:
        """Make a candidate feasible and complete; keep it if it is larger."""
        kept, cell = complete(self.packed, repair(self.packed, kept, self.n_conflicts), self.n_conflicts)
        is_better = not self.steps or kept.sum() > self.kept.sum()
        if is_better:
            self.kept, self.cell = kept, cell
        return bool(is_better)

    def prove(self) -> None:
        certificate = certify(self.packed, self.kept)
        self.bound, self.witness = min(self.bound, certificate.upper_bound), certificate.witness

    def note(self, step: str) -> None:
        self.steps.append(f"{step}: {int(self.kept.sum())} consistent, at most {self.bound}")
        self.report(self.steps[-1])


def search(
    packed: Packed, effort: Effort, *, rng: np.random.Generator, report: Report, count_fn: CountFn = count_conflicts
) -> _Search:
    """Look for the largest set of observations that share a utility, until it is proven or the effort is spent."""
    found = _Search(packed, report, count_fn)
    found.offer(keep_greedily(packed, found.n_conflicts, rng=rng))
    found.prove()
    found.note("greedy cover")
    if found.is_open and packed.pivot.size <= LARGEST_RELAXATION:
        _relax(found, rng)
    if found.is_open and effort.n_restarts:
        seeds = rng.permutation(packed.pivot.size)[: effort.n_restarts]
        is_better = False
        for seed in seeds:
            is_better |= found.offer(keep_greedily(packed, found.n_conflicts, rng=rng, seed=int(seed)))
        if is_better:
            found.prove()
        found.note(f"{len(seeds)} restarts")
    if found.is_open and effort.seconds > 0 and packed.pivot.size <= LARGEST_PROGRAMME:
        programme = solve_programme(packed, seconds=effort.seconds)
        found.bound = min(found.bound, programme.upper_bound)
        if programme.kept is not None and found.offer(programme.kept):
            found.prove()
        found.note("mixed-integer programme")
    if found.is_open and effort.n_chains:
        _polish(found, effort, rng)
    return found


def _relax(found: _Search, rng: np.random.Generator) -> None:
    """Keep what the linear relaxation keeps, and cover greedily what it leaves undecided."""
    relaxation = relax(found.packed)
    found.bound = min(found.bound, relaxation.upper_bound)
    kept = relaxation.is_kept.copy()
    undecided = np.flatnonzero(relaxation.is_undecided)
    if undecided.size:
        part = take(found.packed, undecided)
        kept[undecided] = keep_greedily(part, count_conflicts(part), rng=rng)
    if found.offer(kept):
        found.prove()
    found.note("linear relaxation")


def _polish(found: _Search, effort: Effort, rng: np.random.Generator) -> None:
    """Cool several chains, half from the cell found so far, half from anywhere."""
    n = found.packed.slope.shape[1]
    starts = rng.standard_normal((effort.n_chains, n))
    starts[: (effort.n_chains + 1) // 2] = middle_point(found.cell)
    is_better = False
    for utility in cool(found.packed, starts, rng=rng, n_sweeps=effort.n_sweeps):
        is_better |= found.offer(_explained(found.packed, utility))
    if is_better:
        found.prove()
    found.note(f"heat bath of {effort.n_chains} chains")


def _explained(packed: Packed, utility: Array) -> Mask:
    regions = Regions(packed.kind, packed.side, packed.slope, packed.pivot, 1.0)
    return is_consistent(regions, utility)


def settle(regions: Regions, cell: Cell, centre: str, *, rng: np.random.Generator) -> tuple[Centre, Mask]:
    """Return the centre asked for and what it explains, verified; another point of the cell if rounding costs it some.

    Cells of the width of a rounding error exist in contrived data: the count that is reported is the verified one.
    """
    chosen = find_centre(cell, centre, rng=rng)
    explained = is_consistent(regions, chosen.utility)
    for other_fn in (middle_point, chebyshev_point, vertex_point):
        if explained.sum() >= cell.n_kept:
            break
        other = other_fn(cell)
        explained_by_other = is_consistent(regions, other)
        if explained_by_other.sum() > explained.sum():
            chosen, explained = Centre(other, chosen.samples), explained_by_other
    return chosen, explained


def solve(
    regions: Regions,
    *,
    centre: str,
    effort: Effort,
    rng: np.random.Generator,
    report: Report = lambda _: None,
    count_fn: CountFn = count_conflicts,
) -> Solution:
    """Return the utility consistent with most observations, with the bound proven.

    Parameters
    ----------
    regions : none of them degenerate.
    centre : which utility of the best cell, one of `names.CENTRES`.
    report : called with a line after every step.
    count_fn : counts the conflicts of each observation, here or on a cluster.
    """
    if len(regions) > effort.core_size:
        solution = _solve_large(regions, centre=centre, effort=effort, rng=rng, report=report)
        if solution.n_consistent == solution.upper_bound or len(regions) > effort.largest_direct:
            return solution
        directly = _solve_directly(regions, centre=centre, effort=effort, rng=rng, report=report, count_fn=count_fn)
        bound = min(solution.upper_bound, directly.upper_bound)
        best = max(directly, solution, key=lambda one: one.n_consistent)
        return best._replace(upper_bound=bound, steps=solution.steps + directly.steps)
    return _solve_directly(regions, centre=centre, effort=effort, rng=rng, report=report, count_fn=count_fn)


def _solve_directly(
    regions: Regions, *, centre: str, effort: Effort, rng: np.random.Generator, report: Report, count_fn: CountFn
) -> Solution:
    """Compare all pairs."""
    found = search(pack(regions), effort, rng=rng, report=report, count_fn=count_fn)
    chosen, explained = settle(regions, found.cell, centre, rng=rng)
    return Solution(
        chosen.utility, explained, found.bound, found.witness, chosen.samples, found.cell, tuple(found.steps)
    )


def _solve_large(
    regions: Regions, *, centre: str, effort: Effort, rng: np.random.Generator, report: Report
) -> Solution:
    best, steps = _solve_core(regions, centre=centre, effort=effort, rng=rng, report=report)
    bound, witness = _prove_large(regions, best.explained, rng=rng)
    if best.n_explained < bound and effort.n_chains and len(regions) > effort.largest_direct:
        better = _polish_large(regions, best, centre=centre, rng=rng)
        if better.n_explained > best.n_explained:
            best = better
            further, witness = _prove_large(regions, best.explained, rng=rng)
            bound = min(bound, further)
    steps.append(f"proof over all: {best.n_explained} consistent, at most {bound}")
    report(steps[-1])
    chosen = best.centre
    return Solution(chosen.utility, best.explained, bound, witness, chosen.samples, best.cell, tuple(steps))


class _Settled(NamedTuple):
    centre: Centre
    explained: Mask
    cell: Cell

    @property
    def n_explained(self) -> int:
        return int(self.explained.sum())


def _solve_core(
    regions: Regions, *, centre: str, effort: Effort, rng: np.random.Generator, report: Report
) -> tuple[_Settled, list[str]]:
    """Solve a sample; let what disagrees with its centre but not with its cell join, until nothing does."""
    active = np.sort(rng.choice(len(regions), min(effort.core_size, len(regions)), replace=False))
    best: _Settled | None = None
    steps: list[str] = []
    # The dear steps pay where nothing follows: on the first core of data too large to compare all pairs of.
    light = replace(effort, n_restarts=0, n_chains=0, seconds=0.0)
    for k in range(12):
        is_heavy = k == 0 and len(regions) > effort.largest_direct
        found = search(pack(regions[active]), effort if is_heavy else light, rng=rng, report=report)
        settled = _Settled(*settle(regions, found.cell, centre, rng=rng), found.cell)
        steps.append(f"core of {active.size}: {settled.n_explained} of {len(regions)} consistent")
        report(steps[-1])
        if best is None or settled.n_explained > best.n_explained:
            best = settled
        odd = np.flatnonzero(~settled.explained)
        cutting = np.setdiff1d(odd[find_fitting(pack(regions[odd]), found.cell)], active)
        if cutting.size == 0:
            break
        active = np.union1d(active, rng.permutation(cutting)[: effort.core_size])
    assert best is not None
    return best, steps


def _polish_large(regions: Regions, best: _Settled, *, centre: str, rng: np.random.Generator) -> _Settled:
    """Cool two chains over all observations, from where the core ended; a few seconds' worth of sweeps."""
    packed = pack(regions)
    n_sweeps = int(np.clip(2e9 / packed.slope.size / regions.n_goods, 4, 15))
    starts = np.tile(best.centre.utility, (2, 1))
    found = cool(packed, starts, rng=rng, n_sweeps=n_sweeps, betas=(1.0, 6.0))
    counts = [int(is_consistent(regions, u).sum()) for u in found]
    any_order = rng.permutation(len(regions))
    explained = is_consistent(regions, found[int(np.argmax(counts))])
    _, cell = complete(packed, repair(packed, explained, any_order), any_order)
    return _Settled(*settle(regions, cell, centre, rng=rng), cell)


def _prove_large(regions: Regions, explained: Mask, *, rng: np.random.Generator) -> tuple[int, NDArray[np.int64]]:
    """Exclude the odd observations by a random share of the kept ones, four to each; the bound holds for all."""
    kept, odd = np.flatnonzero(explained), np.flatnonzero(~explained)
    shown = rng.permutation(kept)[: max(4 * odd.size, 2000)]
    rows = np.sort(np.concatenate([shown, odd]))
    certificate = certify(pack(regions[rows]), explained[rows])
    witness = np.full(len(regions), -1)
    has_witness = certificate.witness >= 0
    witness[rows[has_witness]] = rows[certificate.witness[has_witness]]
    return certificate.upper_bound + kept.size - shown.size, witness
