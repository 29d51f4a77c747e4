# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Customers who have enough of a good sooner or later, so that they buy several in part: the front door."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from stochpref import __version__
from stochpref.checks import check_choice
from stochpref.demand import typical_menu
from stochpref.errors import InvalidArgument, NotConverged, NotIdentified, UnreadableData
from stochpref.laws import LognormalLaw
from stochpref.models.account import Account
from stochpref.models.candidate import Candidate
from stochpref.models.drawn import draw_posterior
from stochpref.models.fit import Fit, Wanted
from stochpref.models.satiated_account import account_of
from stochpref.models.shared import check_observations, generator
from stochpref.models.storage import SavedFit, restore_model
from stochpref.models.values import array_in
from stochpref.names import FADING_LAWS, OUTSIDE_SCALES, PROFILES, TIES
from stochpref.observations import Menus, Observations
from stochpref.posterior.chains import Plan
from stochpref.posterior.diagnostics import Diagnostics
from stochpref.posterior.results import MAX_LIKELIHOOD_DRAWS, as_tree, group, observations_of
from stochpref.posterior.summary import judge_convergence
from stochpref.problems.satiated import Satiated
from stochpref.satiation.answers import SatiatedDemand, SplitElasticities, with_split, with_spread
from stochpref.satiation.fitting import AXES, Frame, Settings, learn
from stochpref.satiation.likelihood import SatiatedLikelihood, most_likely
from stochpref.satiation.market import SatiatedMarket
from stochpref.satiation.moving import Moving, checked_features
from stochpref.satiation.posterior import SatiatedPosterior
from stochpref.satiation.predictive import add_log_densities
from stochpref.satiation.summary import SatiatedSummary
from stochpref.stores.packing import data_hash
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]

_DRAFT: Final = {"n_draws": 60, "n_effective": 60}
_LAWS_IN_WORDS: Final = {"lognormal": "lognormal worths", "gumbel": "Gumbel log-worths (MDCEV)"}
_DENSITY: Final = (
    "log-densities are with respect to quantities bought in part, all but that of {}; never compare them with "
    "log-probabilities"
)


