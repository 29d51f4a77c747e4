# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The utility that explains most bundles of whole goods, and the proof that none explains more.

Off one menu it is any that buys the most frequent bundle: two bundles off one menu share no utility. Off different
menus, as with divisible goods: conflicts (`exchanges`), a greedy cover, what is kept made to share a utility by linear
programmes (`cuts`), whatever fits added back; then a matching of odd to kept observations along conflicts, and groups
that a programme has proven impossible. While that leaves the proof open: the relaxation of the cover, further covers,
and a mixed-integer programme over which observations to keep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from stochpref.consensus.cones import find_middle
from stochpref.consensus.cuts import Buyers, Depths, find_depths, is_proof, no_cuts
from stochpref.consensus.effort import Effort
from stochpref.consensus.exchanges import Deals, all_conflicts, conflicts_between, deals_of
from stochpref.consensus.program import LARGEST as LARGEST_PROGRAMME
from stochpref.consensus.program import keep_most
from stochpref.consensus.relaxation import as_bits, relax_conflicts
from stochpref.problems.interval_regions import IntervalRegions

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
Report = Callable[[str], None]

_MOST_CORES: Final = 20  # groups taken from one set that shares no utility
_MOST_ROUNDS: Final = 4  # of samples of many observations
_SHOWN: Final = 4  # kept observations to each odd one, in a proof over many


class Shared(NamedTuple):
    """A utility, what it explains and what is proven about it; fields as in `solving.Solution`."""

    utility: Array
    is_consistent: Mask
    upper_bound: int
    witness: Indices
    samples: Array
    steps: tuple[str, ...]


class Bound(NamedTuple):
    """What conflicts and groups prove of a set that is kept.

    number : no utility explains more. witness : (T,) a kept observation in conflict with each odd one; -1 for none.
    """

    number: int
    witness: Indices


def solve_bundles(
    regions: IntervalRegions, *, centre: str, effort: Effort, rng: np.random.Generator, report: Report
) -> Shared:
    """Return the utility consistent with most observations, with the bound proven.

    Parameters
    ----------
    regions : none of them degenerate.
    centre : which of the utilities that explain as much, one of `names.CENTRES`.
    report : called with a line after every step.
    """
    if _is_one_menu(regions):
        return _most_frequent(regions, centre=centre, rng=rng, report=report)
    if len(regions) > effort.core_size:
        return _solve_large(regions, centre=centre, effort=effort, rng=rng, report=report)
    search = _Search(regions, effort, rng, report)
    search.run()
    return search.settled(regions, centre, rng)


def _is_one_menu(regions: IntervalRegions) -> bool:
    rows = regions.rows
    return all(bool((values == values[:1]).all()) for values in (rows.prices, rows.stated, rows.caps, rows.units))


def _most_frequent(regions: IntervalRegions, *, centre: str, rng: np.random.Generator, report: Report) -> Shared:
    """Return a utility that buys the most frequent bundle; of equally frequent ones the one that came first."""
    keys = np.round(regions.rows.bundles, 9)
    _, first, place, counts = np.unique(keys, axis=0, return_index=True, return_inverse=True, return_counts=True)
    best = int(np.lexsort((first, -counts))[0])
    kept = place.ravel() == best
    buyers, row = Buyers(regions.rows), int(first[best])
    alone = np.arange(len(regions)) == row
    found = find_depths(buyers, alone, no_cuts(regions.n_goods), regions.inside[row])
    middle = find_middle(buyers, alone, found, centre, rng=rng)
    step = f"one menu for all: the most frequent bundle, {int(kept.sum())} of {len(regions)}, which none exceeds"
    report(step)
    witness = np.where(kept, -1, row)
    return Shared(middle.utility, kept, int(kept.sum()), witness, middle.samples, (step,))


