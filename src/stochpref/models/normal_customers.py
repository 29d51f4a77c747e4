# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A taste for every customer, in choices of one of several goods: how it is learned, asked and saved."""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref import __version__
from stochpref.errors import InvalidArgument
from stochpref.features import FeatureDesign
from stochpref.market import N_CROWDS, customers_for
from stochpref.models.account import Account
from stochpref.models.drawn import draw_posterior
from stochpref.models.fit import Wanted
from stochpref.models.normal_customers_account import account_of
from stochpref.models.normal_customers_saving import as_dataset, check_saved, design_in
from stochpref.models.normal_engine import Engine, Task
from stochpref.models.settings import as_setting
from stochpref.models.values import Values
from stochpref.normal.summary import pairs_of, said_of_pairs
from stochpref.observations import Menus, Observations
from stochpref.posterior.chains import Draws
from stochpref.posterior.choosing import Choice
from stochpref.posterior.diagnostics import Diagnostics, diagnose
from stochpref.posterior.results import as_tree, group, parameters_of
from stochpref.posterior.samplers.importance import smooth_weights
from stochpref.posterior.summary import judge_convergence
from stochpref.tastes.judging import judge_tastes, taste_rows
from stochpref.tastes.known import kept_draws, kept_places, know_customers
from stochpref.tastes.law import TasteLaw
from stochpref.tastes.market import Crowd, TasteMarket, make_crowd, new_noise, reads_by_value
from stochpref.tastes.mode import find_mode
from stochpref.tastes.panel import design_of, pack, whose
from stochpref.tastes.predictive import log_predictive, new_tastes
from stochpref.tastes.reported import Reported, spreads_of, to_told
from stochpref.tastes.results import CustomerCoefficients, TasteSummary, place_of
from stochpref.tastes.sampler import TasteSampler
from stochpref.verdicts import Verdict, Verdicts

if TYPE_CHECKING:
    from stochpref.models.normal import NormalUtility

Array = NDArray[np.float64]

_AXES: Final = {"mean": ("coefficient",), "covariance": ("coefficient", "other"), "log_probability": ("followed",)}
_AROUND_MODE: Final = 100  # draws of the law where the mode alone was asked for
_KINDS: Final = {
    "diagonal": "tastes for one good independent of those for others",
    "factor": "goods liked together through {} factor{}",
    "full": "goods liked together",
}


