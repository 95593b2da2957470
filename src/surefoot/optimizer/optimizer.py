"""The loop: ask for a point, tell its reward, and what is believed of the objective by then."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.estimands import Estimand
from surefoot._internal.html import as_html
from surefoot._internal.lock import Lock, one_at_a_time
from surefoot._internal.numbers import TINY
from surefoot._internal.process_settings import with_own_settings
from surefoot._internal.tensors import NO_INDICES
from surefoot.acquisition.policy import as_policy
from surefoot.acquisition.recommendation import ROUNDS, By, check_by, first_location, recommend
from surefoot.acquisition.scores import PolicyState
from surefoot.beliefs import Belief, ConstraintBeliefs, FailureBelief, Reported
from surefoot.beliefs.band import Band
from surefoot.beliefs.belief import rows
from surefoot.beliefs.estimands import estimand_of
from surefoot.beliefs.failure import SharedValues
from surefoot.beliefs.outcome import OutcomeBelief
from surefoot.beliefs.probability import LIKELY, Probability
from surefoot.models.model import FitStore
from surefoot.optimizer import arguments, saved_run
from surefoot.optimizer.history import History
from surefoot.optimizer.method import Method
from surefoot.optimizer.permitted import permitted
from surefoot.optimizer.told import Told
from surefoot.optimizer.unread import Unread
from surefoot.optimizer.vacuous_bounds import warn_if_vacuous
from surefoot.problem import Problem
from surefoot.regression.observations import Observations
from surefoot.risks import Risk
from surefoot.risks.functionals import on_space
from surefoot.spaces import Box, Joint, Space
from surefoot.spaces.listed_designs import rows_of
from surefoot.spaces.locations import EnvironmentValue, Location, Where
from surefoot.spaces.pending import PendingQueries, locate, new_owner
from surefoot.types import (
    OBJECTIVE,
    Diagnostics,
    Info,
    InvalidInput,
    Measurement,
    NotReady,
    Outcome,
    Query,
    Recommendation,
)

_Located = tuple[Location, int | None, Measurement]  # with the pending query that it counts for


class Optimizer:
    """Maximises an unknown function from noisy measurements.

    The named algorithms of `surefoot.algorithms` are compositions of its parts. All randomness
    comes from `seed`: the same seed and the same rewards give the same run. Threads may share an
    optimizer; one call waits for the other.

    Args:
        problem: What is optimised, or its space alone. Where points of a space of named parameters
            are told, so may be configurations, as values by parameter name, and queries and
            recommendations have them as `params`.
        method: The parts by which it is solved, see `Method`.
        seed: Seed of all random choices.

    Raises:
        InvalidInput: If an argument is out of range, or two do not go together.

    Example:
        >>> import surefoot as sf
        >>> arms = sf.Arms([[0.0], [0.5], [1.0]])
        >>> optimizer = sf.Optimizer(arms, sf.Method(sf.kernels.linear()))
        >>> query = optimizer.ask()
        >>> info = optimizer.tell(query, 0.7)
        >>> info.round
        1
    """

    @with_own_settings
    def __init__(
        self, problem: Problem | Space | Joint, method: Method = Method(), *, seed: int = 0
    ) -> None:
        self._lock = Lock()
        self.problem = Problem.of(problem)
        self.method = checks.instance("method", method, Method)
        self.space = space = self.problem.domain
        self.risk = on_space(space, self.problem.risk_of_domain)
        self.policy = as_policy(method.policy)
        self.policy.check(space, self.risk)
        self.seed = checks.count("seed", seed, least=0)
        self._generator = torch.Generator().manual_seed(self.seed)
        model = method.model(space)
        warn_if_vacuous(model)
        self._permitted = permitted(self.problem)
        starts, plan = self._permitted.has_design, method.plan
        self._told = Told.nothing(space, self.problem.outcomes, model)
        initial = plan.initial if starts else 0
        self._history = History(model, self._generator, self._told.rewards, initial)
        self._initial = plan.design(space, self._generator) if starts else []
        self._initial_used = 0
        self._pending = PendingQueries()
        self._memory: dict[str, Any] = {}  # of the policy
        self._unread = Unread()

    @one_at_a_time
    @with_own_settings
    def ask(
        self,
        *,
        arms: Sequence | Tensor | None = None,
        within: Box | Mapping[str, Any] | None = None,
    ) -> Query:
        """Choose the next point to measure.

        Args:
            arms: The only ones to choose from in this round: indices (n,) of an `Arms` space, or
                points (n, d) of a `Box`, which may never have been seen before; designs on a
                `Joint` space.
            within: The part of a `Box` to choose from in this round, such as `box.given({0: 0.3})`;
                on a `parameters.Space` also the values of parameters that are known before the
                choice, by name; none of a parameter that is inactive beside the others. Bounds have
                half their width then.

        Returns:
            The query, which is pending until it is told or forgotten.

        Raises:
            InvalidInput: If `arms` or `within` are not of the space, or both are given.

        References:
            Krause and Ong 2011, "Contextual Gaussian process bandit optimization"; Bastani et al.
            2021, "Mostly exploration-free algorithms for contextual bandits", for the width.

        Example:
            >>> import surefoot as sf
            >>> space = sf.parameters.Space(
            ...     {"load": sf.parameters.Float(0, 1), "threads": sf.parameters.Int(1, 8)}
            ... )
            >>> optimizer = sf.algorithms.robust_ucb(space, seed=0)
            >>> optimizer.ask(within={"load": 0.3}).params["load"]
            0.3
        """
        if arms is not None and within is not None:
            raise InvalidInput(
                "`arms` and `within` were given, expected one of them: leave one out."
            )
        among = None if arms is None else self.space.listed(rows_of(self.space, arms))
        part = self.space if within is None else arguments.part_of(self.space, within)
        return self._add_pending(self._choose(among, part))

    def ask_batch(
        self, number: int, *, within: Box | Mapping[str, Any] | None = None
    ) -> list[Query]:
        """Choose several points to measure in parallel, each with those before it pending.

        Args:
            number: How many.
            within: The part of the space to choose from, as of `ask`.

        Returns:
            The queries.
        """
        return [self.ask(within=within) for _ in range(checks.count("number", number))]

    @one_at_a_time
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

    @one_at_a_time
    @with_own_settings
    def tell(
        self,
        where: Where,
        y: float,
        environment: EnvironmentValue = None,
        *,
        sem: float = 0.0,
        outcomes: Mapping[str, float] | None = None,
        worker: str | int | None = None,
        time: float | None = None,
    ) -> Info:
        """Record a reward, in any order.

        Args:
            where: A query, the index of an arm or a point. A query of another optimizer, or one
                that has all its rewards, stands for its point. A point counts for the first query
                that is pending there. One between two levels or categories may be told, and is
                never recommended. In a configuration, values of inactive parameters are ignored.
            y: The reward, a finite number.
            environment: The z (dz,) that it was measured under, on a `Joint` space where the query
                did not ask for one; one query may be told under several.
            sem: Standard error of the reward, in reward units: the standard deviation of a known
                error in addition to the noise, such as that of a mean over replicates; 0 for none.
            outcomes: Values by name of the other outcomes that were measured; some may be missing.
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
        if error:
            arguments.standard_errors([error], 1, self._history.model.estimator)
        (values,) = arguments.outcome_values([outcomes], 1, self._told.outcomes.declared)
        ((who, when),) = arguments.conditions([worker], [time], 1, self.effects)
        one = Measurement(where, {OBJECTIVE: reward, **values}, environment, error, who, when)
        self._record([(location, query, one)])
        return self._info(started)

    @one_at_a_time
    @with_own_settings
    def tell_all(
        self,
        points: Tensor | Sequence,
        rewards: Tensor | Sequence,
        environments: Tensor | Sequence | None = None,
        *,
        sems: Tensor | Sequence | None = None,
        outcomes: Sequence[Mapping[str, float] | None] | None = None,
        workers: Sequence[str | int | None] | None = None,
        times: Sequence[float | None] | Tensor | None = None,
    ) -> Info:
        """Record many rewards at once, with one estimate.

        Args:
            points: Queries, indices of arms (n,), points (n, d) or configurations, also as a data
                frame.
            rewards: Rewards (n,).
            environments: What they were measured under (n, dz), on a `Joint` space.
            sems: Standard errors (n,) of the rewards; by default 0.
            outcomes: Values by name of the other outcomes, one mapping for each reward.
            workers: Who or what measured each reward; some may be None.
            times: When each was measured; some may be None.

        Returns:
            Diagnostics of the update.

        Raises:
            InvalidInput: With nothing changed, where `tell` would for one of them.
        """
        started = perf_counter()
        y, points = checks.rewards(rewards), rows_of(self.space, points)
        z = arguments.environments_of(points, y, environments)
        errors = arguments.standard_errors(sems, len(y), self._history.model.estimator)
        limited = arguments.outcome_values(outcomes, len(y), self._told.outcomes.declared)
        conditions = arguments.conditions(workers, times, len(y), self.effects)
        columns = zip(points, y, limited, z, errors, conditions, strict=True)
        measurements = [
            Measurement(where, {OBJECTIVE: reward, **values}, environment, error, *under)
            for where, reward, values, environment, error, under in columns
        ]
        self._record(self._located(measurements))
        return self._info(started)

    @one_at_a_time
    @with_own_settings
    def record(
        self, measurements: Sequence[Measurement], *, undeclared: bool = False
    ) -> Info | None:
        """Record measurements, with one estimate from all of them.

        Args:
            measurements: The measurements; some may lack the objective, and have other values.
            undeclared: Whether values of constraints that were not declared are accepted; their
                limit is 0, as a maximum.

        Returns:
            Diagnostics of the update; None before the first reward.

        Raises:
            InvalidInput: With nothing changed, where `tell` would for one of them.
        """
        started = perf_counter()
        self._record(self._located(self._checked("measurements", measurements, undeclared)))
        return self._info(started) if len(self.history) else None

    @one_at_a_time
    @with_own_settings
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
            InvalidInput: If the space has no such point, or it failed and the table of its arms is
                `Sharded`.
        """
        self._check_failure(checks.truth("failed", failed))
        known = self._pending.asked_by(query)
        location, id_ = known or self._locate(query, self._supposed(query, environment))
        self._drop(id_)
        if failed:
            self._told.fail(location)

    @one_at_a_time
    @with_own_settings
    def belief(self, also: Sequence[Measurement] = (), *, undeclared: bool = False) -> Belief:
        """All that follows from the measurements so far, pending queries aside.

        Args:
            also: Further measurements that it is to follow from, which are not recorded.
            undeclared: Whether these may have values of constraints that were not declared.

        Returns:
            The belief, which later measurements do not change.

        Raises:
            NotReady: Before the first reward.
            InvalidInput: If one of `also` cannot be recorded.
        """
        further = self._checked("also", also, undeclared)
        if not further:
            outcome, told = self._history.belief(), self._told
        else:
            told = self._told.copy
            for location, _, one in self._located(further):
                told.add(location, one)
                if OBJECTIVE in one.values:
                    self._history.append(told.rewards, location, one)
            outcome = self._history.belief_with(told.rewards)
        told = replace(told, outcomes=told.outcomes.current)
        unstable = self._unstable(outcome)
        success = told.failures.of_recommendation(
            told.outcomes.kernels_with(outcome),
            outcome.observations,
            unstable,
            measured=self.space.has_environment,
        )
        success = self._permitted.success(success, told)
        return self._belief(told, outcome, outcome.band, success, unstable, PendingQueries())

    @one_at_a_time
    @with_own_settings
    def recommend(
        self,
        by: By | None = None,
        *,
        risk: Risk | None = None,
        estimand: Estimand | None = None,
        within: Box | Mapping[str, Any] | None = None,
    ) -> Recommendation:
        """The best point, with an interval of the function there (see `Reporting`).

        On a `Joint` space, the design among those measured of largest risk of the mean, with the
        risks of the bounds as its interval. Where measurements have failed, the values are
        discounted by the probability of failure. With constraints, it is the best point of those
        for which all of them hold with the confidence asked for; if no such point is known, the
        measured one for which that is most probable, as its `feasibility` says.

        Args:
            by: "mean" for the largest value, "lower" for the largest lower end of its interval,
                "rounds" for the query whose lower bound was largest in the round it was chosen in
                (requires `acquisition.Recorded` as the policy); "cross-validated" for the largest
                posterior mean if it predicts rewards that are left out
                (`CrossValidation.is_predictive`), else the measured point of best average reward,
                outliers left out; a function of a belief and a generator that returns a score of
                designs, for the largest score of any design; None for
                that of `reporting`.
            risk: The risk to recommend by and to report, in place of the optimizer's, on a `Joint`
                space.
            estimand: What the value is of the rewards there, "location", "median" or "mean", in
                place of the optimizer's.
            within: The part of the space to choose from, as of `ask`, such as the values of
                parameters that are known before the choice.

        Returns:
            The recommendation.

        Raises:
            NotReady: Before the first reward, and by "rounds" if none was recorded.
            InvalidInput: If `risk` is given without an environment, or with "rounds", there is no
                such estimand, or `within` is no part of the space.

        References:
            Nguyen et al. 2021, Section 3.2, on a `Joint` space.
        """
        belief = self.belief().of(risk=risk, estimand=estimand)
        if within is not None:
            belief = replace(belief, space=arguments.part_of(self.space, within))
        rule = self.method.reporting.by if by is None else by
        check_by("by", rule)
        if risk is not None and rule == ROUNDS:
            raise InvalidInput(
                'the lower bounds of `by="rounds"` are of the risk of the optimizer: pass '
                '`by="lower"` for another `risk`.'
            )
        return recommend(belief, rule, self._state.cloned)

    def _repr_html_(self) -> str:
        pending = {"pending queries": [query.id for query in self.pending]}
        if not len(self.history):
            return as_html("Optimizer", pending, ["No reward yet."])
        return as_html("Optimizer", {**self.recommend().rows, **rows(self.belief()), **pending})

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """The declared outcomes beside the reward, by name."""
        return self._told.outcomes.declared

    @property
    @one_at_a_time
    def constraints(self) -> ConstraintBeliefs:
        """Beliefs of the constraints, also before the first reward."""
        return self._told.outcomes.current.beliefs

    @property
    @one_at_a_time
    def shared_failures(self) -> SharedValues:
        """Values of discrete variables that failed measurements share, and no success has."""
        return self._told.shared_failures

    @property
    @one_at_a_time
    def width(self) -> float:
        """beta, the multiplier of the standard deviation in the next bounds."""
        return self._history.width

    @property
    def history(self) -> Observations:
        """Every reward as it was told."""
        return self._told.rewards

    @property
    @one_at_a_time
    def pending(self) -> list[Query]:
        """Queries that were asked and neither told nor forgotten."""
        return self._pending.queries

    @property
    def effects(self) -> Sequence[str]:
        """Names of the effects of conditions that the model includes, see `HyperparameterFit`."""
        return self._history.model.hyperparameters.effects

    @one_at_a_time
    @with_own_settings
    def save(self, path: str | PathLike[str]) -> None:
        """Write everything that the run needs to go on to one file (safetensors with JSON).

        The file replaces the one at `path` only when it is complete.

        Args:
            path: The file.

        Raises:
            InvalidInput: If a policy of yours keeps something in `state.memory` that cannot be in
                a file; nothing is written then.
        """
        saved_run.save(Path(path), self)

    @classmethod
    @with_own_settings
    def load(
        cls, path: str | PathLike[str], *, device: str | torch.device = "cpu", **parts: Any
    ) -> Optimizer:
        """The optimizer that was saved: the same next ask, the same run from here on.

        Args:
            path: The file.
            device: Device of the tensors.
            parts: Parts that are not surefoot's own (a GPyTorch kernel, an estimator of yours, a
                `Joint` space with a density or a perturbation) are not in the file; pass them
                again by the names that `Problem` and `Method` give them.

        Returns:
            The optimizer.

        Raises:
            InvalidInput: If the file is damaged or not one of `save`, if a part is missing, or if
                kernel, estimator or feature map are others, or if the device cannot be used.
        """
        return saved_run.load(cls, Path(path), checks.device(device), parts)

    @property
    def in_initial_design(self) -> bool:
        """Whether points of the initial design are left for `ask` without `arms`.

        It passes by those that probably fail.
        """
        known = len(self._told.rewards) + len(self._pending)
        return self._initial_used < len(self._initial) > known

    @one_at_a_time
    def reseed(self, seed: int) -> None:
        """Draw from a new seed from now on, as parallel copies of one optimizer must.

        Args:
            seed: The seed.
        """
        self._generator.manual_seed(checks.count("seed", seed, least=0))
        self._pending.owner = new_owner()  # the next queries of two copies have the same ids

    def keep_fits(self, store: FitStore) -> None:
        """Look for fits in a store first, and keep them there.

        Args:
            store: The store, such as `surefoot.optimizer.fit_files.FitFiles`.
        """
        self._history.model.stores.append(store)

    def _choose(self, among: Sequence[Location] | None, space: Space | Joint) -> Location:
        """A location of the space, or of a part of it."""
        among = self._permitted.locations(among, space, self._told, self._generator)
        while among is None and self.in_initial_design:
            self._initial_used += 1
            first = arguments.placed_in(space, self._initial[self._initial_used - 1], self.space)
            if not self._is_in_vain(first.point):
                return first
        if len(self._told.rewards) == 0:
            return self._choose_first(among, space)
        found = self._searching()
        belief = found if space is self.space else replace(found, space=space)
        location = self._permitted.choose(self.policy, belief, among, self._state, self._told)
        if not isinstance(location, Location):
            raise InvalidInput(
                f"the policy chose {checks.shown(location)}, expected a location, as "
                "`belief.space.location(point)` makes it."
            )
        if location.design_arm is None:
            self.space.design.locate(location.design, name="the chosen point")
        return self._where_some_succeed(location, belief)

    def _where_some_succeed(self, location: Location, belief: Belief) -> Location:
        """A location, at another value of the environment where nothing succeeds at its own."""
        space, told = self.space, self._told
        if not isinstance(space, Joint) or not told.failures.is_in_vain(
            location.point, told.rewards
        ):
            return location
        z = space.environment.points  # type: ignore[union-attr]  # finite, as values can be told
        inputs = space.inputs(location.design.unsqueeze(0), z)
        known = told.shared_conditions(inputs) >= LIKELY
        if not bool(known.any()):
            return location
        with torch.no_grad():
            _, deviation = belief.band.predictive.mean_and_deviation(inputs)
        best = int(deviation.where(known, -math.inf).argmax())
        return space.location(location.design, location.design_arm, z[best])

    def safe_of(self, points: Tensor) -> Tensor:
        """Points, of (n, d), that may be asked for: all of them, unless it is safe."""
        return self._permitted.points(points, self._told)

    def _is_in_vain(self, point: Tensor) -> bool:
        """Whether a point (d,) of the initial design probably fails."""
        rewards = self._told.rewards
        if len(rewards) == 0 or not self._told.failures.all:
            return False
        if self._told.failures.is_in_vain(point, rewards):
            return True
        chance = self._told.failures.of_search([self._history.fitted.kernel], rewards, NO_INDICES)
        return bool(chance(point.unsqueeze(0)) < LIKELY)

    def _choose_first(self, among: Sequence[Location] | None, space: Space | Joint) -> Location:
        """A location before the first reward."""
        if among is None:
            kernel, failed = self._history.fitted.kernel, self._told.failures.inputs
            return first_location(space, kernel, self._pending, failed, self._generator)
        if self.space.has_environment:
            raise NotReady("there are no rewards yet: `ask` without `arms` first.")
        return among[int(torch.randint(len(among), (), generator=self._generator))]

    def _searching(self) -> Belief:
        """The belief by which the next point is chosen: the rewards, and the pending queries."""
        posterior = self._history.selection()
        outcome = self._history.latest
        band = replace(outcome.band, posterior=posterior, pulls=self._pending.pulls)
        unstable = self._unstable(outcome)
        kernels = self._told.outcomes.kernels_with(outcome)
        success = self._told.failures.of_search(kernels, self._told.rewards, unstable)
        return self._belief(self._told, outcome, band, success, unstable, self._pending)

    def _belief(
        self,
        told: Told,
        outcome: OutcomeBelief,
        band: Band,
        success: Probability,
        unstable: Tensor,
        pending: PendingQueries,
    ) -> Belief:
        known = told.outcomes.beliefs
        return Belief(
            self.space,
            self.risk,
            outcome,
            band,
            pending,
            told.designs,
            FailureBelief(success, told.shared_failures, told.shared_conditions, unstable),
            replace(known, pulls=band.pulls) if band.pulls else known,
            Reported(
                self.method.reporting.interval,
                estimand_of(self.problem.estimand, lambda: outcome.noise_sample),
                assumed=self.problem.assume,
            ),
        )

    @property
    def _state(self) -> PolicyState:
        return PolicyState(self._generator, self._memory)

    def _unstable(self, outcome: OutcomeBelief) -> Tensor:
        """Indices of the sites that are unstable."""
        rule, kernel = self.method.plan.instability, outcome.fitted.kernel
        return torch.from_numpy(rule(outcome.at_reference, kernel))

    def _repeats(self, point: Tensor) -> int:
        """How often to measure: n with 1 + n sigma^2 / ridge = repeat_until."""
        most, until = len(self._told.rewards), self.method.plan.repeat_until
        if until == 1.0 or most == 0:
            return 1
        posterior = self._history.latest.posterior
        with torch.no_grad():
            variance = float(posterior.variance(point.unsqueeze(0)))
        relative = variance / posterior.scale / posterior.scale / self._history.fitted.noise
        return max(1, min(most, math.ceil((until - 1.0) / max(relative, TINY))))

    def _add_pending(self, location: Location, repeats: int | None = None) -> Query:
        times = self._repeats(location.point) if repeats is None else repeats
        self._history.pull(location.point, location.arm, times)
        return self._pending.add(location, times, observed=self.space.observed)

    def _located(self, measurements: Sequence[Measurement]) -> list[_Located]:
        """Measurements with their locations, and the pending queries that they count for."""
        left, found = self._pending.copy(), []
        for one in measurements:
            self._check_failure(one.failed)
            location, query = locate(self.space, one.where, one.environment, left)
            left.settle(query)
            found.append((location, query, one))
        return found

    def _check_failure(self, failed: bool) -> None:
        """`InvalidInput` for a failure where the search could not allow for it."""
        if failed and self.space.seen.is_elsewhere:
            raise InvalidInput(
                "a failed measurement came with arms whose table is `Sharded`, where there is no "
                "model of failures: pass `failed=False`, or another `storage`."
            )

    def _record(self, rows: Sequence[_Located]) -> None:
        """Record checked measurements."""
        self._unread.read()
        left = sum(OBJECTIVE in one.values for _, _, one in rows)
        for location, query, one in rows:
            self._told.add(location, one)
            if OBJECTIVE in one.values:
                left -= 1
                self._observe(location, query, one, more=left > 0)
            elif one.failed:
                self._drop(query)
        self._told.outcomes.settle()
        self._history.settle()

    def _observe(
        self, location: Location, query: int | None, measured: Measurement, *, more: bool
    ) -> None:
        asked = self._pending.asked(query)
        if not any(torch.equal(one.point, location.point) for one in asked):
            for one in asked:  # under another environment than was supposed
                self._history.release(one.point, one.arm)
            self._history.pull(location.point, location.arm)
        self._pending.settle(query)
        self._history.observe(location, measured, more=more)

    def _drop(self, query: int | None) -> None:
        """Give up a pending query, if there is one."""
        for asked in self._pending.asked(query):
            self._history.release(asked.point, asked.arm, self._pending.drop(query))

    def _checked(
        self, name: str, measurements: Sequence[Measurement], undeclared: bool
    ) -> list[Measurement]:
        checks.truth("undeclared", undeclared)
        arguments.check_measurements(name, measurements)
        estimator, limits = self._history.model.estimator, self._told.outcomes.declared
        return [
            arguments.checked_measurement(
                one, estimator, self.effects, limits, undeclared=undeclared
            )
            for one in measurements
        ]

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

    def _info(self, started: float) -> Info:
        info = Info(len(self.history), perf_counter() - started, self._diagnostics)
        self._unread.hold(info)
        return info

    @one_at_a_time
    @with_own_settings
    def _diagnostics(self) -> Diagnostics:
        """Diagnostics of the estimate from all rewards."""
        inferred = self._history.latest.inferred
        threshold = inferred.estimate.threshold * self._history.latest.fitted.scale
        return Diagnostics(
            width=inferred.width,
            threshold=threshold if math.isfinite(threshold) else None,
            truncated=int(inferred.estimate.last_truncated),
            truncated_total=inferred.estimate.truncated,
            dimension=inferred.dimension,
            information_gain=inferred.information_gain,
        )
