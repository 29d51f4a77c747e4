"""Two states of the sources: for a commit, a work tree and an environment of its own, outside the project.

A side is run by child processes that import its sources; the benchmarks themselves are always those at hand, so they
must use public names only. Kernels are compiled afresh: numba does not see that a function called by a kernel changed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
_EXTRAS: Final = ("jax", "dask")


class Side(NamedTuple):
    """Sources to run.

    name : of the commit, as people read it.
    commit : its hash; "" for the working tree.
    source : the folder to import from.
    python : the interpreter that has what they need.
    cache : where their compiled kernels go.
    """

    name: str
    commit: str
    source: Path
    python: str
    cache: Path

    def start(self, module: str, *arguments: str, **options: Any) -> subprocess.Popen[Any]:
        """Start ``python -m benchmarks.MODULE`` on these sources."""
        environment = os.environ | {"PYTHONPATH": str(self.source), "NUMBA_CACHE_DIR": str(self.cache)}
        command = [self.python, "-m", f"benchmarks.{module}", *arguments]
        return subprocess.Popen(command, cwd=ROOT, env=environment, **options)


@contextmanager
def two_sides(old: str, new: str | None = None) -> Iterator[tuple[Side, Side]]:
    """Yield a commit and another one, the working tree if None, ready to run as long as this lasts."""
    trees: list[Path] = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that the work trees go, as at Ctrl-C
    with tempfile.TemporaryDirectory(prefix="stochpref-sides-") as folder:
        home = Path(folder)
        try:
            yield _side(old, home / "old", trees), _side(new, home / "new", trees)
        finally:
            for tree in trees:
                subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=False)


def commit_of(name: str) -> str:
    """Return the hash of a commit."""
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    return found.stdout.strip() or sys.exit(f"no commit {name!r} in {ROOT}")


def _side(name: str | None, home: Path, trees: list[Path]) -> Side:
    home.mkdir()
    if name is None:
        return _checked(Side("working tree", "", ROOT / "src", sys.executable, home / "kernels"))
    commit, tree = commit_of(name), home / "tree"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit], cwd=ROOT, check=True)
    trees.append(tree)
    python = sys.executable if _is_installed(tree) else _environment(tree, home / "environment")
    return _checked(Side(commit[:9], commit, tree / "src", python, home / "kernels"))


def _is_installed(tree: Path) -> bool:
    """Tell whether what a work tree needs is among what `make test` installs for the one at hand."""
    return _pins(tree) <= _pins(ROOT) and _needs(tree) <= _needs(ROOT, "test")


def _needs(tree: Path, *also: str) -> set[str]:
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    return {*project["dependencies"], *(need for name in (*_EXTRAS, *also) for need in extras.get(name, ()))}


def _pins(tree: Path) -> set[str]:
    """Return the versions that a work tree is tested with; packages that only the other one pins change nothing."""
    return set((tree / "constraints.txt").read_text(encoding="utf-8").split())


def _environment(tree: Path, home: Path) -> str:
    """Install what a work tree needs; return the interpreter."""
    print(f"{tree.parent.name}: other requirements, installing them in {home}", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = str(home / "bin" / "python")
    wanted = f"{tree}[test,{','.join(_EXTRAS)}]"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "-e", wanted, "-c", str(tree / "constraints.txt")], check=True
    )
    return python


def _checked(side: Side) -> Side:
    """Refuse a side whose interpreter would import other sources."""
    found = subprocess.run(
        [side.python, "-c", "import stochpref; print(stochpref.__file__)"],
        cwd=ROOT, check=True, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(side.source)},
    )  # fmt: skip
    if not Path(found.stdout.strip()).is_relative_to(side.source):
        sys.exit(f"{side.name}: expected the sources in {side.source}; Python imports {found.stdout.strip()}")
    return side