class _Search:
    """The best set so far and the best bound; every step reports to it."""

    def __init__(self, regions: IntervalRegions, effort: Effort, rng: np.random.Generator, report: Report) -> None:
        self.size, self.effort, self.rng, self.report = len(regions), effort, rng, report
        self.buyers = Buyers(regions.rows)
        self.conflict = all_conflicts(deals_of(regions.rows))
        self.n_conflicts = self.conflict.sum(axis=1)
        self.found = Depths(regions.inside[0], no_cuts(regions.n_goods), no_cuts(regions.n_goods))
        self.kept: Mask = np.zeros(self.size, np.bool_)
        self.bound = self.size
        self.witness = np.full(self.size, -1, np.intp)
        self.steps: list[str] = []

    @property
    def is_open(self) -> bool:
        return int(self.kept.sum()) < self.bound

    def run(self) -> None:
        """Look for the largest set of observations that share a utility, until it is proven or the effort spent."""
        self.offer(cover(self.conflict, self.rng))
        self.prove()
        self.note("greedy cover")
        if self.is_open:
            relaxed = relax_conflicts(as_bits(self.conflict))
            self.bound = min(self.bound, relaxed.upper_bound)
            kept, undecided = relaxed.is_kept.copy(), np.flatnonzero(relaxed.is_undecided)
            kept[undecided] = cover(self.conflict[np.ix_(undecided, undecided)], self.rng)
            self.consider(kept)
            self.note("linear relaxation")
        if self.is_open and self.effort.n_chains:
            for utility in descend(self.buyers, self.effort.n_chains, self.effort.n_sweeps, self.rng):
                odd = np.unique(self.buyers.cuts(utility, np.arange(self.size)).owner)
                kept = np.ones(self.size, np.bool_)
                kept[odd] = False
                if self.offer(kept):
                    self.prove()
            self.note(f"{self.effort.n_chains} descents")
        if self.is_open and self.effort.n_restarts:
            for seed in self.rng.permutation(self.size)[: self.effort.n_restarts]:
                self.consider(cover(self.conflict, self.rng, seed=int(seed)))
            self.note(f"{self.effort.n_restarts} restarts")
        if self.is_open and self.effort.seconds > 0 and self.size <= LARGEST_PROGRAMME:
            programme = keep_most(self.conflict, self.impossible, seconds=self.effort.seconds)
            self.bound = min(self.bound, programme.upper_bound)
            if programme.kept is not None:
                self.consider(programme.kept)
            self.note("mixed-integer programme")

    def consider(self, kept: Mask) -> None:
        """Offer a set unless it is too small to be worth it; prove what is better."""
        if kept.sum() >= self.kept.sum() and self.offer(kept):
            self.prove()

    def offer(self, kept: Mask) -> bool:
        """Make a set share a utility and add what fits; keep it if it is larger."""
        kept, found = self.completed(*self.repaired(kept))
        if self.steps and kept.sum() <= self.kept.sum():
            return False
        self.kept, self.found = kept, found
        return True

    def repaired(self, kept: Mask) -> tuple[Mask, Depths]:
        """Return a set less the observations in most conflicts of what stands in its way, until it shares a utility."""
        kept, known, start = kept.copy(), self.found.cuts, self.found.utility
        assert start is not None
        while True:
            found = find_depths(self.buyers, kept, known, start)
            if found.utility is not None:
                return kept, found
            owners = np.unique(found.core.owner)
            kept[owners[np.argmax(self.n_conflicts[owners])]] = False
            known = found.cuts

    def completed(self, kept: Mask, found: Depths) -> tuple[Mask, Depths]:
        """Return a set and whatever else fits, the least conflicted first."""
        could_join = ~kept & ~self.conflict[:, kept].any(axis=1)
        for t in np.flatnonzero(could_join)[np.argsort(self.n_conflicts[could_join], kind="stable")]:
            if self.conflict[t, kept].any():
                continue
            wider = kept.copy()
            wider[t] = True
            assert found.utility is not None
            other = find_depths(self.buyers, wider, found.cuts, found.utility)
            if other.utility is not None:
                kept, found = wider, other
        return kept, found

    def impossible(self, kept: Mask) -> list[list[int]]:
        """Return groups of a set that share no utility, proven, no two with an observation in common."""
        groups: list[list[int]] = []
        left, known, start = kept.copy(), self.found.cuts, self.found.utility
        assert start is not None
        while len(groups) < _MOST_CORES:
            found = find_depths(self.buyers, left, known, start)
            if found.utility is not None:
                break
            owners = np.unique(found.core.owner)
            if is_proof(found.core):
                groups.append(owners.tolist())
            left[owners], known = False, found.cuts
        return groups

    def prove(self) -> None:
        """Lower the bound by what the set now kept tells."""
        proven = certify_bundles(self.conflict, self.kept, self.core_with)
        self.bound, self.witness = min(self.bound, proven.number), proven.witness

    def core_with(self, t: int, free: Mask) -> Indices:
        """Return observations by which t is proven to be excluded, of those that are free; none without proof."""
        together = free.copy()
        together[t] = True
        assert self.found.utility is not None
        found = find_depths(self.buyers, together, self.found.cuts, self.found.utility)
        if found.utility is not None or not is_proof(found.core):
            return np.empty(0, np.intp)
        return np.setdiff1d(found.core.owner, [t])

    def note(self, step: str) -> None:
        self.steps.append(f"{step}: {int(self.kept.sum())} consistent, at most {self.bound}")
        self.report(self.steps[-1])

    def settled(self, regions: IntervalRegions, centre: str, rng: np.random.Generator) -> Shared:
        """Return the centre asked for and what it explains, counted anew."""
        utility, samples, explained = settle_bundles(regions, self.buyers, self.kept, self.found, centre, rng)
        return Shared(utility, explained, self.bound, self.witness, samples, tuple(self.steps))


