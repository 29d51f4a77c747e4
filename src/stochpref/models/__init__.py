# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Front doors, shaped like scikit-learn's: parameters in ``__init__``, work in ``fit``, learned values end in ``_``.

A model is a file here and a line in `names.MODELS`, by the name that the command line and saved fits call it; what
every fit has is in `fit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stochpref.loading import exported
from stochpref.names import MODELS

if TYPE_CHECKING:
    from stochpref.models.common import CommonUtility as CommonUtility
    from stochpref.models.heterogeneous import HeterogeneousUtility as HeterogeneousUtility
    from stochpref.models.loading import load_fit as load_fit
    from stochpref.models.normal import NormalUtility as NormalUtility
    from stochpref.models.satiated import SatiatedUtility as SatiatedUtility
    from stochpref.models.segmented import SegmentedUtility as SegmentedUtility
    from stochpref.models.selecting import fit_best as fit_best
    from stochpref.models.selection import Selection as Selection

_OTHERS = {
    "load_fit": "models.loading:load_fit",
    "fit_best": "models.selecting:fit_best",
    "Selection": "models.selection:Selection",
}


def __getattr__(name: str) -> Any:
    return exported({**MODELS, **_OTHERS}, name, __name__)
