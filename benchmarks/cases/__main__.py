"""Write the numbers of cases to a folder: ``python -m benchmarks.cases FOLDER NAME...``, which `same_numbers` runs."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.cases import write_numbers

if __name__ == "__main__":
    write_numbers(Path(sys.argv[1]), sys.argv[2:])