def settle_bundles(
    regions: IntervalRegions, buyers: Buyers, kept: Mask, found: Depths, centre: str, rng: np.random.Generator
) -> tuple[Array, Array, Mask]:
    """Return a centre, samples and what the centre explains; the deepest utility where rounding costs it some."""
    middle = find_middle(buyers, kept, found, centre, rng=rng)
    explained = regions.contains(middle.utility, strict=True)
    if explained.sum() >= kept.sum() or found.utility is None:
        return middle.utility, middle.samples, explained
    deepest = found.utility / np.linalg.norm(found.utility)
    by_deepest = regions.contains(deepest, strict=True)
    if by_deepest.sum() > explained.sum():
        return deepest, middle.samples, by_deepest
    return middle.utility, middle.samples, explained


def cover(conflict: Mask, rng: np.random.Generator, *, seed: int | None = None) -> Mask:
    """Return observations (T,) without conflicts among them: those in most conflicts go first, ties at random.

    Parameters
    ----------
    seed : an observation to keep whatever its conflicts.
    """
    alive = np.ones(len(conflict), np.bool_)
    if seed is not None:
        alive &= ~conflict[seed]
    left = (conflict & alive).sum(axis=1) + 0.5 * rng.random(len(conflict))
    while alive.any():
        worst = int(np.argmax(np.where(alive, left, -1.0)))
        if left[worst] < 1.0:
            break
        alive[worst] = False
        left -= conflict[worst]
    return alive