class Customers(Engine):
    """What was learned of a law of tastes, and of the taste of every customer.

    design : how utilities move with tastes.
    labels : of the customers who are known.
    taste : (S, C, p) draws of their tastes, each under the law of its place.
    later : purchases that came after the fit; None for none.
    """

    def __init__(
        self, tree: xr.DataTree, how: tuple[str, str, str, float], found: Diagnostics, model: NormalUtility,
        design: FeatureDesign,
    ) -> None:  # fmt: skip
        self.tree, self.diagnostics, self.design, self.n_dropped = tree, found, design, 0
        self.sampler, self.reason, self.status, self.seconds = how
        self.problem, self.observations = model.problem_, model.observations_
        self.seed = 0 if model.seed_ is None else model.seed_
        self.later: Observations | None = None
        drawn = parameters_of(tree)
        self.drawn = drawn
        self.mean_draws = drawn["mean"].reshape(-1, drawn["mean"].shape[2])
        self.covariance_draws = drawn["covariance"].reshape(len(self.mean_draws), *drawn["covariance"].shape[2:])
        kept = group(tree, "tastes")
        self.labels = tuple(str(label) for label in kept["customer"].values)
        self.taste: Array = kept["taste"].values
        self.left_out, self.log_likelihoods = kept["left_out"].values, kept["log_likelihood"].values
        self._kept = kept_places(len(self.mean_draws), len(self.taste))
        means, spreads = spreads_of(design, drawn)
        self.rows = taste_rows(design, means, spreads, is_chain=self.sampler != "mode")
        self._convergence = self._judged(model.n_effective)
        self._identification = judge_tastes(self.rows, design)
        at = design.at_average
        self._pairs = pairs_of(at @ drawn["covariance"] @ at.T + _tiny(len(at)), design.goods)

    def _judged(self, n_effective: int) -> Verdict:
        if self.sampler == "mode":
            return Verdict("good", "converged: the likelihood was climbed to its top; intervals are approximate")
        return judge_convergence(self.diagnostics, n_effective, self.status)

    @classmethod
    def learn(cls, model: NormalUtility, task: Task) -> Self:
        """Learn the law under the settings of a model."""
        data = task.observations
        if data.nonempty:
            raise InvalidArgument(
                "by_customer takes choices that were all recorded; received nonempty=True; state outside=False, for "
                "choices of those who chose some good"
            )
        started = time.monotonic()
        design = design_of(data, model.features)
        panel = pack(data, design, data.problem)
        law = TasteLaw.of(
            design, {"diagonal": 0, "factor": model.n_factors, "full": design.n_coordinates}[model.covariance]
        )
        seed, mode = task.key % 2**32, find_mode(panel, law, task.key % 2**32)
        if model.sampler == "mode":
            draws, found = _around(law, mode.phi, mode.information, seed), None
            how = ("mode", "the penalised mode, as asked", "enough", time.monotonic() - started)
        else:
            reported = Reported.of(data, design, data.problem, seed)
            choice = Choice(
                TasteSampler(panel, law, mode, task.key), "tastes weighed in clouds around the likeliest ones",
                diagnose_fn=reported.diagnose,
            )  # fmt: skip
            drawn = draw_posterior(choice, task.plan, _fingerprint_of(model, task), verbose=model.verbose)
            draws, found, how = drawn.draws, drawn.diagnostics, drawn.how
        attributes = {"version": __version__, "sampler": how[0], "seed": -1 if model.seed_ is None else model.seed_}
        tree = as_tree(draws, _AXES, data, attributes)
        mean, covariance = (
            draws.parameters[name].reshape(-1, *draws.parameters[name].shape[2:]) for name in ("mean", "covariance")
        )
        kept = kept_draws(len(mean), panel.n_customers, law.p)
        known = know_customers(panel, mean[kept], covariance[kept], seed=seed)
        tree["tastes"] = xr.DataTree(as_dataset(panel.labels, known, panel.order))
        how = (*how[:3], time.monotonic() - started)
        return cls(tree, how, diagnose({"mean": draws.parameters["mean"]}) if found is None else found, model, design)

    @classmethod
    def restore(cls, model: NormalUtility, tree: xr.DataTree, learned: Values) -> Self:
        """Return the engine that a saved fit describes."""
        design = design_in(model, learned)
        check_saved(tree, design, model.observations_, _AXES, learned.where)
        how = learned.text("sampler"), learned.text("reason"), learned.text("status"), learned.number("seconds")
        return cls(tree, how, Diagnostics.restore(dict(learned.part("diagnostics").found)), model, design)

    def as_record(self) -> dict[str, Any]:
        """Return which coefficients there are."""
        if self.later is not None:
            raise InvalidArgument(
                "a fit is saved as it was learned; this one has taken up later purchases; save the fit that "
                "update_customers was called on, and call it again after loading"
            )
        return {"kept": list(self.design.kept), "terms": [[*term[:3], *term.scale] for term in self.design.terms]}

    @property
    def moves_with(self) -> tuple[str, ...]:
        """The features that tastes have coefficients for."""
        return self.design.needed()

    @property
    def mean(self) -> Array:
        """Posterior mean of what an average customer wants, where features are average."""
        return np.asarray(self.design.at_average @ self.mean_draws.mean(axis=0))

    @property
    def covariance(self) -> Array:
        """Posterior mean of the covariance of tastes for goods over customers."""
        at = self.design.at_average
        return np.asarray(at @ self.covariance_draws.mean(axis=0) @ at.T)

    @property
    def coefficients(self) -> dict[str, Array]:
        """Posterior mean over customers of the coefficients of each feature, by its name, in the units given."""
        told, found = self.design.to_units @ self.mean_draws.mean(axis=0), {}
        first = self.design.n_coordinates
        for name, term in zip(self.design.features, self.design.terms, strict=True):
            count = len(term.names(self.design.goods))
            found[name] = told[first : first + count] if term.is_by_good else np.asarray(told[first])
            first += count
        return found

    @property
    def directions(self) -> Array:
        """The direction of what the average customer wants, of each draw."""
        wanted = self._worth(self.mean_draws[self._kept] @ self.design.at_average.T)
        return np.asarray(wanted / np.maximum(np.linalg.norm(wanted, axis=-1, keepdims=True), 1e-300))

    def _worth(self, wanted: Array) -> Array:
        return np.exp(wanted) if reads_by_value(self.problem) else wanted

    @property
    def wanted(self) -> Wanted:
        """The posterior of those directions."""
        own = self.directions
        return Wanted(own.mean(axis=0), np.quantile(own, (0.05, 0.95), axis=0).T)

    @property
    def figures(self) -> dict[str, float]:
        """How many customers there are, and how far to trust the draws."""
        spread = np.sqrt(np.diag(self.covariance))
        return {
            "n_customers": float(len(self.labels)), "widest_spread": float(spread.max()),
            "narrowest_spread": float(spread.min()), "n_effective": self.diagnostics.fewest_effective,
            "is_converged": float(self._convergence.status == "good"),
            "is_identified": float(self._identification.status == "good"),
        }  # fmt: skip

    def customer_coefficients(self) -> CustomerCoefficients:
        """Return the tastes of the customers who are known."""
        change = to_told(self.design)
        draws = self.taste @ change.T
        lower, upper = np.quantile(draws, (0.05, 0.95), axis=0)
        names, average = self.design.names, change @ self.mean_draws.mean(axis=0)
        return CustomerCoefficients(
            self.labels, names, draws.mean(axis=0), draws.std(axis=0), lower, upper, draws, average,
            self.sampler == "mode",
        )  # fmt: skip

    def best_at(self, menus: Menus | Observations, customers: Any = None) -> Array:
        """Return (T, n) the utility that predicts best at menus, of the average customer or of some by label."""
        designs = self.design.designs(menus)
        tastes = self.mean_draws.mean(axis=0)[None]
        places = np.zeros(len(designs.whose), np.intp)
        if customers is not None:
            places, tastes = self._places(customers, len(designs.whose)), self.taste.mean(axis=0)
        wanted = self._worth(np.einsum("tnp,tp->tn", designs.each[designs.whose], tastes[places]))
        return np.asarray(wanted / np.maximum(np.linalg.norm(wanted, axis=1, keepdims=True), 1e-300))

    def _places(self, customers: Any, count: int) -> NDArray[np.intp]:
        """Return whose each of so many menus is: one label for all, or one for each."""
        named = [customers] * count if isinstance(customers, str | int | np.integer) else list(customers)
        if len(named) != count:
            raise InvalidArgument(
                f"customers must be one label, or one for each of {count} menus; received {len(named)}"
            )
        return np.array([place_of(label, self.labels) for label in named], np.intp)

    def market(self, n_customers: int | None, n_draws: int, n_menus: int) -> TasteMarket:
        """Return the customers that demand asks, of the law."""
        some = np.unique(np.linspace(0, len(self.mean_draws) - 1, min(n_draws, len(self.mean_draws))).astype(np.intp))
        return self._market(self.mean_draws[some], self.covariance_draws[some], n_customers, n_menus)

    def market_of(self, customer: Any, n_customers: int | None, n_draws: int, n_menus: int) -> TasteMarket:
        """Return a market of one customer who is known, by label."""
        taste = self.taste[:, place_of(customer, self.labels)]
        taste = taste[np.unique(np.linspace(0, len(taste) - 1, min(n_draws, len(taste))).astype(np.intp))]
        return self._market(taste, np.zeros((len(taste), *self.covariance_draws.shape[1:])), n_customers, n_menus)

    def _market(self, mean: Array, covariance: Array, n_customers: int | None, n_menus: int) -> TasteMarket:
        count = customers_for(len(mean), n_menus) if n_customers is None else n_customers
        crowd: Crowd = make_crowd(self.design.n_coordinates, count, has_none=self._has_none, seed=self.seed)
        return TasteMarket(self.design, self.problem, mean, covariance, crowd, N_CROWDS)

    @property
    def _has_none(self) -> bool:
        return bool(self.problem.settings()["outside"])

    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) log predictive probabilities: of known customers given what they chose, of others each alone."""
        tastes = [
            *self.taste.swapaxes(0, 1),
            new_tastes(self.mean_draws[self._kept], self.covariance_draws[self._kept], seed=self.seed),
        ]
        places = {label: i for i, label in enumerate(self.labels)}
        labels = [None] * len(observations) if observations.customers is None else observations.customers
        codes = np.array([places.get(str(label), len(places)) for label in labels], np.intp)
        return log_predictive(observations, self.design, self.problem, tastes, codes)

    def leave_one_out(self) -> Array | None:
        """Return (T,) the log-probability of each choice given all others, those of its customer among them."""
        return self.left_out

    def leave_one_customer_out(self) -> Array:
        """Return (C,) the log-probability of all choices of each customer given those of the others alone."""
        return np.array(
            [
                np.log(smooth_weights(-own[None]).weights[0] @ np.exp(own - own.max())) + own.max()
                for own in self.log_likelihoods.T
            ]
        )

    def updated(self, observations: Observations) -> Self:
        """Return the engine with what customers chose after the fit taken up, the law as it was."""
        after = observations if self.later is None else self.later.concat(observations)
        labels, _ = whose(after)
        former = np.flatnonzero(np.isin(np.asarray(self.observations.customers, np.str_), labels))
        whole = self.observations[former].concat(after) if len(former) else after
        panel = pack(whole, self.design, self.problem)
        known = know_customers(panel, self.mean_draws[self._kept], self.covariance_draws[self._kept], seed=self.seed)
        new = copy.copy(self)
        new.later = after
        stay = [i for i, label in enumerate(self.labels) if label not in set(panel.labels)]
        new.labels = (*(self.labels[i] for i in stay), *panel.labels)
        new.taste = np.concatenate([self.taste[:, stay], known.taste], axis=1)
        return new

    def replicates(self, count: int, rng: np.random.Generator) -> list[Array]:
        """Return what customers choose anew at the menus they faced, so often, each by a draw of the own taste."""
        data = self.observations
        designs, found = self.design.designs(data), []
        codes = np.array([self.labels.index(label) for label in whose(data)[0]])[whose(data)[1]]
        for s in np.linspace(0, len(self.taste) - 1, min(count, len(self.taste))).astype(np.intp):
            wanted = np.einsum("tnp,tp->tn", designs.each[designs.whose], self.taste[s, codes])
            noise = new_noise(len(wanted), wanted.shape[1], self._has_none, rng)
            found.append(self.problem.choose(self._worth(wanted + noise), data))
        return found

    def judge(self) -> tuple[Verdict, Verdict]:
        """Return the verdicts on draws and data."""
        return self._convergence, self._identification

    def summary(self, model: NormalUtility, verdicts: Verdicts) -> TasteSummary:
        """Return what was learned, printable."""
        sizes, n, many = self.tree.children["posterior"].sizes, self.design.n_coordinates, model.n_factors
        total = float(self.leave_one_customer_out().sum()) / len(self.left_out)
        return TasteSummary(
            n_observations=model.n_observations_,
            n_customers=self.log_likelihoods.shape[1],
            n_goods=n,
            law=_KINDS[model.covariance].format(many, "" if many == 1 else "s"),
            sampler=self.sampler,
            reason=self.reason,
            n_chains=sizes["chain"],
            n_draws=sizes["draw"],
            is_converged=self._convergence.status == "good",
            is_identified=self._identification.status == "good",
            verdict=(self._convergence.text, self._identification.text, verdicts.fits.text),
            verdicts=verdicts,
            goods=tuple(sorted(self.rows[:n], key=lambda row: -row.mean)),
            features=self.rows[n:],
            together=said_of_pairs(self._pairs) if model.covariance != "diagonal" else (),
            pairs=self._pairs,
            left_out=float(self.left_out.mean()),
            customer_left_out=total,
            cautions=model.cautions(),
            titles=model.titles,
        )

    def account(self, model: NormalUtility, verdicts: Verdicts) -> Account:
        """Return what the fit says of itself, for people."""
        return account_of(self.summary(model, verdicts), self.customer_coefficients(), self.seconds)


def _tiny(n: int) -> Array:
    return 1e-12 * np.eye(n)


def _around(law: TasteLaw, phi: Array, information: Array, seed: int) -> Draws:
    """Return laws at the mode, but for means, which are drawn by the curvature there: of spreads it is a poor guide."""
    rng, p = np.random.default_rng([seed, 5]), law.p
    root = np.linalg.cholesky(np.linalg.inv(information)[:p, :p])
    mean = phi[:p] + rng.standard_normal((_AROUND_MODE, p)) @ root.T
    covariance = np.tile(law.covariance(phi), (1, _AROUND_MODE, 1, 1))
    none = np.zeros((1, _AROUND_MODE, 1))
    return Draws({"mean": mean[None], "covariance": covariance, "log_probability": none}, {})


def _fingerprint_of(model: NormalUtility, task: Task) -> dict[str, Any]:
    """Return all that decides the draws."""
    if task.plan.checkpoint is None:
        return {}
    settings = ("covariance", "n_factors", "features", "n_chains")
    named = {name: as_setting(getattr(model, name)) for name in settings}
    customers = whose(task.observations)
    return {"data": model.data_hash_, "customers": len(customers[0]), "random_state": task.key, **named}
