"""Made the saved fits beside it, and what they said, with version 0.1.0: python fits_of_0_1_0.py FOLDER."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np

import stochpref as sp
from stochpref.consensus.effort import Effort

PRICES = np.array([[1.0, 2.0, 1.5], [2.0, 1.0, 1.5], [1.5, 1.5, 1.0]])
BUDGETS = np.array([2.0, 2.5, 1.2])


def purchases(law: sp.VonMisesFisher | sp.CorruptedUtilityLaw) -> sp.Observations:
    data = sp.simulate(law, sp.MenuLaw("uniform"), 14, rng=np.random.default_rng(1))
    return sp.Observations(
        data.prices, data.budgets, data.bundles, goods=["tea", "crème", "rum"],
        customers=[f"customer {t % 5}" for t in range(14)], labels=[f"№ {t}" for t in range(14)],
    )  # fmt: skip


def said(model: sp.CommonUtility | sp.HeterogeneousUtility) -> dict[str, object]:
    return {
        "predict": model.predict(PRICES, BUDGETS).tolist(),
        "log_likelihood": model.log_likelihood(model.observations_).tolist(),
        "score": model.score(model.observations_),
        "summary": str(model.summary()),
        "data_hash": model.data_hash_,
    }


def main(folder: Path) -> None:
    assert sp.__version__ == "0.1.0"
    warnings.simplefilter("ignore", UserWarning)  # so few draws do not converge
    law = sp.VonMisesFisher([0.8, 0.48, -0.36], 6.0)
    # A tuple and a path were saved as the text that Python shows of them.
    heterogeneous = sp.HeterogeneousUtility(
        concentration_bounds=(1.0, 10.0), sampler="gibbs", n_chains=2, n_draws=20, n_effective=0, random_state=7,
        checkpoint=folder / "run.npz",
    ).fit(purchases(law))  # fmt: skip
    heterogeneous.checkpoint = Path("run.npz")
    common = sp.CommonUtility(random_state=7, effort=Effort(n_chains=2)).fit(
        purchases(sp.CorruptedUtilityLaw([0.8, 0.48, 0.36], 0.2))
    )
    found = {}
    for model in (heterogeneous, common):
        name = "common" if isinstance(model, sp.CommonUtility) else "heterogeneous"
        model.save(folder / f"fit-0.1.0-{name}", command=["stochpref", "fit", "purchases.csv", "--seed", "7"])
        found[name] = said(model)
    (folder / "fits_of_0_1_0.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