class SatiatedUtility(Fit):
    """The posterior of what goods are worth and how fast they satiate, where customers buy several of them in part.

    Parameters
    ----------
    profile : how worth fades: "log", u γ log(1 + x/γ), or "power", u γ/α ((1 + x/γ)^α − 1) with α learned first.
    features, satiation_features : what log-worths, and log-satiations, move with: names of features of the
        observations, and "price", the menus' unless there is a feature of that name; with one coefficient for all goods
        or, as "income:good", one for each.
    worth_law : of what first units are worth: "lognormal", or "gumbel", the multiple discrete-continuous extreme value
        model (MDCEV).
    outside_scale : "own", the outside good's worth is spread as it will, or "common", as that of the others.
    random_state : None, an integer or a numpy Generator.
    n_chains, n_draws : chains, and draws kept of each.
    n_effective : draw on until what is reported has this many effective draws; 0 to stop at n_draws.
    max_draws : of each chain, at most.
    max_seconds : stop drawing after this time; None for no limit.
    degenerate : there are no degenerate bundles here; taken for the sake of other models.
    engine : "cpu".
    verbose : show progress on a terminal's stderr.

    Attributes
    ----------
    satiation_ : (n,) γ of each good, the exponential of the posterior mean of its logarithm; NaN of the outside good.
    location_, scale_of_worth_, outside_scale_ : posterior means of log-worths (n,), of their spread and of that of the
        outside good, which is NaN where there is none.
    coefficients_ : posterior means of the coefficients of features by name, in the units given; {} without. What is
        said of goods, here and elsewhere, is where every feature is average.
    power_ : α; 0 for the logarithm.
    posterior_ : xarray DataTree with draws of "location", "log_scale" and "log_satiation".
    sampler_, reason_, status_, seconds_, diagnostics_, is_converged_, is_identified_ : as of `HeterogeneousUtility`.
    goods_, coordinates_, problem_, observations_, n_dropped_, seed_, command_ : as of `HeterogeneousUtility`.

    Notes
    -----
    Of bundles with several goods in part there are densities, no probabilities: `log_density` says of what. They can be
    compared with each other and never with log-probabilities. A common shift of all log-worths changes nothing: that of
    the outside good is 0, or, where there is none, they add up to 0.
    """

    name: ClassVar[str] = "satiated"
    problems: ClassVar[tuple[str, ...]] = ("satiated",)
    scores_are: ClassVar[str] = "densities"
    remedy: str = "try profile='power' or worth_law='gumbel' (--profile, --worth-law), or fit groups of customers apart"

    def __init__(
        self,
        profile: str = "log",
        features: Sequence[str] = (),
        satiation_features: Sequence[str] = (),
        worth_law: str = "lognormal",
        outside_scale: str = "own",
        random_state: int | np.random.Generator | None = None,
        n_chains: int = 4,
        n_draws: int = 250,
        n_effective: int = 200,
        max_draws: int = 5_000,
        max_seconds: float | None = None,
        degenerate: str = "refuse",
        engine: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.profile = profile
        self.features = features
        self.satiation_features = satiation_features
        self.worth_law = worth_law
        self.outside_scale = outside_scale
        self.random_state = random_state
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_effective = n_effective
        self.max_draws = max_draws
        self.max_seconds = max_seconds
        self.degenerate = degenerate
        self.engine = engine
        self.verbose = verbose

    @classmethod
    def candidates(cls, observations: Observations) -> tuple[Candidate, ...]:
        """Return both profiles, and MDCEV, where several goods may be bought in part; nothing for other problems."""
        problem = observations.problem
        if not isinstance(problem, Satiated):
            return ()
        n_free = 2 * observations.n_goods + (problem.outside is not None) * 2
        ways = [Candidate({}, n_free, 0.5, _DRAFT, "lognormal")]
        if problem.power is None:
            ways.append(Candidate({"profile": "power"}, n_free + 1, 0.8, _DRAFT, "lognormal, power"))
        gumbel = {"worth_law": "gumbel", "outside_scale": "common"}
        return (*ways, Candidate(gumbel, n_free - (problem.outside is not None), 0.5, _DRAFT, "MDCEV"))

    def fit(self, observations: Observations, y: None = None) -> Self:  # noqa: ARG002
        """Draw from the posterior given observations of problem "satiated".

        Warns
        -----
        NotConverged : the draws are too few or disagree.
        NotIdentified : some goods were never or rarely bought, so that nothing tells how they satiate.
        """
        check_observations(observations, self.problems)
        settings = self._settings()
        plan = Plan.checked(
            self.n_chains, self.n_draws, self.n_effective, self.max_draws, self.max_seconds, checkpoint=None
        )
        rng, self.seed_ = generator(self.random_state)
        key = int(rng.integers(2**63))
        learning = learn(observations, settings, key, plan)
        source = observations.under(learning.frame.problem)
        self.problem_, self.goods_, self.n_features_in_ = source.problem, source.goods, source.n_goods
        self.data_hash_, self.n_observations_, self.n_dropped_ = data_hash(observations), len(source), 0
        self.observations_, self.power_error_ = source, learning.power_error
        drawn = draw_posterior(learning.choice, plan, {}, verbose=self.verbose)
        self.sampler_, self.reason_, self.status_, self.seconds_ = drawn.how
        seed = -1 if self.seed_ is None else self.seed_
        attributes = {"version": __version__, "sampler": self.sampler_, "seed": seed}
        self.posterior_ = as_tree(drawn.draws, AXES, source, attributes)
        self.command_: list[str] | None = None
        self._moving = learning.frame.moving
        self._conclude(drawn.diagnostics, has_peak=learning.peak.has_converged)
        if not self.is_converged_:
            warnings.warn(self._convergence.text, NotConverged, stacklevel=2)
        if not self.is_identified_:
            warnings.warn(self._identification.verdict.text, NotIdentified, stacklevel=2)
        return self

    def _settings(self) -> Settings:
        check_choice(self.profile, "profile", PROFILES)
        check_choice(self.worth_law, "worth_law", FADING_LAWS)
        check_choice(self.outside_scale, "outside_scale", OUTSIDE_SCALES)
        check_choice(self.degenerate, "degenerate", TIES)
        check_choice(self.engine, "engine", ("cpu",))
        asked = (
            checked_features(self.features, "features"),
            checked_features(self.satiation_features, "satiation_features"),
        )
        return Settings(self.profile, self.worth_law, self.outside_scale == "own", *asked)

    def _conclude(self, found: Diagnostics, *, has_peak: bool) -> None:
        problem, settings, n = self.problem_, self._settings(), len(self.goods_)
        assert isinstance(problem, Satiated)
        frame = Frame.of(self.observations_, settings, problem.bend, self._moving)
        own = self._posterior = SatiatedPosterior(self.posterior_, frame, settings)
        self._has_peak, self.diagnostics_ = has_peak, found.labelled(frame.parameters.labels())
        self.location_: Array = own.part("location", own.mean)[:n]
        self.satiation_ = own.satiation(n)
        scales = [one.mean for one in own.scales()]
        self.scale_of_worth_, self.outside_scale_ = scales[0], scales[1] if len(scales) > 1 else float("nan")
        self.power_ = 1.0 - problem.bend
        self._convergence = judge_convergence(found, self.n_effective, self.status_)
        if not has_peak:
            self._convergence = Verdict("bad", "NOT CONVERGED: the climb to the mode ended on a slope; fit fewer goods")
        self._identification = own.identification()
        self.is_converged_ = self._convergence.status == "good"
        self.is_identified_ = self._identification.status == "good"
        self.check_ = self.ranking_ = None

    @property
    def best_utility(self) -> Array:
        """The utility of the customer in the middle at posterior means, of length 1, over `coordinates_`."""
        return self._posterior.middle(self._posterior.mean)

    @property
    def directions(self) -> Array:
        """The same of every posterior draw."""
        return self._posterior.middle(self._posterior.phi)

    def best_at(self, menus: Menus | Observations) -> Array:
        """Return the same utility, (T, N) at menus where features move it."""
        return self._posterior.middle_at(menus) if self._posterior.moves_with_features else self.best_utility

    @property
    def wanted(self) -> Wanted:
        """What a first unit is worth to the customer in the middle, over the goods, with 90 % intervals."""
        n = len(self.goods_)
        own = self.best_utility[:n]
        ends = np.quantile(self._posterior.first_units(n), (0.05, 0.95), axis=0).T
        return Wanted(own / float(np.linalg.norm(own)), ends)

    @property
    def is_settled(self) -> bool:
        """Whether the draws have converged."""
        return self.is_converged_

    @property
    def figures(self) -> dict[str, float]:
        """Spreads and satiations, and how far to trust the draws."""
        fades = {
            f"satiation_{g}": float(x) for g, x in zip(self.goods_, self.satiation_, strict=True) if np.isfinite(x)
        }
        outside = {"outside_scale": self.outside_scale_} if np.isfinite(self.outside_scale_) else {}
        return {
            "scale_of_worth": self.scale_of_worth_, **outside, "power": self.power_, **fades,
            "n_effective": self.diagnostics_.fewest_effective, "is_converged": float(self.is_converged_),
            "is_identified": float(self.is_identified_),
        }  # fmt: skip

    @property
    def law_(self) -> LognormalLaw:
        """The law at posterior means, where every feature is average, to simulate customers with."""
        return self._posterior.law()

    @property
    def coefficients_(self) -> dict[str, float]:
        """Posterior means of the coefficients of features, by name, in the units given."""
        check_is_fitted(self)
        return {one.name: one.mean for one in self._posterior.coefficients()}

    @property
    def needed_features(self) -> tuple[str, ...]:
        """The features that menus must have."""
        return self._moving.needed

    @property
    def prices_move_tastes(self) -> bool:
        """Whether prices of menus are among what worths or satiations move with."""
        return "price" in self.needed_features and "price" not in self.observations_.features

    def market(
        self, n_customers: int | None = None, n_draws: int = MAX_LIKELIHOOD_DRAWS, n_menus: int = 1
    ) -> SatiatedMarket:
        """Return the laws and customers that `demand` asks; customers depend on the fit's seed only."""
        check_is_fitted(self)
        seed = 0 if self.seed_ is None else self.seed_
        return self._posterior.market(self.coordinates_, n_customers, n_draws, n_menus, seed)

    def demand(
        self,
        menus: Any,
        budgets: ArrayLike | None = None,
        *,
        level: float = 0.9,
        n_customers: int | None = None,
        n_draws: int = MAX_LIKELIHOOD_DRAWS,
    ) -> SatiatedDemand:
        """Return expected purchases, with who buys, what the buyer in the middle takes, and what is spent there.

        Parameters
        ----------
        menus, budgets, level, n_customers, n_draws : as of every fit; budgets are incomes where the rest is a good.
        """
        found = super().demand(menus, budgets, level=level, n_customers=n_customers, n_draws=n_draws)
        faced = self._faced(menus, budgets)
        return with_spread(found, self._asked(n_customers, n_draws, len(faced)), faced)

    def elasticities(
        self,
        menus: Any = None,
        budgets: ArrayLike | None = None,
        *,
        goods: Sequence[str] | None = None,
        level: float = 0.9,
        n_customers: int | None = None,
        n_draws: int = MAX_LIKELIHOOD_DRAWS,
    ) -> SplitElasticities:
        """Return price elasticities at one menu, split into those of whether customers buy and of how much.

        Parameters
        ----------
        menus : one, as in `demand`; None for the typical one of those observed.
        goods, budgets, level, n_customers, n_draws : as of every fit.
        """
        faced = typical_menu(self.observations_) if menus is None else self._faced(menus, budgets)
        if len(faced) != 1:
            raise InvalidArgument(f"elasticities are taken at one menu; received {len(faced)}; pass menus[t]")
        found = super().elasticities(faced, goods=goods, level=level, n_customers=n_customers, n_draws=n_draws)
        return with_split(found, self._asked(n_customers, n_draws, 2 * len(found.goods)), faced)

    def log_density(self, observations: Observations) -> Array:
        """Return (T,) the log posterior predictive density of each bundle.

        With respect to the quantities of the goods bought in part, all of them but one, which the budget settles: the
        outside good, or the first of them where there is none. Where none but that was bought it is a probability.
        Another unit of a good shifts it by a constant for each purchase of the good. It compares fits of this model
        to the same bundles, and nothing else.
        """
        own = self._own(observations)
        return self._posterior.log_predictive(own)

    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) log-densities, as `log_density` does; they cannot be compared with log-probabilities."""
        return self.log_density(observations)

    def leave_one_out(self) -> Array | None:
        """Return (T,) the log-density of each fitted bundle given the others."""
        check_is_fitted(self)
        from arviz_stats import loo  # noqa: PLC0415

        if "log_likelihood" not in self.posterior_.children:
            add_log_densities(self.posterior_, *self._posterior.frame[:3])
        found = loo(self.posterior_, var_name="bundles", pointwise=True)
        return np.asarray(found.elpd_i.values, np.float64).ravel()

    def maximum_likelihood(self) -> SatiatedLikelihood:
        """Return the most likely parameters, with standard errors, also clustered by customer where some repeat.

        A power that was learned is held at its value, whose standard error is `power_error_`.
        """
        check_is_fitted(self)
        return most_likely(self._posterior.frame, self.observations_, self._posterior.free())

    def judge(self) -> tuple[Verdict, Verdict]:
        """Return the verdicts on draws and data."""
        return self._convergence, self._identification.verdict

    def account(self) -> Account:
        """Return what the fit says of itself, for people."""
        return account_of(self.summary(), self.seconds_)

    def summary(self) -> SatiatedSummary:
        """Return what was learned and how far to trust it, printable."""
        check_is_fitted(self)
        verdicts, sizes = self.verdicts(), group(self.posterior_, "posterior").sizes
        return SatiatedSummary(
            n_observations=self.n_observations_,
            n_goods=len(self.goods_),
            law=_LAWS_IN_WORDS[self.worth_law],
            density=_DENSITY.format(self._posterior.left_out),
            sampler=self.sampler_,
            reason=self.reason_,
            n_chains=sizes["chain"],
            n_draws=sizes["draw"],
            is_converged=self.is_converged_,
            is_identified=self.is_identified_,
            verdict=(self._convergence.text, *self._identification.lines, verdicts.fits.text),
            verdicts=verdicts,
            goods=self._posterior.rows(self.goods_),
            scales=self._posterior.scales(),
            coefficients=self._posterior.coefficients(),
            power=self.power_,
            power_error=self.power_error_,
            pareto_k=self.diagnostics_.pareto_k,
            cautions=self.cautions(),
            titles=self.titles,
        )

    def _learned(self) -> tuple[dict[str, Any], xr.DataTree]:
        learned = {
            "sampler": self.sampler_, "reason": self.reason_, "status": self.status_, "seconds": self.seconds_,
            "has_peak": self._has_peak, "moving": self._moving.settings(), "power_error": self.power_error_,
            "diagnostics": self.diagnostics_.as_dict(),
        }  # fmt: skip
        kept = {name: part for name, part in self.posterior_.children.items() if name != "log_likelihood"}
        return learned, xr.DataTree.from_dict({name: part.to_dataset() for name, part in kept.items()})

    @classmethod
    def restore(cls, saved: SavedFit) -> Self:
        """Return the model that a saved fit describes."""
        model, learned = restore_model(cls, saved, {}), saved.learned
        settings = model._settings()
        kept = model.observations_ = observations_of(saved.tree)
        if not (isinstance(kept.problem, Satiated) and kept.n_goods == model.n_features_in_):
            raise UnreadableData(f"{learned.where}: observations must be of problem 'satiated'; save the fit again")
        model.goods_, model.problem_, model.posterior_ = kept.goods, kept.problem, saved.tree
        model._moving = Moving.restore(learned.part("moving").found, kept.goods, kept.problem)
        sizes = Frame.of(kept, settings, kept.problem.bend, model._moving).parameters.labels()
        for name, axes in AXES.items():
            if name not in sizes:
                continue
            values = array_in(saved.tree, f"posterior/{name}", ("chain", "draw", *axes), "f", learned.where)
            if values.shape[2] != len(sizes[name]):
                raise UnreadableData(f"{learned.where}: {name} must be of {len(sizes[name])}; save the fit again")
        model.n_dropped_ = 0
        model.sampler_, model.reason_, model.status_ = (learned.text(name) for name in ("sampler", "reason", "status"))
        model.seconds_ = learned.number("seconds")
        model.power_error_ = learned.optional(learned.number, "power_error")
        found = Diagnostics.restore(dict(learned.part("diagnostics").found))
        model._conclude(found, has_peak=bool(learned.found.get("has_peak")))
        return model
