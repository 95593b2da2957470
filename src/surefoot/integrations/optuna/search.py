"""The search of a study: its problem, the method that solves it, and their optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna.study import Study

from surefoot._internal import checks
from surefoot._internal.effects import EFFECTS
from surefoot._internal.user_warnings import warn
from surefoot.integrations.optuna.objectives import names_of, signs_of
from surefoot.parameters.parameter import shared_name
from surefoot.problem import Problem, check_together
from surefoot.types import InvalidInput, Objective

# Modules that load torch are imported where they are used: a program that imports the sampler
# starts at once.
if TYPE_CHECKING:
    import torch

    from surefoot.integrations.optuna.environment import StudyEnvironment
    from surefoot.integrations.optuna.predicted import Predicted
    from surefoot.integrations.optuna.tracker import StudyTracker
    from surefoot.optimizer import Method
    from surefoot.parameters.encoding import Encoding


@dataclass(frozen=True, eq=False)
class Search:
    """Everything of a sampler but its search space, its randomness and the trials.

    Args:
        problem: What is optimised, on the space of the trials; its prior is an older study.
        method: What solves the problem, see `SurefootSampler`, as for all that follows.
        initial: Number of evenly spread trials.
        device: torch device.
        log: Whether logarithms are modelled.
        effects: Names of effects.
        repeats: Measurements of one configuration at most.
        unstable: Share of the median, None for never.
        fits: Folders in which fits are looked for first, and kept.

    Raises:
        InvalidInput: If one is out of range, or two do not go together.
    """

    problem: Problem
    method: Callable[..., Method] | None
    initial: int | None
    device: str | torch.device
    log: bool
    effects: Sequence[str]
    repeats: int
    unstable: float | None
    fits: Sequence[Path] = ()

    def __post_init__(self) -> None:
        if self.method is not None and not callable(self.method):
            raise InvalidInput(
                f"`method` is {checks.shown(self.method)}, expected a function of a `Problem` that "
                "returns a `Method`, such as `surefoot.algorithms.robust`: its space is that of "
                "the trials."
            )
        if self.initial is not None:
            checks.count("initial", self.initial, least=0)
        if self.device != "cpu":  # the default is not tried, which would load torch
            object.__setattr__(self, "device", checks.device(self.device))
        checks.truth("log", self.log)
        object.__setattr__(self, "effects", checks.names("effects", self.effects, *EFFECTS))
        checks.count("repeats", self.repeats)
        if self.unstable is not None:
            checks.positive("unstable", self.unstable)
        self._check_environment()
        guess = self.problem.guess
        if guess is not None and not (
            isinstance(guess, Mapping) and all(isinstance(name, str) for name in guess)
        ):
            raise InvalidInput(
                f"`guess` is {checks.shown(guess)}, expected values of some parameters by name."
            )
        check_together(self._options)

    def _check_environment(self) -> None:
        """Refuse an environment that is none, and one without a risk or a risk without one."""
        environment, risk = self.problem.environment, self.problem.risk
        if environment is not None:
            from surefoot.integrations.optuna.environment import StudyEnvironment

            checks.instance("environment", environment, StudyEnvironment)
        if (environment is None) is not (risk is None):
            missing = "risk" if risk is None else "environment"
            raise InvalidInput(
                f"no `{missing}` came, expected `environment` and `risk` together: pass, for "
                "instance, `Problem(environment=StudyEnvironment(...), risk=VaR(0.1))`."
            )
        if risk is not None:
            from surefoot.risks import checked

            checked(risk)

    @property
    def _options(self) -> dict[str, str]:
        """How each option that is there was written, by its name in the table of conflicts."""
        further = {
            "log": self.log,
            "repeats": self.repeats > 1,
            "unstable": self.unstable is not None,
            "initial": self.initial is not None,
        }
        found = {name: f"`{name}`" for name, is_there in further.items() if is_there}
        return self.problem.options | found

    @cached_property
    def environment(self) -> StudyEnvironment | None:
        """The environment that a trial records, None where there is none."""
        known: StudyEnvironment | None = self.problem.environment
        if self.problem.fidelity is None:
            return known
        from surefoot.integrations.optuna.environment import StudyEnvironment

        return StudyEnvironment.of_fidelity(self.problem.fidelity)

    @property
    def predicted(self) -> Predicted:
        """The quantity of a configuration that is predicted."""
        from surefoot.integrations.optuna.predicted import VALUE, RiskOverEnvironment

        if self.environment is None:
            return VALUE
        return RiskOverEnvironment(self.environment, self.problem.risk_of_domain)  # type: ignore[arg-type]

    def check_study(self, study: Study) -> None:
        """Refuse a study whose objectives do not go together with the arguments.

        Raises:
            InvalidInput: If they do not.
        """
        further, number = self.problem.objectives, len(study.directions)
        if further and number > 1:
            raise InvalidInput(
                f"objectives among `outcomes` came with a study of {number} directions, expected "
                "a study with one: leave them out."
            )
        if number > 1:
            check_together(self._options | {"objectives": f"a study of {number} objectives"})

    def number_of_objectives(self, study: Study) -> int:
        """Number of objectives of a study, with the further ones."""
        return len(study.directions) + len(self.problem.objectives)

    def _signs(self, study: Study) -> list[float]:
        """1 for each objective that is maximised, -1 for the others, the further ones last."""
        return [*signs_of(study), *(one.direction for one in self.problem.objectives.values())]

    def _guess(self, encoding: Encoding) -> dict[str, Any]:
        """The guess of those parameters that the encoded space has."""
        given: Mapping[str, Any] = self.problem.guess or {}  # type: ignore[assignment]
        known = dict.fromkeys(map(shared_name, encoding.parameters))
        if unknown := sorted({*given} - {*known}):
            warn(
                f"`guess` has {', '.join(map(repr, unknown))}, expected varying parameters of the "
                f"trials ({', '.join(known)}): it is not used."
            )
        guess = {name: one for name, one in given.items() if encoding.space.has(name, one)}
        if outside := sorted(given.keys() & known.keys() - guess.keys()):
            warn(
                f"`guess` has values of {', '.join(outside)} outside the ranges that were asked "
                "for so far: they are not used until some range has them."
            )
        for name in {*encoding.space.excluded(guess)} & {*guess}:  # by conditions of the trials
            del guess[name]
        return guess

    def problem_of(self, study: Study, encoding: Encoding, objectives: Sequence[int]) -> Problem:
        """The problem on an encoded search space.

        Args:
            study: The study.
            encoding: Encoding of its search space.
            objectives: Indices of the objectives, of which the first is the reward.
        """
        known, further = self.problem, self.problem.objectives
        names = [*names_of(len(study.directions)), *further]
        signs = self._signs(study)
        limits = {name: one for name, one in known.outcomes.items() if name not in further}
        space: Any = encoding.box
        if known.risk is not None and self.environment is not None:
            from surefoot.spaces import Joint

            space = Joint(space, self.environment.distribution, self.environment.observed)
        guess, prior = self._guess(encoding), None
        if known.prior is not None:
            prior = known.prior.belief(encoding, study.directions[objectives[0]], self.log)
        return replace(
            known,
            space=space,
            environment=None,
            outcomes=limits | {names[i]: Objective(signs[i] > 0.0) for i in objectives[1:]},
            guess=encoding.part(encoding.box, guess) if guess else None,
            prior=prior,
        ).to(self.device)

    def tracker(
        self, study: Study, encoding: Encoding, seed: int, objectives: Sequence[int]
    ) -> StudyTracker:
        """A tracker of one objective or several, without trials.

        Args:
            study: The study.
            encoding: Encoding of its search space.
            seed: Seed of the optimizer.
            objectives: Indices of the objectives.
        """
        from surefoot.acquisition import Instability, Replication
        from surefoot.algorithms import robust
        from surefoot.integrations.optuna.tracker import StudyTracker
        from surefoot.optimizer import Optimizer
        from surefoot.optimizer.fit_files import FitFiles

        problem = self.problem_of(study, encoding, objectives)
        spread = math.inf if self.unstable is None else self.unstable
        method = (self.method or robust)(
            problem,
            instability=Instability(math.log1p(spread) if self.log else spread, not self.log),
            initial=self.initial,
            effects=self.effects,
        )
        if self.repeats > 1:
            method = replace(method, policy=Replication(method.policy, most=self.repeats))
        optimizer = Optimizer(problem, method, seed=seed)
        for folder in self.fits:
            optimizer.keep_fits(FitFiles(folder))
        every = self._signs(study)
        signs = [every[index] for index in objectives]
        return StudyTracker(
            study, encoding, optimizer, signs, self.environment, self.device, self.log
        )