def descend(buyers: Buyers, n_starts: int, n_steps: int, rng: np.random.Generator) -> Array:
    """Return utilities (k, n) under which customers lose little by what was bought in place of what they would buy.

    The sum of such losses is convex, and steps against it are taken with half of the observations, drawn anew for each
    start: odd ones pull, but not far.
    """
    size, n = buyers.rows.bundles.shape
    found = np.empty((n_starts, n))
    for k in range(n_starts):
        some = np.sort(rng.permutation(size)[: max(size // 2, 1)])
        u: Array = rng.standard_normal((n,))
        u, total = u / float(np.linalg.norm(u)), np.zeros(n)
        for step in range(n_steps):
            better = buyers.cuts(u, some)
            if not better.owner.size:
                total = u
                break
            pull = better.normals.sum(axis=0)
            u = u + pull / (float(np.linalg.norm(pull)) + 1e-12) / np.sqrt(step + 1.0)
            u = u / float(np.linalg.norm(u))
            total += u * (2 * step > n_steps)
        found[k] = total / max(float(np.linalg.norm(total)), 1e-12)
    return found


def certify_bundles(conflict: Mask, kept: Mask, core_fn: Callable[[int, Mask], Indices]) -> Bound:
    """Return the bound that disjoint groups prove, of each of which one at least must go; and who excludes whom.

    Groups are pairs of an odd and a kept observation in conflict, as many as can be; further odd ones join a pair both
    of whom they conflict with, or take a group of kept ones that are still free.

    Parameters
    ----------
    core_fn : returns of an observation and free ones a group of these that excludes it, proven.
    """
    odd, held = np.flatnonzero(~kept), np.flatnonzero(kept)
    between, witness = conflict[np.ix_(odd, held)], np.full(len(kept), -1, np.intp)
    mate = np.full(odd.size, -1)
    if odd.size and held.size:
        mate = maximum_bipartite_matching(csr_array(between.astype(np.int8)), perm_type="column")
        excluded = between.any(axis=1)
        witness[odd[excluded]] = held[np.argmax(between[excluded], axis=1)]
        witness[odd[mate >= 0]] = held[mate[mate >= 0]]
    groups = [[int(odd[k]), int(held[mate[k]])] for k in np.flatnonzero(mate >= 0)]
    free = kept.copy()
    free[held[mate[mate >= 0]]] = False
    unproven = 0
    for t in odd[mate < 0]:
        clique = next((group for group in groups if conflict[t, group].all()), None)
        if clique is not None:
            clique.append(int(t))
            continue
        others = core_fn(int(t), free)
        if others.size:
            free[others] = False
        else:
            unproven += 1
    return Bound(int(kept.sum()) + unproven, witness)


def find_excluders(regions: IntervalRegions, held: Mask, t: int) -> tuple[int, ...]:
    """Return observations of a set that shares a utility by which t is excluded; () if it could join or no proof is."""
    others = np.flatnonzero(held)
    conflicts = conflicts_between(deals_of(regions.rows), np.array([t]), others)[0]
    if conflicts.any():
        return (int(others[np.argmax(conflicts)]),)
    together = held.copy()
    together[t] = True
    found = find_depths(Buyers(regions.rows), together, no_cuts(regions.n_goods), regions.inside[t])
    if found.utility is not None or not is_proof(found.core):
        return ()
    return tuple(int(owner) for owner in np.unique(found.core.owner) if owner != t)


def _solve_large(
    regions: IntervalRegions, *, centre: str, effort: Effort, rng: np.random.Generator, report: Report
) -> Shared:
    """Solve a sample; let what disagrees with its utility but conflicts with nothing kept join; prove it over all."""
    deals, active = deals_of(regions.rows), np.sort(rng.choice(len(regions), effort.core_size, replace=False))
    steps: list[str] = []
    best: tuple[Array, Array, Mask] | None = None
    for _ in range(_MOST_ROUNDS):
        part = regions[active]
        search = _Search(part, effort, rng, report)
        search.run()
        middle = find_middle(search.buyers, search.kept, search.found, centre, rng=rng)
        explained = regions.contains(middle.utility, strict=True)
        steps.append(f"core of {active.size}: {int(explained.sum())} of {len(regions)} consistent")
        report(steps[-1])
        if best is not None and explained.sum() <= best[2].sum():
            break
        best = middle.utility, middle.samples, explained
        odd = np.setdiff1d(np.flatnonzero(~explained), active)
        joining = odd[~conflicts_between(deals, odd, active[search.kept]).any(axis=1)]
        if not joining.size:
            break
        active = np.union1d(active, rng.permutation(joining)[: effort.core_size // 4])
    assert best is not None
    bound, witness = _prove_large(deals, best[2], rng)
    steps.append(f"proof over all: {int(best[2].sum())} consistent, at most {bound}")
    report(steps[-1])
    return Shared(best[0], best[2], bound, witness, best[1], tuple(steps))


def _prove_large(deals: Deals, explained: Mask, rng: np.random.Generator) -> tuple[int, Indices]:
    """Exclude odd observations by a random share of those explained; the bound holds for all."""
    odd, held = np.flatnonzero(~explained), np.flatnonzero(explained)
    shown = np.sort(rng.permutation(held)[: max(_SHOWN * odd.size, 2000)])
    between, witness = conflicts_between(deals, odd, shown), np.full(len(explained), -1, np.intp)
    excluded = between.any(axis=1)
    witness[odd[excluded]] = shown[np.argmax(between[excluded], axis=1)]
    mate = maximum_bipartite_matching(csr_array(between.astype(np.int8)), perm_type="column")
    witness[odd[mate >= 0]] = shown[mate[mate >= 0]]
    return int(held.size + (mate < 0).sum()), witness
