"""Run benchmarks: the usual ones, those named with their arguments, or both sides of a change.

``python -m benchmarks`` runs the usual ones, ``python -m benchmarks choice regions`` those two, ``python -m benchmarks
consensus scores --size full`` one with arguments of its own, ``python -m benchmarks --list`` says what there is.
``python -m benchmarks --against COMMIT`` times a commit and the sources at hand in turn (`benchmarks.ratios`),
``python -m benchmarks same_numbers --against COMMIT`` compares their numbers.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

USUAL: Final = ("choice", "regions", "readers", "mass", "consensus", "design", "scale", "report", "peers")
COMPARING: Final = ("ratios", "same_numbers")  # a commit with the sources at hand


def benchmarks() -> dict[str, str]:
    """Return the modules of this folder that have a `main`, with the first lines of what they say of themselves."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))  # read, not imported: some need packages of their own
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
            found[path.stem] = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")
    return found


def describe() -> str:
    """Return a line for each benchmark; a star marks the usual ones."""
    known = benchmarks()
    lines = [f"{'*' if name in USUAL else ' '} {name:<14}{about}" for name, about in known.items()]
    return "\n".join([*lines, "* run where none is named"])


def main() -> None:
    arguments, known = sys.argv[1:], benchmarks()
    if arguments and arguments[0] in ("-h", "--help", "--list"):
        print(describe() if arguments[0] == "--list" else f"{(__doc__ or '').strip()}\n\n{describe()}")
        return
    if any(text.split("=")[0] == "--against" for text in arguments) and arguments[0] not in COMPARING:
        arguments = ["ratios", *arguments]
    # Several names are benchmarks; what follows the only one is for it.
    names = list(USUAL) if not arguments else arguments if set(arguments) <= known.keys() else arguments[:1]
    if names[0] not in known:
        sys.exit(f"no benchmark {names[0]!r}; there are\n{describe()}")
    rest = arguments[len(names) :]
    for name in names:
        print(f"== {name}", flush=True)
        sys.argv[1:] = rest
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
