"""Small computations over everything the library does, to compare its numbers with those of another day.

`benchmarks.same_numbers` runs them on two commits; `tests/test_stored_numbers.py` compares some with numbers it keeps.
"""

from benchmarks.cases import basics, common, design, masses, posterior, uses  # noqa: F401  (they enter their cases)
from benchmarks.cases.registry import CASES as CASES
from benchmarks.cases.registry import Numbers as Numbers
from benchmarks.cases.registry import can_run as can_run
from benchmarks.cases.registry import compute as compute
from benchmarks.cases.registry import write_numbers as write_numbers
