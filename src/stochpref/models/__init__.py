# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Front doors, shaped like scikit-learn's: parameters in ``__init__``, work in ``fit``, learned values end in ``_``."""

from stochpref.models.common import CommonUtility as CommonUtility
from stochpref.models.heterogeneous import HeterogeneousUtility as HeterogeneousUtility
from stochpref.models.loading import load_fit as load_fit
