# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Customers who differ: the posterior of the law of their utilities, and what follows from it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from stochpref import __version__
from stochpref.checks import check_choice, check_count, check_rng
from stochpref.choices import SAMPLERS
from stochpref.demand import (
    N_SCRAMBLES,
    Demand,
    Elasticities,
    Market,
    expected_demand,
    make_crowd,
    price_elasticities,
)
from stochpref.errors import InvalidArgument, NotConverged, NotIdentified, UnreadableData
from stochpref.laws import VonMisesFisher
from stochpref.loading import load
from stochpref.mass.masses import exact_log_mass
from stochpref.models.settings import as_setting
from stochpref.models.shared import Estimator, check_observations, generator, predict_bundles, progress
from stochpref.models.storage import SavedFit, restore_model, save_model
from stochpref.models.values import array_in
from stochpref.observations import Menus, Observations
from stochpref.posterior.chains import Draws, Plan, run_chains
from stochpref.posterior.choosing import Choice, choose_sampler
from stochpref.posterior.customers import CustomerUtilities, customer_utilities
from stochpref.posterior.diagnostics import Diagnostics
from stochpref.posterior.prior import Prior, PriorFn
from stochpref.posterior.results import (
    MAX_LIKELIHOOD_DRAWS,
    as_tree,
    group,
    observations_of,
    parameters_of,
    thinned,
)
from stochpref.posterior.summary import (
    HeterogeneousSummary,
    average_alikeness,
    judge_convergence,
    judge_identification,
    make_rows,
)
from stochpref.posterior.target import Target
from stochpref.readers.by_name import as_menus
from stochpref.readers.folders import StoredObservations, as_observations
from stochpref.regions import Regions, usable_rows
from stochpref.rows import places_of
from stochpref.stores.opening import open_store

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

_PURCHASES: Final = 2e7  # simulated for a call of `demand`, shared out over draws and menus
_CUSTOMER_DRAWS: Final = 100
_METROPOLIS: Final = "paper.metropolis:MetropolisOptions"


