"""The same numbers before and after: every sampler, both models, masses, demand, design, on two commits.

``python -m benchmarks same_numbers --against COMMIT`` computes the cases of `benchmarks.cases` from the sources of that
commit and from those at hand, and says for each whether they agree bit for bit. With ``--reordered`` a change in the
order of summation is allowed for: masses and their sums may then differ by 1e-12, runs of 30 steps by 1e-8, relative to
the number, or to 1 where it is smaller. The exit status is 1 if any case is out of its band.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks.cases import CASES, Numbers, can_run
from benchmarks.sides import Side, two_sides

NOTHING = "no numbers"


def difference(old: np.ndarray, new: np.ndarray) -> float:
    """Return 0 for equal bits, else the largest difference relative to the numbers or to 1; inf where none is told."""
    if old.dtype == new.dtype and old.shape == new.shape and old.tobytes() == new.tobytes():
        return 0.0
    if old.shape != new.shape or old.dtype.kind not in "fiu" or new.dtype.kind not in "fiu":
        return np.inf
    a, b = old.astype(np.float64), new.astype(np.float64)
    alike = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        apart = np.where(alike, 0.0, np.abs(a - b) / np.maximum(1.0, np.maximum(np.abs(a), np.abs(b))))
    # Bits that differ by the sign of a zero or the type of the number are not the same bits.
    return max(float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0.0)), np.finfo(float).tiny)


def compare(old: Numbers | str, new: Numbers | str, allowed: float) -> tuple[bool, str]:
    """Return whether the numbers of a case are within what is allowed, and a phrase; texts say why there are none."""
    failed = [f"{side} fails: {why}" for side, why in (("old", old), ("new", new)) if isinstance(why, str)]
    if isinstance(old, str) or isinstance(new, str):
        return False, "; ".join(failed)
    missing = [name for name in old if name not in new]
    if missing:
        return False, f"new lacks {', '.join(missing[:3])}" + (" …" if len(missing) > 3 else "")
    apart = {name: difference(values, new[name]) for name, values in old.items()}
    worst = max(apart, key=lambda name: apart[name])
    added = len(new.keys() - old.keys())
    also = f"; new has {added} more" if added else ""
    if apart[worst] == 0.0:
        return True, f"equal{also}"
    n_apart = sum(value > 0 for value in apart.values())
    shown = f"{apart[worst]:.1e}" if apart[worst] < np.inf else "not comparable"
    words = f"{shown}, allowed {allowed:g}: {worst}, {n_apart} of {len(apart)} arrays differ{also}"
    return apart[worst] <= allowed, words


def read_numbers(folder: Path, name: str) -> Numbers | str:
    """Return the numbers of a case, or why there are none."""
    if (folder / f"{name}.npz").is_file():
        with np.load(folder / f"{name}.npz") as stored:
            return dict(stored)
    reason = folder / f"{name}.txt"
    return reason.read_text(encoding="utf-8") if reason.is_file() else NOTHING


def compute_both(work: Sequence[tuple[Side, Path]], names: Sequence[str]) -> None:
    """Compute on all sides at once what is not kept; a case that ends its process is noted, and the others go on."""
    left = {folder: [name for name in names if not (folder / f"{name}.npz").is_file()] for _, folder in work}
    for folder, missing in left.items():
        for name in missing:
            (folder / f"{name}.txt").unlink(missing_ok=True)
    while any(left.values()):
        running = [(folder, side.start("cases", str(folder), *left[folder])) for side, folder in work if left[folder]]
        try:
            for folder, process in running:
                status = process.wait()
                rest = [name for name in left[folder] if read_numbers(folder, name) == NOTHING]
                if rest:
                    (folder / f"{rest[0]}.txt").write_text(f"the process ended with status {status}")
                left[folder] = rest[1:]
        finally:
            for _, process in running:
                process.terminate()  # what is not done where this one is stopped


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks same_numbers", description=__doc__)
    parser.add_argument("--against", required=True, metavar="COMMIT", help="the old side")
    parser.add_argument("--to", metavar="COMMIT", help="the new side; the working tree if left out")
    parser.add_argument("--reordered", action="store_true", help="allow for another order of summation")
    parser.add_argument("--only", default="", metavar="WORD", help="cases whose name holds this word")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the numbers of commits, and take them again")
    options = parser.parse_args()
    chosen = [one for one in CASES.values() if options.only in one.name]
    names = [one.name for one in chosen if can_run(one)]
    if not names:
        sys.exit(f"no case holds {options.only!r}; there are {', '.join(CASES)}")
    with ExitStack() as stack:
        sides = stack.enter_context(two_sides(options.against, options.to))
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stochpref-numbers-")))
        folders = [_folder_of(side, options.keep, temporary / str(k)) for k, side in enumerate(sides)]
        print(f"{len(names)} cases, {sides[0].name} (old) against {sides[1].name} (new)", flush=True)
        compute_both(list(zip(sides, folders, strict=True)), names)
        found = {name: tuple(read_numbers(folder, name) for folder in folders) for name in names}
    sys.exit(show(found, [one.name for one in chosen if not can_run(one)], reordered=options.reordered))


def _folder_of(side: Side, kept: Path | None, temporary: Path) -> Path:
    """Return where the numbers of a side go, or are: those of a commit and of these very cases can be kept."""
    folder = temporary
    if kept is not None and side.commit:
        texts = b"".join(path.read_bytes() for path in sorted((Path(__file__).parent / "cases").glob("*.py")))
        folder = kept / f"{side.commit[:12]}-{hashlib.sha256(texts).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def show(found: dict[str, tuple[Numbers | str, ...]], left_out: Sequence[str], *, reordered: bool) -> int:
    """Print a line for each case; return the exit status."""
    n_equal, n_within, out = 0, 0, []
    for name, (old, new) in found.items():
        is_within, words = compare(old, new, CASES[name].reordered if reordered else 0.0)
        is_equal = words.startswith("equal")
        n_equal += is_equal
        n_within += is_within and not is_equal
        if not is_within:
            out.append(name)
        print(f"{'' if is_within else '!':<2}{name:<34}{words}")
    for name in left_out:
        print(f"  {name:<34}left out: {CASES[name].needs} is not installed")
    print(f"{n_equal} equal bit for bit, {n_within} as near as another order of summation allows, {len(out)} not")
    if out:
        print(f"not the same: {', '.join(out)}")
    return 1 if out else 0


if __name__ == "__main__":
    main()
