# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Maximum likelihood of worths that fade, with standard errors, clustered by customer where some bought repeatedly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from stochpref.clusters import clusters_of
from stochpref.errors import listed, shown
from stochpref.kinds import ABSENT, BELOW
from stochpref.observations import Observations
from stochpref.result import Drawn
from stochpref.satiation.climbing import Prior, Target, climb
from stochpref.satiation.fitting import Frame

Array = NDArray[np.float64]

_FLAT = 1e-8  # of the largest curvature, parameter by parameter: below it the likelihood has no top


@dataclass(frozen=True, slots=True, repr=False)
class SatiatedLikelihood(Drawn):
    """The most likely parameters; `print` it for a table.

    Attributes
    ----------
    names, estimates, standard_errors : (p,) of all that vary: log-worths, logs of scales and satiations.
    clustered_standard_errors : (p,) that allow purchases of one customer to resemble each other; None where no customer
        repeats.
    covariance : (p, p) the inverse of the observed information.
    log_likelihood, aic, bic : sums of log-densities, to be compared with others of the same observations alone.
    n_free, n_observations : sizes.
    status, message : "converged", "flat" or "not converged", and what to make of it.
    """

    names: tuple[str, ...]
    estimates: Array
    standard_errors: Array
    clustered_standard_errors: Array | None
    covariance: Array
    log_likelihood: float
    aic: float
    bic: float
    n_free: int
    n_observations: int
    status: str
    message: str

    picture: ClassVar[str] = "result_plots:satiated_likelihood"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each parameter."""
        clustered = self.clustered_standard_errors
        return [
            {
                "name": name, "estimate": float(self.estimates[i]), "standard_error": float(self.standard_errors[i]),
                **({} if clustered is None else {"clustered_standard_error": float(clustered[i])}),
                "p": float(2 * norm.sf(abs(self.estimates[i] / self.standard_errors[i]))),
            }
            for i, name in enumerate(self.names)
        ]  # fmt: skip

    def remarks(self) -> tuple[str, ...]:
        """Return what to make of the fit, and how likely it is."""
        likely = f"log-density {self.log_likelihood:.6g} in all, AIC {self.aic:.6g}, BIC {self.bic:.6g}"
        return self.message, likely

    def __str__(self) -> str:
        lines = [f"Goods that satiate, {self.n_free} parameters from {self.n_observations:,} observations"]
        lines += [*(f"  {remark}" for remark in self.remarks()), ""]
        heading = "standard error" + ("" if self.clustered_standard_errors is None else "   by customer")
        lines.append(f"  {'':<40}{'estimate':>12}   {heading}")
        for row in self.records():
            more = f"{row['clustered_standard_error']:>14.3g}" if "clustered_standard_error" in row else ""
            line = f"{row['estimate']:>12.4f}   {row['standard_error']:<14.3g}{more}"
            lines.append(f"  {shown(row['name'], 38):<40}{line}")
        return "\n".join(lines)


def most_likely(frame: Frame, observations: Observations, start: Array) -> SatiatedLikelihood:
    """Return where the likelihood is highest.

    Of goods that nobody bought it has no top: the weak prior holds their parameters, which have no standard error.
    """
    parameters, bought = frame.parameters, frame.bought
    is_bought = ((bought.side != BELOW) & (bought.side != ABSENT)).any(axis=0)
    never = [parameters.goods[i] for i in parameters.inside if not is_bought[i]]
    weak = Prior.weak(parameters, frame.start())
    is_open = np.array([any(name.endswith(f" of {good}") for good in never) for name in parameters.names], np.bool_)
    target = Target(bought, parameters, frame.moves, Prior(weak.centre, np.where(is_open, weak.precision, 0.0)))
    peak = climb(target, start)
    values = np.linalg.eigvalsh(peak.information)
    is_flat = bool(values[0] <= _FLAT * values[-1])
    status = "flat" if is_flat else "converged" if peak.has_converged else "not converged"
    message = {
        "flat": "not identified: the likelihood is flat around its maximum; leave out goods that few bought",
        "converged": "converged",
        "not converged": "not converged: the climb ended on a slope; fewer goods, or more observations, may help",
    }[status]
    if never:
        message += f"; nobody bought {listed(never)}, of which the prior alone tells"
    change = parameters.matrix
    varies = np.asarray(change.any(axis=1))
    covariance = (change @ peak.covariance @ change.T)[np.ix_(varies, varies)]
    clusters, hidden = clusters_of(observations), is_open[varies]
    robust = None
    if clusters is not None:
        robust = _errors(change[varies] @ peak.clustered(clusters) @ change[varies].T, hidden, is_flat)
        message += f"; errors by customer allow for the tastes of {int(clusters.max()) + 1:,}"
    n_free, count = parameters.n_free, len(bought.side)
    return SatiatedLikelihood(
        names=tuple(name for name, does in zip(parameters.names, varies, strict=True) if does),
        estimates=parameters.named(peak.theta)[varies],
        standard_errors=_errors(covariance, hidden, is_flat),
        clustered_standard_errors=robust,
        covariance=covariance,
        log_likelihood=peak.log_likelihood,
        aic=2 * n_free - 2 * peak.log_likelihood,
        bic=n_free * float(np.log(count)) - 2 * peak.log_likelihood,
        n_free=n_free,
        n_observations=count,
        status=status,
        message=message,
    )


def _errors(covariance: Array, hidden: NDArray[np.bool_], is_flat: bool) -> Array:
    """Return standard errors; NaN where data do not tell."""
    return np.where(hidden | is_flat, np.nan, np.sqrt(np.maximum(np.diag(covariance), 0.0)))
