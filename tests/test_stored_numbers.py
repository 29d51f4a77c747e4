"""Small fits against the numbers they gave when these were stored: what moves code must not move a number.

``python -m tests.test_stored_numbers`` stores those of the sources at hand. Do so only where numbers are meant to
change, and say so in the changelog.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from benchmarks.cases import CASES, compute
from benchmarks.same_numbers import difference

STORED: Final = Path(__file__).parent / "reference" / "small_fits.json"
TOLERANCE: Final = 1e-6  # relative to the number, or to 1 where it is smaller; processors differ in the last bit
NAMES: Final = (
    "simulate_i", "simulate_ii", "simulate_iii",
    "log_mass_i", "log_mass_ii", "log_mass_iii", "log_mass_many_goods", "log_mass_patchy", "log_mass_sampled_cloud",
    "maximum_likelihood_i", "maximum_likelihood_equal_rows", "maximum_likelihood_patchy",
    "gibbs_i", "gibbs_iii", "gibbs_patchy", "importance_i", "importance_iii", "importance_patchy",
    "hamiltonian_i", "layered_i", "layered_two_goods", "metropolis_monte_carlo", "metropolis_exact",
    "prior_function_gibbs", "demand_i", "demand_patchy", "elasticities_i", "customers_i",
    "common_i", "common_ii", "common_iii", "common_patchy", "common_margin_0_02", "common_margin_theorem",
    "common_log_likelihood", "annealing_0_0", "annealing_0_05", "signs", "bisection",
)  # fmt: skip


def some_of(values: np.ndarray) -> list[Any]:
    """Return the numbers of an array; of more than twelve, so many from first to last and the mean of all."""
    flat = values.ravel()
    if flat.size <= 12:
        return flat.tolist()
    return [*flat[np.linspace(0, flat.size - 1, 12).astype(int)].tolist(), float(flat.mean())]


def store() -> None:
    """Store the numbers of the sources at hand, to twelve digits."""
    lines = []
    for name in NAMES:
        numbers = {path: some_of(values) for path, values in compute(CASES[name]).items()}
        shortened = {
            path: [float(f"{value:.12g}") if isinstance(value, float) else value for value in values]
            for path, values in numbers.items()
        }
        lines.append(f"{json.dumps(name)}: {json.dumps(shortened)}")
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


@pytest.fixture(scope="module")
def stored() -> dict[str, dict[str, list[Any]]]:
    return json.loads(STORED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_a_small_fit_gives_the_numbers_stored(name: str, stored: dict[str, dict[str, list[Any]]]) -> None:
    found = compute(CASES[name])
    renew = (
        "if that is meant, store the new ones by `python -m tests.test_stored_numbers` and say so in the changelog; "
        "to see what else moved: `python -m benchmarks same_numbers --against COMMIT`"
    )
    missing = [path for path in stored[name] if path not in found]
    assert not missing, f"{name} no longer gives {', '.join(missing)}; {renew}"
    for path, values in stored[name].items():
        apart = difference(np.array(values), np.array(some_of(found[path])))
        assert apart <= TOLERANCE, f"{name}, {path}: stored {values}, found {some_of(found[path])}; {renew}"


if __name__ == "__main__":
    store()
