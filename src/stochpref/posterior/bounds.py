# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What happens at the bounds of κ, the walls of the shell in which h = κμ lives.

Motion is mirrored there. Clipping, which the paper's "Proj" may be read as, would pile up mass at the walls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochpref.posterior.prior import Prior

Array = NDArray[np.float64]

_MAX_REFLECTIONS = 64


def into_shell(prior: Prior, h: Array) -> Array:
    """Return h with |h| moved a thousandth of the shell's width inside its walls, if it is not there already."""
    kappa, inset = float(np.linalg.norm(h)), 1e-3 * (prior.upper - prior.lower)
    direction = h / kappa if kappa > 0 else np.eye(len(h))[0]
    return float(np.clip(kappa, prior.lower + inset, prior.upper - inset)) * direction


def reflect(concentration: float, lower: float, upper: float) -> float:
    """Return κ folded back between two walls, as often as it takes; folding keeps a symmetric step symmetric."""
    width = upper - lower
    offset = abs(concentration - lower) % (2 * width)
    return lower + min(offset, 2 * width - offset)


def first_wall(prior: Prior, centre: Array, a: Array, b: Array, angle: float) -> float | None:
    """Return the first t in (0, angle) at which h(t) = centre + a cos t + b sin t leaves the shell, if it does.

    |h|² is c₀ + Re(c₁e^{it} + c₂e^{2it}), so |h|² = κ² is a quartic in e^{it}.
    """
    reach, middle = float(np.sqrt(a @ a + b @ b)), float(np.linalg.norm(centre))
    if middle + reach < prior.upper and middle - reach > prior.lower:
        return None
    c0 = float(centre @ centre + 0.5 * (a @ a + b @ b))
    c1 = complex(2 * centre @ a, -2 * centre @ b)
    c2 = complex(0.5 * (a @ a - b @ b), -a @ b)
    first = None
    for kappa, outward in ((prior.upper, 1.0), (prior.lower, -1.0)):
        if kappa == 0.0:
            continue
        roots = np.roots([c2, c1, 2 * (c0 - kappa**2), c1.conjugate(), c2.conjugate()])
        on_circle = roots[np.abs(np.abs(roots) - 1) < 1e-6]
        times = np.sort(np.angle(on_circle) % (2 * np.pi))
        for t in times[times < angle]:
            rate = -(c1 * np.exp(1j * t) + 2 * c2 * np.exp(2j * t)).imag
            # After a reflection the motion starts on a wall, going in: that root has the other sign.
            if rate * outward > 0 and (first is None or t < first):
                first = float(t)
    return first


def rotate(prior: Prior, centre: Array, factor: Array, z: Array, p: Array, angle: float) -> tuple[Array, Array]:
    """Return position and momentum after a rotation, mirrored at the walls; NaN if it will not end.

    Positions are h = centre + factor @ z.
    """
    for _ in range(_MAX_REFLECTIONS):
        a, b = factor @ z, factor @ p
        t = first_wall(prior, centre, a, b, angle)
        turn = angle if t is None else t
        z, p = np.cos(turn) * z + np.sin(turn) * p, np.cos(turn) * p - np.sin(turn) * z
        if t is None:
            return z, p
        normal = factor.T @ (centre + factor @ z)
        p = p - 2 * float(p @ normal) / float(normal @ normal) * normal
        angle -= t
    return z * np.nan, p
