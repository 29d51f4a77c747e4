"""Run every benchmark, or the ones named on the command line: ``python -m benchmarks choice regions``."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = ("choice", "regions", "readers", "mass", "consensus", "design", "scale", "report", "peers")


def main() -> None:
    for name in sys.argv[1:] or NAMES:
        if name not in NAMES:
            sys.exit(f"no benchmark {name!r}; there are {', '.join(NAMES)}")
        print(f"== {name}")
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
