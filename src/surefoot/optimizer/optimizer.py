"""The loop: ask for a point, tell its reward, recommend the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.estimands import ESTIMANDS, Estimand
from surefoot._internal.threads import one_thread
from surefoot.acquisition import (
    ConfidenceBounds,
    Context,
    Interval,
    Policy,
    Score,
    ScoreRule,
    UpperConfidenceBound,
)
from surefoot.acquisition.estimands import estimand_of
from surefoot.acquisition.policy import as_policy, risk_on
from surefoot.acquisition.recommendation import (
    ROUNDS,
    By,
    assess,
    check_by,
    first_location,
    recommend,
    reported,
)
from surefoot.acquisition.replication import STABLE, Instability
from surefoot.estimators import Estimator, LeastSquares
from surefoot.features import Exact, Features
from surefoot.hyperparameters import Contrast, Fitted, GivenHyperparameters, HyperparameterFit
from surefoot.optimizer import arguments, saved_run
from surefoot.optimizer.constraints import ConstraintModels, FeasibleDesigns
from surefoot.optimizer.model import Hyperparameters, Inference, Model
from surefoot.optimizer.success import SuccessModel
from surefoot.regression.observations import UNKNOWN, Conditions, Observations
from surefoot.regression.posterior import Posterior
from surefoot.risks import Risk
from surefoot.spaces import Joint, Space
from surefoot.spaces.box import as_space
from surefoot.spaces.locations import EnvironmentValue, Location, Where
from surefoot.spaces.pending import PendingQueries, locate, new_owner
from surefoot.types import Constraint, Info, InvalidInput, NotReady, Query, Recommendation
from surefoot.widths import Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_FEW = 4  # points by which a kernel is recognised

_STATE = (
    "_model",
    "_generator",
    "_pending",
    "_designs",
    "_failed",
    "_initial",
    "_initial_used",
    "_memory",
    "_limited",
)  # what changes in a run


class Optimizer:
    """Maximises an unknown function from noisy measurements.

    The named algorithms of `surefoot.algorithms` are compositions of its parts. All randomness
    comes from `seed`: the same seed and the same rewards give the same run.

    Args:
        space: `Arms`, `Box`, a `parameters.Space` of named parameters, or `Joint` for designs in a
            random environment. Where points of a named space are told, so may be configurations,
            as values by parameter name, and queries and recommendations have them as `params`.
        kernel: Prior covariance, a GPyTorch kernel (of x followed by z on a `Joint` space); None
            fits one, on spaces with coordinates.
        risk: Risk measure over the environment that is maximised, on a `Joint` space.
        features: Feature map; `Exact()` by default.
        estimator: Estimator of the coefficients; `LeastSquares()` by default.
        width: Multiplier of the standard deviation in the bounds; `widths.srinivas()` by default.
        policy: Where to measure next, a policy or an acquisition function; the upper confidence
            bound by default.
        hyperparameters: How kernel and noise are fitted, where no kernel is given.
        ridge: Regularisation lambda where a kernel is given: the noise variance in the units of the
            kernel, that is in squared reward units, or in multiples of the squared output scale
            with `standardise=True`.
        standardise: Whether rewards are centred by their median and scaled by their MAD, where a
            kernel is given; with `Huber()`, by an empirical-Bayes prior mean and output scale.
        recommendation: Default of `recommend(by=...)`: "mean", "lower", "rounds",
            "cross-validated", or a function of a `Context` that returns a score.
        interval: What the intervals of `recommend` and `assess` are, `ConfidenceBounds()` by
            default or `Credible(level)`.
        estimand: What `recommend` and `assess` report of the rewards at a point. "location" is the
            value of the function that the estimator fits, which is the mean of the rewards for an
            unbiased one such as `LeastSquares()`. "median" and "mean" are those of the rewards,
            estimated from the residuals. Which point is recommended does not depend on it.
        initial: Number of points of the initial design; none by default, also where the kernel is
            fitted.
        repeat_until: With a factor above 1, a point is to be measured until its variance has
            fallen by that factor (`Query.repeats`; Calandriello et al. 2022), though never more
            often than all points before it.
        constraints: Limits of other quantities that are measured with the reward, by name.
        instability: Which points have replicates that differ too much: they are avoided like
            points that failed. By default none has.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Attributes:
        constraints: Models of the constraints.

    Raises:
        InvalidInput: If an argument is out of range, or two do not go together.

    Example:
        >>> import surefoot as sf
        >>> optimizer = sf.Optimizer(sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.linear())
        >>> query = optimizer.ask()
        >>> info = optimizer.tell(query, 0.7)
        >>> info.round
        1
    """

    def __init__(
        self,
        space: Space | Joint,
        kernel: Kernel | None = None,
        *,
        risk: Risk | None = None,
        features: Features | None = None,
        estimator: Estimator[Any] | None = None,
        width: Width | None = None,
        policy: Policy | ScoreRule | None = None,
        hyperparameters: HyperparameterFit | None = None,
        ridge: float = 1.0,
        standardise: bool = False,
        recommendation: By = "mean",
        interval: Interval | None = None,
        estimand: Estimand = "location",
        initial: int = 0,
        repeat_until: float = 1.0,
        constraints: Mapping[str, Constraint] | None = None,
        instability: Instability | None = None,
        seed: int = 0,
        device: str | torch.device = "cpu",
    ) -> None:
        space = as_space(space)
        arguments.check_parts(space, features, estimator, width)
        arguments.check_rules(hyperparameters, interval, instability)
        arguments.check_kernel(space, kernel, hyperparameters)
        self.space = space.to(device)
        self.risk = risk
        self._risk = risk_on(space, risk)
        self.policy = as_policy(UpperConfidenceBound() if policy is None else policy)
        self.policy.check(space, self._risk)
        self.seed = checks.count("seed", seed, least=0)
        self.ridge = checks.positive("ridge", ridge)
        self._generator = torch.Generator().manual_seed(self.seed)
        fit: Hyperparameters = HyperparameterFit() if hyperparameters is None else hyperparameters
        if kernel is not None:
            own = kernels.validated(kernel, self.space.seen).to(device)
            fit = GivenHyperparameters(own, self.ridge, standardise)
        self._standardise = checks.truth("standardise", standardise)
        check_by("recommendation", recommendation)
        self.recommendation = recommendation
        self.interval = ConfidenceBounds() if interval is None else interval
        checks.choice("estimand", estimand, *ESTIMANDS)
        self.estimand: Estimand = estimand
        self._model = Model(
            self.space.seen,
            fit,
            Exact() if features is None else features,
            LeastSquares() if estimator is None else estimator,
            srinivas() if width is None else width,
            self._generator,
            checks.count("initial", initial, least=0),
        )
        self.instability = STABLE if instability is None else instability
        self._success = SuccessModel(self._model)
        self._initial = self.space.spread(initial, self._generator)
        self._initial_used = 0
        self._repeat_until = checks.positive("repeat_until", repeat_until)
        if self._repeat_until < 1.0:
            raise InvalidInput(f"`repeat_until` is {repeat_until!r}, expected at least 1.")
        self._pending = PendingQueries()
        design = self.space.design
        self._designs = design.lower.new_zeros(0, design.dimension)  # measured, on a `Joint` space
        self._failed: list[Tensor] = []
        self._memory: dict[str, Any] = {}  # of the policy
        arguments.check_constraints(space, constraints)
        self.constraints = ConstraintModels(self.space.seen, constraints)
        # Inputs, values and conditions of the constraints, as they were told together.
        self._limited: list[list[tuple[Tensor, int | None, dict[str, float], Conditions]]] = []

    def ask(self, *, arms: Sequence | Tensor | None = None) -> Query:
        """Choose the next point to measure.

        Args:
            arms: The only ones to choose from in this round: indices (n,) of an `Arms` space, or
                points (n, d) of a `Box`, which may never have been seen before; designs on a
                `Joint` space.

        Returns:
            The query, which is pending until it is told or forgotten.

        Raises:
            InvalidInput: If `arms` are not of the space.
        """
        among = None if arms is None else self.space.listed(arms)
        with one_thread():
            return self._add_pending(self._choose(among))

    def ask_batch(self, number: int) -> list[Query]:
        """Choose several points to measure in parallel, each with those before it pending.

        Args:
            number: How many.

        Returns:
            The queries.
        """
        return [self.ask() for _ in range(checks.count("number", number))]

    def expect(self, where: Where, environment: EnvironmentValue = None) -> Query:
        """Register a measurement in progress that was not asked for.

        Args:
            where: The index of an arm or a point; a design on a `Joint` space.
            environment: The z (dz,) that it is measured under, on a `Joint` space.

        Returns:
            The query, which is pending until it is told or forgotten.
        """
        location, _ = self._locate(where, self._supposed(where, environment))
        return self._add_pending(location, 1)

    def tell(
        self,
        where: Where,
        y: float,
        environment: EnvironmentValue = None,
        *,
        sem: float = 0.0,
        constraints: Mapping[str, float] | None = None,
        worker: str | int | None = None,
        time: float | None = None,
    ) -> Info:
        """Record a reward, in any order.

        Args:
            where: A query, the index of an arm or a point. A query of another optimizer, or one
                that has all its rewards, stands for its point. A point counts for the first query
                that is pending there. One between two levels or categories may be told, and is
                never recommended.
            y: The reward, a finite number.
            environment: The z (dz,) that it was measured under, on a `Joint` space where the query
                did not ask for one; one query may be told under several.
            sem: Standard error of the reward, in reward units: the standard deviation of a known
                error in addition to the noise, such as that of a mean over replicates; 0 for none.
            constraints: Values by name of the constraints that were measured; some may be missing.
            worker: Name of who or what measured it, such as a machine. Where hyperparameters are
                fitted, workers have random effects, if the data support that.
            time: When it was measured, in any unit. Likewise, the level of the rewards may drift
                over time. Predictions are for the time of the latest reward and the average of
                the workers.

        Returns:
            Diagnostics of the update.

        Raises:
            InvalidInput: With nothing changed, for a reward that is not a finite number, a point
                out of bounds, a `sem` below 0, or one above 0 with an estimator that cannot use it,
                a worker without a name, a time that is not finite, or a worker or a time where a
                kernel is given. After any other error, of the model or of a part of yours, the
                reward has been recorded: do not tell it again.
        """
        started = perf_counter()
        location, query = self._locate(where, environment)
        reward, error = checks.reward(y), checks.standard_error(sem)
        arguments.standard_errors([error] if error else None, 1, self._model.estimator)
        limited = arguments.constraint_values([constraints], 1, self.constraints.limits)
        under = [UNKNOWN]
        if worker is not None or time is not None:
            under = arguments.conditions([worker], [time], 1, self.effects)
        with one_thread():
            self._record(location, query, reward, error, under[0])
            self._constrain([location], limited, under)
            return self._info(self._model.infer(), perf_counter() - started)

    def tell_all(
        self,
        points: Tensor | Sequence,
        rewards: Tensor | Sequence,
        environments: Tensor | Sequence | None = None,
        *,
        sems: Tensor | Sequence | None = None,
        constraints: Sequence[Mapping[str, float] | None] | None = None,
        workers: Sequence[str | int | None] | None = None,
        times: Sequence[float | None] | Tensor | None = None,
    ) -> Info:
        """Record many rewards at once, with one estimate.

        Args:
            points: Queries, indices of arms (n,) or points (n, d).
            rewards: Rewards (n,).
            environments: What they were measured under (n, dz), on a `Joint` space.
            sems: Standard errors (n,) of the rewards; by default 0.
            constraints: Values by name of the constraints, one mapping for each reward.
            workers: Who or what measured each reward; some may be None.
            times: When each was measured; some may be None.

        Returns:
            Diagnostics of the update.

        Raises:
            InvalidInput: With nothing changed, where `tell` would for one of them.
        """
        started = perf_counter()
        y = checks.rewards(rewards)
        z = arguments.environments_of(points, y, environments)
        errors = arguments.standard_errors(sems, len(y), self._model.estimator)
        limited = arguments.constraint_values(constraints, len(y), self.constraints.limits)
        conditions = arguments.conditions(workers, times, len(y), self.effects)
        located, left = [], self._pending.copy()
        for where, environment in zip(points, z, strict=True):
            location, query = locate(self.space, where, environment, left)
            if query is not None:
                left.settle(query)
            located.append((location, query))
        with one_thread():
            rows = zip(located, y, errors, conditions, strict=True)
            for (location, query), reward, error, under in rows:
                self._record(location, query, reward, error, under)
            self._constrain([location for location, _ in located], limited, conditions)
            return self._info(self._model.infer(), perf_counter() - started)

    def forget(
        self, query: Where, environment: EnvironmentValue = None, *, failed: bool = True
    ) -> None:
        """Give up a query without a reward.

        Args:
            query: The query, or the arm or point that was asked for.
            environment: The z (dz,) of a point, on a `Joint` space.
            failed: Whether the point itself is infeasible: the search avoids it and, as failures
                accumulate, its neighborhood. Otherwise it may be asked for again.

        Raises:
            InvalidInput: If the space has no such point.
        """
        checks.truth("failed", failed)
        pending = self._pending.find(query) if isinstance(query, Query) else None
        if pending is None:
            location, id_ = self._locate(query, self._supposed(query, environment))
        else:
            location, id_ = pending.location, pending.query.id
        if id_ is not None:
            asked = self._pending.by_id[id_].location
            self._model.release(asked.point, asked.arm, self._pending.drop(id_))
        if failed:
            self._failed.append(location.point)

    def recommend(
        self,
        by: By | None = None,
        *,
        risk: Risk | None = None,
        estimand: Estimand | None = None,
    ) -> Recommendation:
        """The best point, with an interval of the function there (see `interval`).

        On a `Joint` space, the design among those measured of largest risk of the mean, with the
        risks of the bounds as its interval. Where measurements have failed, the values are
        discounted by the probability of failure. With constraints, it is the best point of those
        for which all of them hold with the confidence asked for; if no such point is known, the
        measured one for which that is most probable, as its `feasibility` says.

        Args:
            by: "mean" for the largest posterior mean, "lower" for the largest lower bound, "rounds"
                for the query whose lower bound was largest in the round in which it was chosen
                (requires `acquisition.Recorded` as the policy); "cross-validated" for the largest
                posterior mean if it predicts rewards that are left out
                (`CrossValidation.is_predictive`), else the measured point of best average reward,
                outliers left out; a function of a `Context` that returns a score of designs, such
                as `ExpectedRisk()`, for the largest score of any design; None for the
                `recommendation` of the optimizer.
            risk: The risk to recommend by and to report, in place of the optimizer's, on a `Joint`
                space; with `WeightedVaR` that of one of its levels, for instance.
            estimand: What the value is of the rewards there, "location", "median" or "mean", in
                place of the optimizer's.

        Returns:
            The recommendation.

        Raises:
            NotReady: Before the first reward, and by "rounds" if none was recorded.
            InvalidInput: If `risk` is given without an environment, or with "rounds", or there is
                no such estimand.

        References:
            Nguyen et al. 2021, Section 3.2, on a `Joint` space.
        """
        rule = self.recommendation if by is None else by
        check_by("by", rule)
        measure = self._risk if risk is None else risk_on(self.space, risk)
        if risk is not None and rule == ROUNDS:
            raise InvalidInput(
                'the lower bounds of `by="rounds"` are of the risk of the optimizer: pass '
                '`by="lower"` for another `risk`.'
            )
        with one_thread():
            context = self._reporting(estimand).under(measure)
            within = self.feasible_designs
            if within is None:
                return recommend(context, rule, self.interval)
            x = within.under(measure).recommend(rule)
            arm, chance = self.space.design.locate(x).arm, within.probability(x.unsqueeze(0))
            return reported(context, x, arm, self.interval, float(chance))

    def assess(
        self,
        designs: Tensor | Sequence,
        *,
        risk: Risk | None = None,
        estimand: Estimand | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The risk of the mean, of the lower and of the upper bound (n,).

        On a space without an environment, the mean and the bounds themselves; of the estimand.

        Args:
            designs: Designs (n, dx).
            risk: The risk in place of the optimizer's, on a `Joint` space.
            estimand: What the values are of the rewards, in place of the optimizer's.

        Returns:
            Three tensors (n,).

        Raises:
            NotReady: Before the first reward.
            InvalidInput: If the space has no such designs, or `risk` is given without an
                environment, or there is no such estimand.
        """
        measure = self._risk if risk is None else risk_on(self.space, risk)
        context, design = self._reporting(estimand).under(measure), self.space.design
        rows = checks.matrix("designs", designs, design.lower.device)
        x = torch.stack([design.locate(row, name="designs").design for row in rows])
        return assess(context, x, self.interval)

    @property
    def posterior(self) -> Posterior:
        """The posterior given all rewards; `NotReady` before the first one.

        Where a transformation of the rewards was fitted, it is the posterior of the transformed
        function: `hyperparameters.warp.inverse` takes its quantiles to reward units.
        """
        with one_thread():
            return self._model.up_to_date().look().posterior

    @property
    def context(self) -> Context:
        """The state after all rewards, pending queries aside, by which designs are recommended."""
        return self._look(self.constraints.probability())

    def _reporting(self, name: Estimand | None) -> Context:
        """The state after all rewards, with the estimand of a name, or the optimizer's."""
        if name is None:
            return self.context
        checks.choice("estimand", name, *ESTIMANDS)
        return replace(self.context, estimand=estimand_of(name, self.residuals))

    @property
    def feasible_designs(self) -> FeasibleDesigns | None:
        """Probability that all constraints hold; None before the first of their values."""
        return FeasibleDesigns.of(self.constraints, self._look()) if self.constraints else None

    @property
    def width(self) -> float:
        """beta, the multiplier of the standard deviation in the next bounds."""
        if len(self._model.observations) == 0:
            return self._model.width_at_start()
        return self._model.latest.width

    @property
    def width_rule(self) -> Width:
        """The rule of the width."""
        return self._model.width

    @property
    def history(self) -> Observations:
        """Every reward as it was told."""
        return self._model.observations

    @property
    def weights(self) -> Tensor:
        """Weight in [0, 1] of each reward (t,) in the present estimate, in order of arrival."""
        return self._model.up_to_date().weights()

    def residuals(self) -> Tensor:
        """What the present posterior mean leaves of each reward (t,), in order of arrival.

        They are in units of the rewards as they are transformed, without effects of conditions, and
        each is divided by the square root of 1 less its leverage, so that they vary like the noise.

        Returns:
            Residuals (t,).

        Raises:
            NotReady: Before the first reward.
        """
        with one_thread():
            return self._model.up_to_date().residuals()

    @property
    def unstable(self) -> Tensor:
        """Measured points (k, d) that are unstable, in the sense of `instability`."""
        return self._model.observations.sites[self._unstable()]

    @property
    def pending(self) -> list[Query]:
        """Queries that were asked and neither told nor forgotten."""
        return self._pending.queries

    @property
    def effects(self) -> Sequence[str]:
        """Names of the effects of conditions that are looked for, see `HyperparameterFit`."""
        return self._model.hyperparameters.effects

    def contrasts(self) -> dict[str, Contrast]:
        """The effects of conditions on each reward (t,), less those at the reference level.

        Returns:
            Effects by name, "worker" or "drift", in units of the rewards as they are transformed;
            only those that the data support.
        """
        with one_thread():
            return self._model.up_to_date().contrasts()

    @property
    def hyperparameters(self) -> Fitted | None:
        """The hyperparameters in use; None where the kernel was given, or before any reward."""
        model = self._model.up_to_date()
        return model.fitted if model.fitted_at and not model.hyperparameters.lasting else None

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything that the run needs to go on to one file (safetensors with JSON).

        The file replaces the one at `path` only when it is complete.

        Args:
            path: The file.

        Raises:
            InvalidInput: If a policy of yours keeps something in `context.memory` that cannot be in
                a file; nothing is written then.
        """
        model = self._model
        lasting = model.hyperparameters.lasting
        parts = {
            "features": model.features,
            "estimator": model.estimator,
            "width": model.width,
            "policy": self.policy,
            "hyperparameters": None if lasting else model.hyperparameters,
            "risk": self.risk,
            "constraints": self.constraints.limits,
            "recommendation": self.recommendation,
            "interval": self.interval,
            "instability": self.instability,
            "kernel": model.fitted.kernel if lasting else None,
        }
        options = {
            "ridge": self.ridge,
            "standardise": self._standardise,
            "estimand": self.estimand,
            "repeat_until": self._repeat_until,
            "initial": self._model.initial,
            "seed": self.seed,
        }
        state = {name: getattr(self, name) for name in _STATE}
        if lasting:
            state["covariance"] = self._prior_covariance()
        saved_run.save(Path(path), self.space, parts, options, state)

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, device: str | torch.device = "cpu", **parts: Any
    ) -> Optimizer:
        """The optimizer that was saved: the same next ask, the same run from here on.

        Args:
            path: The file.
            device: Device of the tensors.
            parts: Parts that are not surefoot's own (a GPyTorch kernel, an estimator of yours, a
                `Joint` space with a density or a perturbation) are not in the file; pass them
                again by the names that `Optimizer` gives them.

        Returns:
            The optimizer.

        Raises:
            InvalidInput: If the file is damaged or not one of `save`, if a part is missing, or if
                kernel, estimator or feature map are others, or if the device cannot be used.
        """
        device = checks.device(device)
        with saved_run.refusing(Path(path)):
            run = saved_run.load(Path(path), device, parts)
            optimizer = cls(run.space, device=device, **run.parts, **run.options)
            dimension = run.state["_model"]["fields"]["observations"]["fields"]["dimension"]
            if dimension != optimizer.space.seen.dimension:
                raise InvalidInput(
                    f"{path} has points of {dimension} coordinates and the `space` that came has "
                    f"{optimizer.space.seen.dimension}: pass the one it was saved with."
                )
            if optimizer._model.hyperparameters.lasting:
                before = run.decoder.decode(run.state["covariance"])
                saved_run.check_covariance(Path(path), before, optimizer._prior_covariance())
            optimizer._model.restore(run.state["_model"], run.decoder)
            optimizer._generator.set_state(run.decoder.decode(run.state["_generator"]))
            for name in _STATE[2:]:
                setattr(optimizer, name, run.decoder.decode(run.state[name]))
            for told in optimizer._limited:
                places = [Location(point, arm, point, None) for point, arm, _, _ in told]
                under = [one for _, _, _, one in told]
                optimizer.constraints.tell(places, [one for _, _, one, _ in told], under)
        return optimizer

    def _prior_covariance(self) -> Tensor:
        """The covariance (p, p) at a few points, by which a kernel is recognised in a file."""
        few = self.space.seen.spread(_FEW, torch.Generator().manual_seed(0))
        points = torch.stack([location.point for location in few])
        with torch.no_grad():
            return kernels.block(self._model.fitted.kernel, points, points)

    @property
    def in_initial_design(self) -> bool:
        """Whether the next query, without `arms`, is a point of the initial design."""
        known = len(self._model.observations) + len(self._pending)
        return self._initial_used < len(self._initial) > known

    def reseed(self, seed: int) -> None:
        """Draw from a new seed from now on, as parallel copies of one optimizer must.

        Args:
            seed: The seed.
        """
        self._generator.manual_seed(checks.count("seed", seed, least=0))
        self._pending.owner = new_owner()  # the next queries of two copies have the same ids

    def _choose(self, among: list[Location] | None) -> Location:
        if among is None and self.in_initial_design:
            self._initial_used += 1
            return self._initial[self._initial_used - 1]
        if len(self._model.observations) == 0:
            if among is None:
                kernel = self._model.fitted.kernel
                return first_location(
                    self.space, kernel, self._pending, self._failed, self._generator
                )
            if self.risk is None:
                return among[int(torch.randint(len(among), (), generator=self._generator))]
            raise NotReady("there are no rewards yet: `ask` without `arms` first.")
        location = self.policy.choose(self._context(), among)
        if not isinstance(location, Location):
            raise InvalidInput(
                f"the policy chose {checks.shown(location)}, expected a location, as "
                "`context.space.location(point)` makes it."
            )
        if location.design_arm is None:
            self.space.design.locate(location.design, name="the chosen point")
        return location

    def _context(self) -> Context:
        """What the next point is chosen by: the rewards, and the pending queries."""
        model = self._model
        posterior, width = model.selection(), model.latest.width
        success = self._success.of_search(self._failed, self._unstable())
        constraints, pending, memory = self.constraints.probability(), self._pending, self._memory
        return self._context_with(model, posterior, width, pending, memory, success, constraints)

    def _look(self, constraints: Score | None = None) -> Context:
        """The state after all rewards, with a given probability that all constraints hold."""
        model = self._model.up_to_date()
        posterior, width = (look := model.look()).posterior, look.width
        successes = self._success if model is self._model else SuccessModel(model)
        success = successes.of_recommendation(
            self._failed, self._unstable(), measured=self.space.has_environment
        )
        nothing, memory = PendingQueries(), {**self._memory}
        return self._context_with(model, posterior, width, nothing, memory, success, constraints)

    def _context_with(
        self,
        model: Model,
        posterior: Posterior,
        width: float,
        pending: PendingQueries,
        memory: dict[str, Any],
        success: Score | None,
        constraints: Score | None,
    ) -> Context:
        return Context(
            self.space,
            self._risk,
            posterior,
            width,
            model.observations,
            pending,
            self._generator,
            self._designs,
            success,
            constraints,
            model.prior,
            memory=memory,
            warp=model.fitted.warp,
            hyperparameter_uncertainty=model.uncertainty,
            estimand=estimand_of(self.estimand, model.residuals),
        )

    def _unstable(self) -> Tensor:
        """Indices of the sites that are unstable."""
        return torch.from_numpy(self.instability(self._model.without_effects()))

    def _repeats(self, point: Tensor) -> int:
        """How often to measure: n with 1 + n sigma^2 / ridge = repeat_until."""
        most = len(self._model.observations)
        if self._repeat_until == 1.0 or most == 0:
            return 1
        posterior = self._model.latest.posterior
        with torch.no_grad():
            variance = float(posterior.variance(point.unsqueeze(0)))
        relative = variance / posterior.scale / posterior.scale / self._model.fitted.noise
        return max(1, min(most, math.ceil((self._repeat_until - 1.0) / max(relative, 1e-300))))

    def _add_pending(self, location: Location, repeats: int | None = None) -> Query:
        times = self._repeats(location.point) if repeats is None else repeats
        self._model.pull(location.point, location.arm, times)
        return self._pending.add(location, times, observed=self.space.observed)

    def _record(
        self,
        location: Location,
        query: int | None,
        reward: float,
        sem: float,
        conditions: Conditions,
    ) -> None:
        if query is not None:
            asked = self._pending.by_id[query].location
            if not torch.equal(asked.point, location.point):  # not the environment supposed
                self._model.release(asked.point, asked.arm)
                self._model.pull(location.point, location.arm)
            self._pending.settle(query)
        else:
            self._model.pull(location.point, location.arm)
        if self.space.has_environment:
            known = bool((self._designs == location.design).all(-1).any())
            if not known:
                self._designs = torch.cat([self._designs, location.design.unsqueeze(0)])
        self._model.observe(location.point, location.arm, reward, sem, conditions)

    def _constrain(
        self,
        locations: Sequence[Location],
        values: list[dict[str, float]],
        conditions: Sequence[Conditions],
    ) -> None:
        if not any(values):
            return
        self.constraints.tell(locations, values, conditions)
        rows = zip(locations, values, conditions, strict=True)
        self._limited.append([(one.point, one.arm, each, under) for one, each, under in rows])

    def _supposed(self, where: Where, environment: EnvironmentValue) -> EnvironmentValue:
        """The environment of a pending measurement; one is drawn where it is not yet observed."""
        space = self.space
        if environment is None and space.observed:
            point = where.point if isinstance(where, Query) else where
            design = space.design.locate(point).design.unsqueeze(0)
            return space.environment.sample_at(design, torch.Generator().manual_seed(0))[0]
        return environment

    def _locate(
        self, where: Where, environment: EnvironmentValue = None
    ) -> tuple[Location, int | None]:
        return locate(self.space, where, environment, self._pending)

    def _info(self, inference: Inference, seconds: float) -> Info:
        estimate = inference.estimate
        threshold = estimate.threshold * self._model.fitted.scale
        return Info(
            round=len(self._model.observations),
            width=inference.width,
            threshold=threshold if math.isfinite(threshold) else None,
            truncated=int(estimate.last_truncated),
            truncated_total=estimate.truncated,
            dimension=inference.dimension,
            information_gain=inference.information_gain,
            seconds=seconds,
        )
