# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Opening a saved fit, whichever model it is of."""

from __future__ import annotations

import os
from pathlib import Path

from stochpref.errors import InvalidArgument, UnreadableData, shown
from stochpref.loading import load
from stochpref.models.fit import Fit
from stochpref.models.ranking import restore_ranking
from stochpref.models.storage import read_fit
from stochpref.names import MODELS


def load_fit(folder: str | Path) -> Fit:
    """Return the model that `save` wrote to a folder; it predicts, scores and summarises as before.

    Parameters
    ----------
    folder : of any origin: what is in it is checked, takes memory in proportion to its size, and runs no code.

    Raises
    ------
    UnreadableData : the folder is not a fit, is incomplete or was changed.
    """
    if not isinstance(folder, str | os.PathLike):
        raise InvalidArgument(f"folder must be the path of a saved fit; received {folder!r}")
    try:
        saved = read_fit(folder)
        if saved.model not in MODELS:
            known = " or ".join(MODELS)
            raise UnreadableData(f"{folder}: a fit must be of model {known}; found {shown(repr(saved.model), 60)}")
        model: Fit = load(MODELS[saved.model]).restore(saved)
        model.restore_check(saved.learned)
        model.ranking_ = restore_ranking(saved.learned)
    except UnreadableData:
        raise
    except Exception as error:  # whatever else comes of values that no fit has
        raise UnreadableData(
            f"{folder}: the fit was changed by hand or by another version: {shown(repr(error), 300)}; save it again"
        ) from error
    return model
