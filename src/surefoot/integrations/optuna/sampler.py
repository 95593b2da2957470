"""`SurefootSampler`, an Optuna sampler."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, PartialFixedSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from surefoot._internal import checks
from surefoot._internal.lock import Lock
from surefoot._internal.user_warnings import warn
from surefoot.integrations.optuna.attributes import ENVIRONMENT, FAILURE, INTERRUPTED
from surefoot.integrations.optuna.common_space import CommonSpace
from surefoot.integrations.optuna.earlier_study import OlderStudy
from surefoot.integrations.optuna.endings import (
    is_in_objective,
    trials_of,
    write_failure,
    write_start,
)
from surefoot.integrations.optuna.modelling import Modelling
from surefoot.integrations.optuna.objectives import column_names, of_objective
from surefoot.integrations.optuna.reservation import MOVES, write_reservation
from surefoot.integrations.optuna.search import Search
from surefoot.integrations.optuna.search_space import distributions
from surefoot.integrations.optuna.study_space import study_space
from surefoot.parameters import Space
from surefoot.problem import Problem
from surefoot.types import InvalidInput, NotReady, Objective

# Modules that load torch are imported where they are used: a program that imports the sampler
# starts at once.
if TYPE_CHECKING:
    import torch

    from surefoot.integrations.optuna.choosable import Part
    from surefoot.integrations.optuna.environment import StudyEnvironment
    from surefoot.integrations.optuna.study_belief import StudyBelief
    from surefoot.integrations.optuna.tracker import StudyTracker
    from surefoot.optimizer import Method

_HINTS = {
    "n_startup_trials": "what Optuna's samplers call so is `initial`",
    "constraints_func": "call `trial.set_constraint` in the objective function",
}
_DOCS = "see its documentation"
_FIXED = "fixed_params"  # the system attribute of `Study.enqueue_trial`


class SurefootSampler(BaseSampler):
    """Optuna sampler by `surefoot.algorithms.robust_ucb`, which is robust to outliers.

    Each finished trial is read once and the model is kept between trials. Running trials of other
    workers are pending points. A failed trial counts against its configuration, unless it was
    interrupted or has the user attribute `BLAMELESS`. A pruned one has a predicted value, from its
    last report that others can be compared with; without one it counts as failed, unless its
    configuration has a value. Values of an enqueued trial are conditions on the others. The user
    attribute `STANDARD_ERROR` (`"surefoot:sem"`) of a trial is the standard error of its value,
    `STANDARD_ERRORS` (`"surefoot:sems"`) are those of its constraints by name, and `WORKER`
    (`"surefoot:worker"`) is the name of who or what measured it. Constraints
    of trials (`trial.set_constraint`) are modelled and kept to. In a study with several objectives
    the search is for their Pareto front (`surefoot.acquisition.HypervolumeImprovement`), which
    `surefoot.integrations.optuna.belief(study).front()` returns.

    With an `environment` the objective depends on random conditions, and `risk` of it is optimised:
    of the lower tail if the study maximises, of the upper tail if it minimises. Each trial records
    its environment in the user attribute `ENVIRONMENT`: `environment_of` chooses and sets it, or,
    where it is observed, the objective function does.

    Args:
        problem: What the trials measure and what is known before: constraints and further
            objectives as its `outcomes`, which a trial records in its user attribute `CONSTRAINTS`
            by name (those of `trial.set_constraint` need no declaration; an `Objective` is for a
            study with one direction); a random `environment` with its `risk`, or a `fidelity`; a
            `guess` by names, which is measured first, and where the search begins; a `prior`, an
            older study of a related system whose trials have the parameters of this one; `safe`,
            by which no trial is sampled that may fail, from trials that have finished outward; an
            `estimand`, see `StudyBelief.of_estimand`. It has no `space`.
        method: Function of a `Problem`, and of options of `surefoot.algorithms.robust` by name,
            that returns the `Method` by which trials are chosen and predicted; by default `robust`
            itself. With `dataclasses.replace(robust(problem, **options), policy=...)` a policy or
            an acquisition function of yours chooses.
        seed: Seed of all randomness; None for a random one, which copies of the sampler in other
            processes, or from a pickle, draw anew. Give parallel workers different seeds, or none.
        search_space: Distributions of the parameters, by name, from which the initial trials are
            spread evenly; a `surefoot.parameters.Space` where some are conditional or ordered, have
            special values or obey rules: all that is sampled or recommended satisfies these, an
            enqueued trial that cannot is refused, and a finished one that does not is modelled and
            never recommended. By default the parameters that all trials so far have in common, and
            those that only some have if one choice or integer decides which; the first trial is
            random.
        initial: Number of evenly spread trials before those chosen by the model; None for the
            default of the algorithm.
        device: torch device of the model, tried at once unless it is "cpu".
        log: Whether the logarithm of the values is modelled, for values that are positive and
            whose noise is proportional to them; predictions are medians in their units then.
        repeats: Measurements of one configuration at most: above 1, the best known one is measured
            again, ever more rarely (`surefoot.acquisition.Replication`).
        unstable: Share of its median by which a measurement of a configuration may deviate from it
            before the configuration counts as unstable and is avoided, unless other configurations
            are alike (`surefoot.acquisition.Instability`); None for never.
        effects: Effects of the conditions of trials that are modelled where the data support them
            strongly, and taken out: "worker", of who measured a trial, and "drift", a drift of the
            level over the time of day. With "drift", two runs of the same seed may differ, as
            their times do.
        unknown: Arguments of other names, which are refused.

    Raises:
        InvalidInput: If an argument is out of range or there is none of that name, or `environment`
            comes without `risk`.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> sampler = SurefootSampler(seed=0, initial=3)
        >>> study = optuna.create_study(sampler=sampler)
        >>> study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=3)
        >>> list(sampler.belief(study).recommend().params)
        ['x']
    """

    def __init__(
        self,
        problem: Problem | None = None,
        method: Callable[..., Method] | None = None,
        *,
        seed: int | None = None,
        search_space: Mapping[str, BaseDistribution] | Space | None = None,
        initial: int | None = None,
        device: str | torch.device = "cpu",
        log: bool = False,
        repeats: int = 1,
        unstable: float | None = None,
        effects: Sequence[str] = ("worker",),
        **unknown: Never,
    ) -> None:
        if unknown:
            raise InvalidInput(_without(next(iter(unknown))))
        if seed is not None:
            checks.count("seed", seed, least=0)
        self._space = study_space(search_space)
        problem = Problem() if problem is None else checks.instance("problem", problem, Problem)
        if problem.space is not None:
            raise InvalidInput("`problem` has a space, expected none: pass it as `search_space`.")
        if problem.prior is not None:
            problem = replace(problem, prior=OlderStudy.of(problem.prior))
        self._search = Search(problem, method, initial, device, log, effects, repeats, unstable)
        self._check_names()
        self._space.check_guess(problem.guess or {})  # type: ignore[arg-type]
        self._draw_from(seed)
        self._drawn_in: int | None = None  # process, of a sampler without a seed that is in use
        self._is_seeded = seed is not None
        self._tracker: StudyTracker | None = None
        self._first_number: int | None = None  # of the trials that this sampler samples
        self._probed: tuple[int, str] | None = None  # trial and parameter that may be fixed outside
        self._lock = Lock()

    def _check_names(self) -> None:
        """Refuse a variable of the environment that is a parameter, too."""
        both = {*self._space.names} & ({*self.environment.names} if self.environment else set())
        if both:
            raise InvalidInput(
                f"{min(both)!r} is a variable of the environment and in `search_space`, expected "
                "different names."
            )

    @property
    def environment(self) -> StudyEnvironment | None:
        """The environment that each trial records, None where there is none."""
        return self._search.environment

    @property
    def objectives(self) -> Mapping[str, Objective]:
        """Further objectives that a trial records beside its value, by name."""
        return self._search.problem.objectives

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_drawn_in": None}

    def reseed_rng(self) -> None:
        """Draw a new seed; Optuna calls this in each parallel worker process."""
        with self._lock:
            self._draw_from(None)
            if self._tracker is not None:
                self._tracker.optimizer.reseed(self._draw_seed())

    def keep_fits(self, folder: Path | str) -> None:
        """Keep fits in a folder, where other processes find them in place of fitting themselves.

        Args:
            folder: The folder, made when there is something to keep (see
                `surefoot.optimizer.fit_files.FitFiles`).
        """
        self._search = replace(self._search, fits=(Path(folder),))

    def _draw_from(self, seed: int | None) -> None:
        self._entropy = np.random.SeedSequence(seed)
        self._independent = RandomSampler(seed=self._draw_seed())
        self._first_seed = self._draw_seed()  # of the first tracker, whoever asks for it first

    def _draw_in_this_process(self) -> None:
        """Draw a seed where none was given and this copy has drawn none yet, in this process."""
        if not self._is_seeded and self._drawn_in != os.getpid():
            self._drawn_in, self._tracker = os.getpid(), None
            self._draw_from(None)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Refuse an enqueued trial that violates rules; see `optuna.samplers.BaseSampler`.

        A sampler that begins with a later trial than the first draws other values than one that
        begins with the first, if both have the same seed.

        Args:
            study: The study.
            trial: The trial that begins.

        Raises:
            InvalidInput: If no configuration with its values satisfies the rules, or a study with
                several objectives has an environment or `repeats`; it has failed.
        """
        with self._failing(study, trial):
            self._search.check_study(study)
        write_start(study, trial)
        if self._first_number is None:
            self._begin_at(trial.number)
        with self._failing(study, trial):
            self._space.check_given(_given(trial))

    def _begin_at(self, number: int) -> None:
        """Draw anew for a trial, where others have gone before it with the same seed."""
        with self._lock:
            self._draw_in_this_process()
            self._first_number = number
            if number:
                key = (*self._entropy.spawn_key, number)
                self._entropy = np.random.SeedSequence(self._entropy.entropy, spawn_key=key)
                self._independent = RandomSampler(seed=self._draw_seed())

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Parameters that the model samples jointly; see `optuna.samplers.BaseSampler`.

        Args:
            study: The study.
            trial: The trial to be sampled.

        Returns:
            Distributions by parameter name.
        """
        with self._lock:
            return dict(self._space.of_study(_whole(study)).ranges)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Sample the parameters of the search space jointly; see `optuna.samplers.BaseSampler`.

        Args:
            study: The study.
            trial: The trial to be sampled.
            search_space: Result of `infer_relative_search_space`.

        Returns:
            Values by parameter name.
        """
        study, complete = _whole(study), self._space.completed(_given(trial))
        if complete and self.environment is None:
            space = self._space.of_study(study).space
            write_reservation(study, trial, distributions(space), complete, None)
            return {}  # nothing is left to choose
        with self._undisturbed():
            trials = trials_of(study)
            common, given = self._space.common(trials), dict(_given(trial))
            left_out = [name for name in common.ranges if name not in search_space]
            if left_out:  # a sampler around this one fixes some parameters
                given |= self._fixed_outside(study, trial, common, left_out)
                common = common.limited_to([*search_space, *given])
            tracker = self._up_to_date(study, common.space, trials)
            if common.missing:
                warn(
                    f"values of {', '.join(sorted(common.missing))} are sampled at random, since "
                    "no choice or integer explains which trials have them, or of which kind: pass "
                    "the `search_space`, or wait until half of the trials have a new parameter."
                )
            if tracker is None:
                if len(common.finished) > 1 and all(
                    one.state != TrialState.COMPLETE for one in common.finished
                ):
                    warn(
                        f"no trial of study {study.study_name!r} has completed, so that values are "
                        "sampled at random: pass the `search_space`, by which the sampler keeps "
                        "away from trials that failed or were pruned."
                    )
                return {}
            with self._failing(study, trial):
                part = tracker.part(given, {**common.ranges, **search_space})
            with self._failing(study, trial):
                params = self._propose(study, trial, tracker, part)
            return {name: value for name, value in params.items() if name in search_space}

    def _fixed_outside(
        self, study: Study, trial: FrozenTrial, common: CommonSpace, names: Sequence[str]
    ) -> dict[str, Any]:
        """Values of parameters that a `PartialFixedSampler` around this one fixes, by name."""
        if not isinstance(study.sampler, PartialFixedSampler):
            return {}
        fixed = {}
        for name in names:
            self._probed = trial.number, name
            value = study.sampler.sample_independent(study, trial, name, common.ranges[name])
            if self._probed is not None:  # nobody asked this sampler for it
                fixed[name] = value
        self._probed = None
        return fixed

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Sample a parameter outside the search space; see `optuna.samplers.BaseSampler`.

        It is random, unless the model has the parameter and the objective function asks for other
        values than before: then it is chosen again, given those that the trial has.

        Args:
            study: The study.
            trial: The trial to be sampled.
            param_name: Name of the parameter.
            param_distribution: Its distribution.

        Returns:
            A value of the parameter.
        """
        with self._undisturbed():
            if self._probed == (trial.number, param_name):
                self._probed = None
                return None
            tracker, number, known = self._tracker, trial.number, trial.params
            study = _whole(study)
            if (
                tracker is not None
                and tracker.has_chosen(number, param_name, known)
                and tracker.is_of(study, trials_of(study))
            ):
                given, ranges = {**_given(trial), **known}, {param_name: param_distribution}
                part = tracker.part(given, {**tracker.distributions, **ranges})
                params = self._propose(study, trial, tracker, part)
                if param_name in params and _includes(param_distribution, params[param_name]):
                    return params[param_name]
        if self._search.problem.is_safe:
            with self._failing(study, trial):
                raise NotReady(
                    f"parameter {param_name!r} would be random, which is not safe: pass its "
                    "distribution in `search_space`, and enqueue a configuration that is known to "
                    "be safe first."
                )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Record constraints, and why a trial failed; see `optuna.samplers.BaseSampler`.

        Constraints are recorded where `study.best_trial` reads them. A failure by
        `KeyboardInterrupt` gets the user attribute `INTERRUPTED`.

        Args:
            study: The study.
            trial: The trial that ends.
            state: Its final state.
            values: Its values.
        """
        limits = self._search.problem.constraints
        if limits and state in (TrialState.COMPLETE, TrialState.PRUNED):
            from surefoot.integrations.optuna.constraints import write_limits

            write_limits(study, trial, limits)
        if state == TrialState.FAIL:
            write_failure(study, trial)

    def environment_of(self, trial: Trial) -> dict[str, Any]:
        """Choose the environment to measure a running trial under.

        Call it once all parameters are suggested, before the measurement. The environment is
        recorded at once in the trial's user attribute `ENVIRONMENT`; one that is already there is
        kept.

        Args:
            trial: The running trial.

        Returns:
            Values by variable name.

        Raises:
            InvalidInput: If the study has no environment, or it is observed, or a trial without one
                is not running.
        """
        environment = self.environment
        if environment is None or environment.observed:
            why = (
                "the sampler has no `environment`"
                if environment is None
                else f"it is observed: set the trial's user attribute {ENVIRONMENT!r} instead"
            )
            raise InvalidInput(f"there is no environment to choose for a trial, since {why}.")
        known = trial.user_attrs.get(ENVIRONMENT)
        if known is None and not isinstance(trial, Trial):
            raise InvalidInput(
                f"`trial` is a {type(trial).__name__} without the user attribute {ENVIRONMENT!r}, "
                "expected a running trial: set the attribute to evaluate a fixed one."
            )
        if known is None:
            with self._undisturbed():
                tracker, seed, study = self._tracker, self._draw_seed(), trial.study
                trials = trials_of(study)
                if tracker is None or not (
                    tracker.is_of(study, trials) and tracker.agrees_with(trials)
                ):
                    tracker = self._up_to_date(study, self._space.common(trials).space, trials)
                else:  # an enqueued trial was not sampled, so this worker may be out of date
                    tracker.read(trials)
                z = (
                    environment.draw(seed)
                    if tracker is None
                    else tracker.environment_for(trial.number, trial.params, environment, seed)
                )
                known = environment.decode(z)
                trial.set_user_attr(ENVIRONMENT, known)
        else:
            environment.encode(known)
        return dict(known)

    def belief(self, study: Study, trials: Sequence[FrozenTrial] | None = None) -> StudyBelief:
        """Model of the study, given all trials so far.

        Args:
            study: A study, not necessarily one that this sampler has sampled.
            trials: Its trials in order, where they have just been read; by default they are read.

        Returns:
            Predictions and recommendations in the units and the direction of the study.

        Raises:
            NotReady: If no trial has finished with a value.
        """
        if not isinstance(study, Study):
            raise InvalidInput(
                f"`study` is {study!r}, expected a study: pass `optuna.load_study(...)`."
            )
        if len(study.directions) > 1:
            raise InvalidInput(
                f"study {study.study_name!r} has {len(study.directions)} objectives: call "
                "`surefoot.integrations.optuna.belief(study)`, which has a belief of each of them "
                "and the Pareto front."
            )
        with self._undisturbed():
            trials = trials_of(study) if trials is None else trials
            every = range(self._search.number_of_objectives(study))
            modelling = self._modelling
            encoding = modelling.encoding_of(study, trials)
            if self._tracker is None and study.sampler is self:
                self._tracker = self._search.tracker(study, encoding, self._first_seed, every)
            tracker = self._tracker
            if tracker is None or not tracker.matches(study, encoding.space, trials):
                tracker = self._search.tracker(study, encoding, 0, every)
            return modelling.belief(study, tracker, trials)

    def of_objective(
        self, study: Study, index: int, trials: Sequence[FrozenTrial] | None = None
    ) -> StudyBelief:
        """Model of one objective of a study, given all trials so far.

        Args:
            study: A study with any number of objectives, not necessarily one that this sampler has
                sampled.
            index: Index of the objective.
            trials: Its trials in order, where they have just been read; by default they are read.

        Returns:
            Predictions and recommendations in the units and the direction of the objective.

        Raises:
            NotReady: If no trial has finished with a value.
            InvalidInput: If there is no such objective.
        """
        directions = study.directions
        if not 0 <= checks.count("index", index, least=0) < len(directions):
            raise InvalidInput(
                f"`index` is {index}, expected the index of one of {len(directions)} objectives."
            )
        with self._undisturbed():
            trials = trials_of(study) if trials is None else trials
            projected = of_objective(trials, index, column_names(study))
            encoding = self._modelling.encoding_of(study, projected)
            tracker = self._search.tracker(study, encoding, 0, [index])
            return self._modelling.belief(study, tracker, projected, index)

    @property
    def _modelling(self) -> Modelling:
        return Modelling(self._search, self._space)

    def _propose(
        self, study: Study, trial: FrozenTrial, tracker: StudyTracker, part: Part
    ) -> dict[str, Any]:
        """Choose a configuration and reserve it, so that no two workers have the same.

        Two workers may choose at once. Each writes its reservation before it reads those of the
        others, so whoever wrote last sees that both are the same, and moves.
        """
        params, before = tracker.propose(trial.number, part), None
        for attempt in range(MOVES):
            environment = tracker.reserved_environment(trial.number)
            write_reservation(study, trial, tracker.distributions, params, environment)
            running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
            tracker.read_running(other for other in running if other.number != trial.number)
            if params == before or not tracker.is_shared(trial.number):
                break
            before, params = params, tracker.propose_elsewhere(trial.number, part, attempt)
        return params

    def _up_to_date(
        self, study: Study, space: Space, trials: Sequence[FrozenTrial]
    ) -> StudyTracker | None:
        if not space.parameters:
            return None
        tracker = self._tracker
        if tracker is None or not tracker.matches(study, space, trials):
            seed = self._first_seed if tracker is None else self._draw_seed()
            every = range(self._search.number_of_objectives(study))
            tracker = self._search.tracker(study, space.encoding, seed, every)
            if seed == self._first_seed and self._first_number:
                tracker.optimizer.reseed(self._draw_seed())  # after the initial design
        self._tracker = tracker
        tracker.read(trials)
        return tracker

    @contextmanager
    def _failing(self, study: Study, trial: FrozenTrial) -> Iterator[None]:
        """Context in which a trial that is refused ends, interrupted, for it measures nothing."""
        try:
            yield
        except (InvalidInput, NotReady) as error:
            for name, value in ((INTERRUPTED, True), (FAILURE, f"refused: {error}")):
                study._storage.set_trial_user_attr(trial._trial_id, name, value)
            if not is_in_objective():
                study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
            raise

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Context of a single thread at a time, in which torch has its usual settings."""
        from surefoot._internal.process_settings import own_settings

        with self._lock, own_settings():
            self._draw_in_this_process()
            yield

    def _draw_seed(self) -> int:
        return int(self._entropy.spawn(1)[0].generate_state(1)[0])


def _without(name: str) -> str:
    """What to say of an argument that there is not."""
    known = ", ".join([*inspect.signature(SurefootSampler).parameters][:-1])
    hints = {name: f"pass `problem=Problem({name}=...)`" for name in Problem.__dataclass_fields__}
    return f"got `{name}`, expected one of {known}: {(_HINTS | hints).get(name, _DOCS)}."


def _given(trial: FrozenTrial) -> Mapping[str, Any]:
    """Values of an enqueued trial that are known before others are chosen, by parameter name."""
    given = trial.system_attrs.get(_FIXED)
    return given if isinstance(given, Mapping) else {}


def _includes(distribution: BaseDistribution, value: Any) -> bool:
    return distribution._contains(distribution.to_internal_repr(value))


def _whole(study: Study) -> Study:
    """The study with all of its trials, of which Hyperband shows those of one bracket."""
    return getattr(study, "_study", study)
