# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Opening a saved fit, whichever model it is of."""

from __future__ import annotations

from pathlib import Path

from stochpref.errors import UnreadableData
from stochpref.models.common import CommonUtility
from stochpref.models.heterogeneous import HeterogeneousUtility
from stochpref.models.storage import check_model, read_fit


def load_fit(folder: str | Path) -> CommonUtility | HeterogeneousUtility:
    """Return the model that `save` wrote to a folder; it predicts, scores and summarises as before.

    Raises
    ------
    UnreadableData : the folder is not a fit, is incomplete or was changed.
    """
    saved = read_fit(folder)
    model = check_model(saved.header, ("common", "heterogeneous"))
    try:
        if model == "common":
            return CommonUtility.restore(saved.header, saved.parts)
        return HeterogeneousUtility.restore(saved.header, saved.parts)
    except (KeyError, TypeError, AttributeError, OSError) as error:
        raise UnreadableData(
            f"{folder}: the fit was changed by hand or by another version: {error!r}; save it again"
        ) from None
