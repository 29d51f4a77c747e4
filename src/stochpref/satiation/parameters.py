# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The parameters of worths that fade: which there are, what they are called, and how free ones make them all.

Named parameters φ are the location β of each good's log-worth, the logs of the scales σ of inside goods and of the
outside good, log γ of each inside good, and the logarithm of the bend e = 1 − α. Free ones θ make them by
φ = φ_0 + M θ: β of the outside good is 0, or all β add up to 0, since only differences count; a scale may be common, e
given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from stochpref.kinds import ABSENT, BELOW
from stochpref.problems.satiated import Bought
from stochpref.satiation.density import Densities, Worth

Array = NDArray[np.float64]

LOCATION: Final = "worth of "
SATIATION: Final = "log satiation of "
SCALE: Final = "log scale"
OUTSIDE_SCALE: Final = "log scale of the outside good"
BEND: Final = "log bend"

# What posteriors keep, and which block of parameters it is.
_KEPT: Final = {
    "location": "location", "log_scale": "scale", "log_satiation": "satiation",
    "location_features": "location_features", "satiation_features": "satiation_features",
}  # fmt: skip


class Moves(NamedTuple):
    """How locations and log-satiations of rows move with features: (T, k, m) numbers that coefficients multiply."""

    location: Array
    log_satiation: Array

    @classmethod
    def none(cls, k: int) -> Moves:
        """Return that they do not."""
        return cls(np.empty((1, k, 0)), np.empty((1, k, 0)))


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """Named parameters and how free ones make them.

    goods : k names, the rest among them where it is a good.
    outside : place of the outside good, None for none.
    error : NORMAL or GUMBEL.
    location_features, satiation_features : names of their coefficients.
    base, matrix : (P,) φ_0 and (P, p) M.
    """

    goods: tuple[str, ...]
    outside: int | None
    error: int
    location_features: tuple[str, ...]
    satiation_features: tuple[str, ...]
    base: Array
    matrix: Array

    @classmethod
    def of(
        cls,
        goods: tuple[str, ...],
        outside: int | None,
        error: int,
        *,
        bend: float | None = 1.0,
        own_scale: bool = True,
        features: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    ) -> Self:
        """Return the parameters of goods.

        Parameters
        ----------
        bend : e, None to learn it.
        own_scale : the outside good has a scale of its own.
        features : names of coefficients of locations and of log-satiations.
        """
        one = cls(goods, outside, error, *features, np.empty(0), np.empty((0, 0)))
        size = len(one.names)
        base, columns = np.zeros(size), list[Array]()
        places = one.blocks

        def free(*where: int) -> None:
            column = np.zeros(size)
            column[list(where)] = 1.0
            columns.append(column)

        if outside is None:
            columns += list(_contrasts(len(goods), size))
        else:
            for i in one.inside:
                free(places["location"].start + i)
        scales = list(range(size)[places["scale"]])
        if len(scales) > 1 and not own_scale:
            free(*scales)
        else:
            for i in scales:
                free(i)
        for name in ("satiation", "location_features", "satiation_features"):
            for i in range(size)[places[name]]:
                free(i)
        if bend is None:
            free(size - 1)
        else:
            base[-1] = np.log(bend)
        return replace(one, base=base, matrix=np.array(columns).T)

    @property
    def inside(self) -> list[int]:
        """The places of the goods that satiate."""
        return [i for i in range(len(self.goods)) if i != self.outside]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters."""
        return (
            *(f"{LOCATION}{name}" for name in self.goods),
            SCALE,
            *((OUTSIDE_SCALE,) if self.outside is not None else ()),
            *(f"{SATIATION}{self.goods[i]}" for i in self.inside),
            *self.location_features,
            *(f"log satiation: {name}" for name in self.satiation_features),
            BEND,
        )

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return self.matrix.shape[1]

    @property
    def blocks(self) -> dict[str, slice]:
        """Where parameters of a kind are among all."""
        k, n_inside = len(self.goods), len(self.inside)
        sizes = {
            "location": k, "scale": 1 + (self.outside is not None), "satiation": n_inside,
            "location_features": len(self.location_features), "satiation_features": len(self.satiation_features),
            "bend": 1,
        }  # fmt: skip
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    def named(self, theta: Array) -> Array:
        """Return all parameters (…, P) that free ones (…, p) make."""
        return np.asarray(self.base + theta @ self.matrix.T)

    def part(self, name: str, theta: Array) -> Array:
        """Return a block of named parameters: location, scale, satiation, …."""
        return np.asarray(self.named(theta)[..., self.blocks[name]])

    def worth(self, theta: Array, moves: Moves) -> Worth:
        """Return how worths of rows are spread and fade."""
        return self.worth_of(self.named(theta), moves)

    def worth_of(self, phi: Array, moves: Moves) -> Worth:
        """Return the same of all parameters (P,)."""
        places = self.blocks
        location = phi[places["location"]] + moves.location @ phi[places["location_features"]]
        logs = np.zeros(len(self.goods))
        logs[self.inside] = phi[places["satiation"]]
        satiation = logs + moves.log_satiation @ phi[places["satiation_features"]]
        return Worth(location, np.exp(self.log_scales(phi)), satiation, float(np.exp(phi[-1])), self.error)

    def log_scales(self, phi: Array) -> Array:
        """Return the log-scale of each good (…, k) of all parameters (…, P)."""
        own = phi[..., self.blocks["scale"]]
        scales = np.repeat(own[..., :1], len(self.goods), axis=-1)
        if self.outside is not None:
            scales[..., self.outside] = own[..., 1]
        return scales

    def drawn(self, theta: Array) -> dict[str, Array]:
        """Return what free parameters (…, p) make, by name, as a posterior keeps it: without what is constant."""
        phi = self.named(theta)
        found = {name: phi[..., self.blocks[block]] for name, block in _KEPT.items()}
        found["location"] = found["location"][..., self.free_places]
        return {name: values for name, values in found.items() if values.shape[-1]}

    def named_of(self, drawn: Mapping[str, Array]) -> Array:
        """Return all parameters (…, P) of what `drawn` returned."""
        shape = drawn["location"].shape[:-1]
        phi = np.broadcast_to(self.base, (*shape, len(self.base))).copy()
        phi[..., self.blocks["location"].start + np.array(self.free_places)] = drawn["location"]
        for name, block in _KEPT.items():
            if name != "location" and name in drawn:
                phi[..., self.blocks[block]] = drawn[name]
        return phi

    @property
    def free_places(self) -> list[int]:
        """The places of the goods whose worth is told: all but the outside good, whose location is 0."""
        return list(range(len(self.goods))) if self.outside is None else self.inside

    def labels(self) -> dict[str, tuple[str, ...]]:
        """Return what the components of what `drawn` returns are of."""
        found = {
            "location": tuple(self.goods[i] for i in self.free_places),
            "log_scale": ("goods", "the outside good")[: 1 + (self.outside is not None)],
            "log_satiation": tuple(self.goods[i] for i in self.inside),
            "location_features": self.location_features, "satiation_features": self.satiation_features,
        }  # fmt: skip
        return {name: labels for name, labels in found.items() if labels}

    def pulled(self, slopes: Densities, moves: Moves) -> Array:
        """Return slopes (T, p) in θ."""
        location, satiation = slopes.location, slopes.log_satiation[:, self.inside]
        is_outside = np.arange(len(self.goods)) == self.outside
        scale = [slopes.log_scale[:, ~is_outside].sum(axis=1)]
        if self.outside is not None:
            scale.append(slopes.log_scale[:, self.outside])
        shape = (len(location), *moves.location.shape[1:2])
        moved = [
            np.einsum("tkm,tk->tm", np.broadcast_to(m, (*shape, m.shape[2])), values)
            for m, values in zip(moves, (location, slopes.log_satiation), strict=True)
        ]
        each = np.concatenate([location, np.stack(scale, axis=1), satiation, *moved, slopes.bend[:, None]], axis=1)
        return np.asarray(each @ self.matrix)

    def start(self, bought: Bought) -> Array:
        """Return free parameters to begin with: shares of buyers as observed, satiation where half of them stop."""
        k = len(self.goods)
        phi, places = np.zeros(len(self.names)), self.blocks
        offered, is_bought = bought.side != ABSENT, (bought.side != BELOW) & (bought.side != ABSENT)
        typical = _typical_quantities(bought.bundles, is_bought)
        share = (is_bought.sum(axis=0) + 0.5) / (offered.sum(axis=0) + 1.0)
        phi[places["satiation"]] = np.log(typical[self.inside])
        logs = np.log(bought.prices)
        price = np.array([np.median(logs[offered[:, i], i]) if offered[:, i].any() else 0.0 for i in range(k)])
        level = 0.0
        if self.outside is not None:
            x = np.maximum(bought.bundles[:, self.outside], 1e-300)
            level = float(np.median(np.log(bought.prices[:, self.outside]) + np.log(x)))
        location = price - level + np.sqrt(2.0) * ndtri(np.clip(share, 0.001, 0.999))
        if self.outside is not None:
            location[self.outside] = 0.0
        else:
            location -= location.mean()
        phi[places["location"]] = location
        return np.asarray(np.linalg.lstsq(self.matrix, phi - self.base, rcond=None)[0], np.float64)

    def settings(self) -> dict[str, Any]:
        """Return what JSON can hold of the parameters."""
        return {
            "goods": list(self.goods), "outside": self.outside, "error": self.error,
            "location_features": list(self.location_features), "satiation_features": list(self.satiation_features),
        }  # fmt: skip


def _contrasts(k: int, size: int) -> Array:
    """Return k − 1 orthonormal columns, as rows, of locations that add up to nothing."""
    rows = np.zeros((k - 1, size))
    for j in range(1, k):
        rows[j - 1, :j] = 1.0
        rows[j - 1, j] = -j
        rows[j - 1] /= np.sqrt(j * (j + 1))
    return rows


def _typical_quantities(bundles: Array, is_bought: NDArray[np.bool_]) -> Array:
    """Return (k,) the quantity in the middle of those bought; that of all goods for one that nobody bought."""
    middle = np.array([
        np.median(bundles[is_bought[:, i], i]) if is_bought[:, i].any() else np.nan for i in range(bundles.shape[1])
    ])  # fmt: skip
    known = middle[np.isfinite(middle)]
    return np.where(np.isfinite(middle), middle, np.median(known) if known.size else 1.0)
