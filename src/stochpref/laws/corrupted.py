# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One common utility, and a share of customers who have another: what `CommonUtility` is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import as_floats, as_number, as_vector, check_count, check_rng, normalised
from stochpref.errors import InvalidArgument, describe_rows
from stochpref.laws.protocol import uniform_directions

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Array = NDArray[np.float64]


@runtime_checkable
class _Sampler(Protocol):
    def sample(self, size: int, *, rng: np.random.Generator) -> Array: ...


def _is_sampler(source: object) -> TypeIs[_Sampler]:
    # A data frame's column has a method of that name too; it is an array first.
    return isinstance(source, _Sampler) and not hasattr(source, "__array__")


Contamination: TypeAlias = ArrayLike | Callable[[int, np.random.Generator], ArrayLike] | _Sampler | None


@dataclass(frozen=True, slots=True, init=False, eq=False)
class CorruptedUtilityLaw:
    """One common utility, replaced for a random share of the customers.

    Attributes
    ----------
    utility : (n,) the common utility, n at least 2; any length but zero (kept normalised, read-only).
    corruption : δ in [0, 1], the probability that a customer is odd, independently of the others.
    contamination : what odd customers have instead: None for uniform on the sphere, an (n,) vector for one
        other utility, a function ``f(size, rng)`` returning (size, n), or a law with ``sample(size, rng=…)``.
        What these return is normalised.
    """

    utility: Array
    corruption: float
    contamination: Array | Callable[[int, np.random.Generator], ArrayLike] | _Sampler | None

    def __init__(self, utility: ArrayLike, corruption: float, contamination: Contamination = None) -> None:
        common = normalised(as_vector(utility, "utility"))
        share = as_number(corruption, "corruption")
        if not 0.0 <= share <= 1.0:
            raise InvalidArgument(f"corruption must lie in [0, 1]; received {share:g}; give a share, not a percentage")
        if not (contamination is None or _is_sampler(contamination) or callable(contamination)):
            other = as_vector(contamination, "contamination")
            if other.shape != common.shape:
                raise InvalidArgument(
                    f"contamination must have the length of utility, {common.size}; received {other.size}"
                )
            contamination = normalised(other)
        object.__setattr__(self, "utility", common)
        object.__setattr__(self, "corruption", share)
        object.__setattr__(self, "contamination", contamination)

    @property
    def n_goods(self) -> int:
        """Number of goods, n."""
        return self.utility.size

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Return (size, n) utilities; who is odd is drawn first, then what the odd ones have."""
        size = check_count(size, "size", 0)
        is_odd = check_rng(rng).random(size) < self.corruption
        draws = np.tile(self.utility, (size, 1))
        if is_odd.any():
            draws[is_odd] = self._contaminate(int(is_odd.sum()), rng)
        return draws

    def _contaminate(self, size: int, rng: np.random.Generator) -> Array:
        source = self.contamination
        if source is None:
            return uniform_directions(size, self.n_goods, rng=rng)
        if isinstance(source, np.ndarray):
            return source[None]
        drawn = source.sample(size, rng=rng) if _is_sampler(source) else source(size, rng)
        odd = as_floats(drawn, "contamination")
        if odd.shape != (size, self.n_goods):
            raise InvalidArgument(
                f"contamination must return (size, n_goods) = ({size}, {self.n_goods}) numbers; "
                f"received shape {odd.shape}"
            )
        norms = np.linalg.norm(odd, axis=1, keepdims=True)
        bad = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
        if bad.size:
            raise InvalidArgument(
                f"contamination must return finite vectors other than zero; {bad.size} are not "
                f"({describe_rows(bad.tolist())}); received {odd[bad[0]]}"
            )
        unit: Array = odd / norms
        return unit