class HeterogeneousUtility(Estimator):
    """The posterior of the von Mises–Fisher law of customers' utilities, exact likelihood, uniform prior.

    Parameters
    ----------
    concentration_bounds : the prior's interval of κ; None for (0, 20 n). The paper's experiments use (1, 10).
    sampler : "auto", "gibbs", "importance", "layered", "hamiltonian", or "metropolis", the paper's Algorithm 1.
    n_chains, n_draws : chains, and draws of each before the first look.
    random_state : None, an integer or a numpy Generator.
    n_effective : draw on until every component has this many effective draws; 0 to stop at n_draws.
    max_draws : of each chain, at most.
    max_seconds : stop drawing after this time and return what is there; None for no limit.
    prior : None for the uniform prior, or a function of μ (n,) and κ that returns a log-density with respect to dμ dκ,
        up to a constant, within the bounds.
    checkpoint : a file to keep the run in until it is done; a fit that finds one made with the same data, settings and
        seed resumes from it and gives the same draws as if it had not stopped. A prior counts as the same if it has the
        same values at 1,000 points.
    degenerate : "refuse" observations that only exact ties could explain, or "drop" them.
    metropolis : a `MetropolisOptions` for the paper's algorithm, None for the default.
    engine : "cpu"; "jax" to sum the likelihood on a GPU for "importance", "layered" and "hamiltonian" ("auto" picks);
        "dask", or a `distributed.Client`, to do so on a cluster, for "gibbs" too.
    verbose : show progress on a terminal's stderr.

    Attributes
    ----------
    posterior_ : xarray DataTree, as in the notes.
    mean_direction_ : (n,) normalised posterior mean, which predicts best on average.
    concentration_ : posterior mean of κ.
    goods_ : names.
    observations_ : those fitted; of many stored ones, 10,000 picked at random.
    sampler_, reason_ : the sampler used, and why.
    status_ : "enough" draws, or why it stopped before: "max_draws", "max_seconds", "interrupted".
    is_converged_, is_identified_ : whether draws can be trusted, whether data narrow the prior.
    diagnostics_ : R-hat, effective draws and Monte Carlo errors, by the names of what they are of.
    n_dropped_ : degenerate observations left out.
    likelihood_error_ : standard error of the log-likelihood at posterior draws; 0 unless many stored observations made
        a sample of them stand for what is beyond exact sums at the maximum.
    seconds_ : spent on drawing.
    seed_ : what the random numbers came from, None for a Generator.
    command_ : the words of the command that made a fit that was loaded; None for a fit from Python.

    Notes
    -----
    The tree has groups ``posterior``, with ``mean_direction`` (chain, draw, good) and ``concentration`` (chain, draw),
    ``sample_stats``, ``observed_data`` and ``constant_data``; `loo` adds ``log_likelihood``.

    Ctrl-C ends the current step and returns what has been drawn; a second one breaks off. SIGTERM does as the first.
    """

    def __init__(
        self,
        concentration_bounds: tuple[float, float] | None = None,
        sampler: str = "auto",
        n_chains: int = 4,
        n_draws: int = 1000,
        random_state: int | np.random.Generator | None = None,
        n_effective: int = 400,
        max_draws: int = 50_000,
        max_seconds: float | None = None,
        prior: PriorFn | None = None,
        checkpoint: str | Path | None = None,
        degenerate: str = "refuse",
        metropolis: Any = None,
        engine: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.concentration_bounds = concentration_bounds
        self.sampler = sampler
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.random_state = random_state
        self.n_effective = n_effective
        self.max_draws = max_draws
        self.max_seconds = max_seconds
        self.prior = prior
        self.checkpoint = checkpoint
        self.degenerate = degenerate
        self.metropolis = metropolis
        self.engine = engine
        self.verbose = verbose

    def fit(self, observations: Observations | StoredObservations | str | Path, y: None = None) -> Self:  # noqa: ARG002
        """Draw from the posterior of (μ, κ) given observations, or a folder of Parquet files that hold them.

        Warns
        -----
        NotConverged : the draws are too few or disagree.
        NotIdentified : the data leave the direction, some goods or the concentration open.

        Raises
        ------
        InvalidObservations : some are degenerate and were not to be dropped, or all are.
        """
        source = as_observations(observations)
        plan = self._plan()
        if source.n_goods < 2:
            raise InvalidArgument(
                f"observations must be of two goods or more, for what is wanted is told by comparison; received one, "
                f"{source.goods[0]!r}; add what else was on offer, with its price, bought or not"
            )
        prior = Prior.within(self.concentration_bounds, source.n_goods, self.prior)
        rng, self.seed_ = generator(self.random_state)
        key = int(rng.integers(2**63))
        with ExitStack() as stack:
            report = stack.enter_context(progress(self.verbose and isinstance(source, StoredObservations), "data"))
            store, origin = stack.enter_context(
                open_store(source, engine=self.engine, degenerate=self.degenerate, seed=key, report=report)
            )
            self.goods_, self.n_features_in_ = source.goods, source.n_goods
            self.n_observations_, self.n_dropped_ = origin.n_observations, origin.n_dropped
            choice = choose_sampler(self.sampler, Target(store, prior), key, plan, self.metropolis)
            self.data_hash_, self.likelihood_error_ = origin.data_hash, choice.likelihood_error
            fingerprint = {} if plan.checkpoint is None else self._fingerprint(key, prior)
            draws, found = self._draw(choice, plan, fingerprint)
        seed = -1 if self.seed_ is None else self.seed_
        attributes = {"version": __version__, "sampler": self.sampler_, "seed": seed}
        self.posterior_ = as_tree(draws, VonMisesFisher.axes, origin.kept, attributes)
        self.command_: list[str] | None = None
        self._conclude(found, prior)
        self._warn()
        return self

    def _fingerprint(self, key: int, prior: Prior) -> dict[str, Any]:
        """Return all that decides the draws of a sampler."""
        settings = ("n_chains", "concentration_bounds", "degenerate", "metropolis", "engine")
        return {
            "data": self.data_hash_,
            "random_state": key,
            "prior": prior.fingerprint(len(self.goods_)),
            **{name: as_setting(getattr(self, name)) for name in settings},
        }

    def _draw(self, choice: Choice, plan: Plan, fingerprint: dict[str, Any]) -> tuple[Draws, Diagnostics]:
        """Run the chosen sampler, and the one it names instead if its draws turn out unusable."""
        with ExitStack() as stack:
            stack.callback(choice.end_fn)
            report = stack.enter_context(progress(self.verbose, choice.sampler.name))
            run = run_chains(
                choice.sampler, choice.adapt_fn(plan), fingerprint=fingerprint, reason=choice.reason, report=report,
                diagnose_fn=choice.diagnose_fn,
            )  # fmt: skip
        if choice.instead_fn is not None and run.status == "hopeless":
            return self._draw(choice.instead_fn(run.diagnostics), plan, fingerprint)
        self.sampler_, self.reason_ = choice.sampler.name, choice.reason
        self.status_, self.seconds_ = run.status, run.seconds
        return choice.finish_fn(run.draws), run.diagnostics

    def _plan(self) -> Plan:
        """Return how long to draw, checked."""
        for name, least in (("n_chains", 1), ("n_draws", 1), ("n_effective", 0), ("max_draws", 1)):
            check_count(getattr(self, name), name, least)
        if self.max_seconds is not None and not (
            isinstance(self.max_seconds, int | float) and 0 < self.max_seconds < math.inf
        ):
            raise InvalidArgument(f"max_seconds must be a positive number or None; received {self.max_seconds!r}")
        check_choice(self.sampler, "sampler", ("auto", *SAMPLERS))
        if self.metropolis is not None and not isinstance(self.metropolis, load(_METROPOLIS)):
            raise InvalidArgument(f"metropolis must be a MetropolisOptions or None; received {self.metropolis!r}")
        checkpoint = None if self.checkpoint is None else Path(self.checkpoint)
        return Plan(
            int(self.n_chains), int(self.n_draws), int(self.n_effective), int(self.max_draws),
            None if self.max_seconds is None else float(self.max_seconds), checkpoint,
        )  # fmt: skip

    def _conclude(self, found: Diagnostics, prior: Prior) -> None:
        drawn, labels = parameters_of(self.posterior_), {"mean_direction": self.goods_}
        parameters = {name: drawn[name] for name in VonMisesFisher.axes}  # and none that a user may have added
        centre = parameters["mean_direction"].mean(axis=(0, 1))
        length = float(np.linalg.norm(centre))
        self.mean_direction_: Array = centre / length if length > 0 else centre
        self.concentration_ = float(parameters["concentration"].mean())
        self.diagnostics_, self._prior = found.labelled(labels), prior
        self._rows = make_rows(parameters, found, labels)
        self.is_converged_, self._convergence = judge_convergence(
            found, self.n_effective, self.status_, self.likelihood_error_
        )
        self.is_identified_, self._identification = judge_identification(self._rows, parameters, prior)

    def _warn(self) -> None:
        if not self.is_converged_:
            warnings.warn(self._convergence, NotConverged, stacklevel=3)
        if not self.is_identified_:
            warnings.warn("; ".join(self._identification), NotIdentified, stacklevel=3)

    def predict(
        self,
        menus: Menus | Any,
        budgets: ArrayLike | None = None,
        *,
        draw: bool = False,
        rng: np.random.Generator | None = None,
    ) -> Array:
        """Return the bundles (T, n) that the mean direction buys, from menus or from prices and budgets.

        Parameters
        ----------
        menus : Menus, or prices: (T, n) or (n,) in the order of `goods_`, a data frame with a column for each good, a
            dict or a Series; whatever has names is matched by name. A price of inf or NaN: not on offer.
        draw : predict from one posterior draw instead, as the paper does; `rng` picks it.
        """
        check_is_fitted(self)
        direction = self.mean_direction_
        if draw:
            if rng is None:
                raise InvalidArgument("a draw is picked at random; pass rng=numpy.random.default_rng(seed)")
            draws = group(self.posterior_, "posterior")["mean_direction"].values
            direction = draws.reshape(-1, draws.shape[2])[check_rng(rng).integers(draws.shape[0] * draws.shape[1])]
        return predict_bundles(direction, self.goods_, menus, budgets)

    def demand(
        self,
        menus: Menus | Any,
        budgets: ArrayLike | None = None,
        *,
        level: float = 0.9,
        n_customers: int | None = None,
        n_draws: int = MAX_LIKELIHOOD_DRAWS,
    ) -> Demand:
        """Return expected purchases, over customers and over the posterior, with intervals.

        Parameters
        ----------
        menus : Menus, or prices: (T, n) or (n,) in the order of `goods_`, a data frame with a column for each good, a
            dict or a Series; whatever has names is matched by name. A price of inf or NaN: not on offer.
        level : of the intervals.
        n_customers : simulated for each posterior draw; None for 512 to 8192, fewer for many menus.
        n_draws : of the posterior, at most, evenly spaced.
        """
        faced, columns = self._facing(menus, budgets)
        return expected_demand(self.market(n_customers, n_draws, len(faced)), columns, faced, level)

    def elasticities(
        self,
        menus: Menus | Any,
        budgets: ArrayLike | None = None,
        *,
        goods: Sequence[str] | None = None,
        level: float = 0.9,
        n_customers: int | None = None,
        n_draws: int = MAX_LIKELIHOOD_DRAWS,
    ) -> Elasticities:
        """Return own- and cross-price elasticities of expected purchases at one menu, with intervals.

        Parameters
        ----------
        goods : those to report, all on the menu if None; the others keep their place and price.
        menus, budgets, level, n_customers, n_draws : as in `demand`.
        """
        faced, columns = self._facing(menus, budgets)
        names = faced.goods if goods is None else tuple(goods)
        shown = places_of(names, faced.goods)
        return price_elasticities(self.market(n_customers, n_draws, 2 * len(shown)), columns, faced, shown, level)

    def _facing(self, menus: Menus | Any, budgets: ArrayLike | None) -> tuple[Menus, NDArray[np.int64]]:
        check_is_fitted(self)
        faced, shape = as_menus(menus, budgets, self.goods_)
        if len(shape) > 1:
            raise InvalidArgument(f"prices must be (n,) or (T, n); received {len(shape) + 1} dimensions; ask in parts")
        return faced, places_of(faced.goods, self.goods_)

    def market(self, n_customers: int | None, n_draws: int, n_menus: int = 1) -> Market:
        """Return the posterior draws and customers that `demand` asks; customers depend on the fit's seed only.

        Parameters
        ----------
        n_customers, n_draws : as in `demand`.
        n_menus : that they will face, which bounds the customers if n_customers is None.
        """
        check_is_fitted(self)
        asked = {"n_draws": n_draws} | ({} if n_customers is None else {"n_customers": n_customers})
        for name, value in asked.items():
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise InvalidArgument(f"{name} must be a whole number from 1; received {value!r}")
        directions, concentrations = self._flat_draws(n_draws)
        if n_customers is None:
            n_customers = int(np.clip(_PURCHASES / (len(concentrations) * n_menus), 512, 8192))
        size = 2 ** max(round(math.log2(max(n_customers / N_SCRAMBLES, 1))), 0)
        rng = np.random.default_rng([0 if self.seed_ is None else self.seed_, 1])
        crowds = tuple(make_crowd(self.mean_direction_, size, rng=rng) for _ in range(N_SCRAMBLES))
        return Market(directions, concentrations, crowds)

    def _flat_draws(self, most: int) -> tuple[Array, Array]:
        draws, _ = thinned(self.posterior_, most)
        return draws["mean_direction"].reshape(-1, len(self.goods_)), draws["concentration"].ravel()

    @property
    def observations_(self) -> Observations:
        """The observations fitted."""
        return observations_of(self.posterior_)

    def utilities(self, observations: Observations | None = None) -> CustomerUtilities:
        """Return the posterior of each customer's own utility given what they bought; NaN where degenerate.

        The fitted observations are taken if none are given.
        """
        data = self._data(observations)
        regions = Regions.of(data)
        rows = usable_rows(regions, "drop")
        directions, concentrations = self._flat_draws(_CUSTOMER_DRAWS)
        seed = 0 if self.seed_ is None else self.seed_
        found = customer_utilities(regions[rows], directions, concentrations, self._prior, seed)
        filled = (np.full(data.prices.shape, np.nan), np.full(data.prices.shape, np.nan))
        for whole, part in zip(filled, found, strict=True):
            whole[rows] = part
        return CustomerUtilities(*filled)

    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) the log posterior predictive probability of each observation; -inf for degenerate ones."""
        data = self._data(observations)
        directions, concentrations = self._flat_draws(MAX_LIKELIHOOD_DRAWS)
        regions = Regions.of(data)
        total = np.full(len(data), -np.inf)
        for direction, kappa in zip(directions, concentrations, strict=True):
            total = np.logaddexp(total, exact_log_mass(regions, kappa * direction).log_mass)
        return total - math.log(len(concentrations))

    def score(self, observations: Observations, y: None = None) -> float:  # noqa: ARG002
        """Return the mean log posterior predictive probability of observations."""
        return float(np.mean(self.log_likelihood(observations)))

    def loo(self) -> Any:
        """Return arviz's leave-one-out estimate of the log predictive score, pointwise, with Pareto k of each.

        Adds the group log_likelihood to `posterior_`: exact, of at most 400 thinned draws.
        """
        check_is_fitted(self)
        from arviz_stats import loo  # noqa: PLC0415

        if "log_likelihood" not in self.posterior_.children:
            self._add_log_likelihood()
        return loo(self.posterior_, var_name="bundles", pointwise=True)

    def _add_log_likelihood(self) -> None:
        import xarray as xr  # noqa: PLC0415

        draws, every = thinned(self.posterior_, MAX_LIKELIHOOD_DRAWS)
        directions, concentrations = draws["mean_direction"], draws["concentration"]
        regions = Regions.of(self._data(None))
        rows = usable_rows(regions, "drop")
        values = np.empty((*concentrations.shape, rows.size))
        for place in np.ndindex(*concentrations.shape):
            values[place] = exact_log_mass(regions[rows], concentrations[place] * directions[place]).log_mass
        posterior = group(self.posterior_, "posterior")
        coords = {
            "chain": posterior["chain"].values, "draw": posterior["draw"].values[every], "observation": rows,
        }  # fmt: skip
        self.posterior_["log_likelihood"] = xr.DataTree(
            xr.Dataset({"bundles": (("chain", "draw", "observation"), values)}, coords=coords)
        )

    def _data(self, observations: Observations | None) -> Observations:
        """Return observations in the order of the fit's goods; the fitted ones if none are given."""
        check_is_fitted(self)
        if observations is None:
            return self.observations_
        check_observations(observations)
        return observations.over(self.goods_)

    def summary(self) -> HeterogeneousSummary:
        """Return what was learned and how far to trust it, printable."""
        check_is_fitted(self)
        concentrations = group(self.posterior_, "posterior")["concentration"].values
        return HeterogeneousSummary(
            n_observations=self.n_observations_,
            n_goods=len(self.goods_),
            n_dropped=self.n_dropped_,
            sampler=self.sampler_,
            reason=self.reason_,
            n_chains=concentrations.shape[0],
            n_draws=concentrations.shape[1],
            is_converged=self.is_converged_,
            is_identified=self.is_identified_,
            verdict=(self._convergence, *self._identification),
            concentration=self._rows["concentration"][0],
            goods=tuple(sorted(self._rows["mean_direction"], key=lambda row: -row.mean)),
            alikeness=average_alikeness(len(self.goods_), concentrations),
            pareto_k=self.diagnostics_.pareto_k,
        )

    def save(self, folder: str | Path, *, command: Sequence[str] | None = None) -> None:
        """Write the fit to a folder that `load_fit` reads back; `command` made it, in words that a report repeats."""
        check_is_fitted(self)
        learned = {
            "sampler": self.sampler_,
            "reason": self.reason_,
            "status": self.status_,
            "seconds": self.seconds_,
            "n_dropped": self.n_dropped_,
            "bounds": [self._prior.lower, self._prior.upper],
            "diagnostics": self.diagnostics_.as_dict(),
            "likelihood_error": self.likelihood_error_,
        }
        save_model(self, folder, name="heterogeneous", learned=learned, tree=self.posterior_, command=command)

    @classmethod
    def restore(cls, saved: SavedFit) -> Self:
        """Return the model that a saved fit describes."""
        model, learned = restore_model(cls, saved, {"metropolis": _METROPOLIS}), saved.learned
        lower, upper = learned.numbers("bounds", 2)
        prior = Prior.within((lower, upper), model.n_features_in_)
        model.posterior_ = saved.tree
        _check_draws(saved.tree, prior, learned.where)
        shown = model.observations_
        model.goods_ = tuple(str(name) for name in group(saved.tree, "posterior")["good"].values)
        if not (shown.goods == model.goods_ and shown.n_goods == model.n_features_in_):
            raise UnreadableData(
                f"{learned.where}: goods of draws, data and header must be the same; save the fit again"
            )
        model.n_observations_ = saved.header.part("data").whole("n_observations", len(shown))
        model.n_dropped_ = learned.whole("n_dropped", 0, model.n_observations_ - 1)
        model.sampler_, model.reason_, model.status_ = (learned.text(name) for name in ("sampler", "reason", "status"))
        model.seconds_, model.likelihood_error_ = learned.number("seconds"), learned.number("likelihood_error")
        model._conclude(Diagnostics.restore(dict(learned.part("diagnostics").found)), prior)
        return model


def _check_draws(tree: xr.DataTree, prior: Prior, where: str) -> None:
    """Refuse what no posterior draws: directions that are none, concentrations the prior rules out."""
    per_draw, slack = ("chain", "draw"), 1e-9 * prior.upper
    drawn = {
        name: array_in(tree, f"posterior/{name}", (*per_draw, *axes), "f", where)
        for name, axes in VonMisesFisher.axes.items()
    }
    lowest, highest = drawn["concentration"].min(), drawn["concentration"].max()
    if not (
        np.abs(np.linalg.norm(drawn["mean_direction"], axis=2) - 1.0).max() < 1e-6
        and prior.lower - slack <= lowest <= highest <= prior.upper + slack
        and all(variable.dims[:2] == per_draw for variable in group(tree, "posterior").values())
    ):
        raise UnreadableData(
            f"{where}: draws must be unit vectors, with concentrations from {prior.lower:g} to {prior.upper:g}; save "
            "the fit again"
        )
