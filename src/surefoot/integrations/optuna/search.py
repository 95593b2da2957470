"""The search of a study: what a trial measures, the options beside it, and their optimizer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from optuna.study import Study

from surefoot._internal import checks
from surefoot._internal.effects import EFFECTS
from surefoot._internal.estimands import ESTIMANDS, Estimand
from surefoot._internal.user_warnings import warn
from surefoot.integrations.optuna.objectives import names_of, signs_of
from surefoot.types import Constraint, InvalidInput, Objective

# Modules that load torch are imported where they are used: a program that imports the sampler
# starts at once.
if TYPE_CHECKING:
    import torch

    from surefoot.acquisition import Policy
    from surefoot.integrations.optuna.earlier_study import OlderStudy
    from surefoot.integrations.optuna.encoding import Encoding
    from surefoot.integrations.optuna.environment import StudyEnvironment
    from surefoot.integrations.optuna.predicted import Predicted, RiskOverEnvironment
    from surefoot.integrations.optuna.tracker import StudyTracker
    from surefoot.risks import Risk
    from surefoot.spaces import Box, Fidelity

_VARYING = {  # what needs measurements of a configuration that are alike
    "prior": "expected one of them",
    "repeats": "under which no two measurements are alike",
    "unstable": "under which no two measurements are alike",
    "safe": "under which a limit is broken by chance",
}
_FOR_ONE_VALUE = dict.fromkeys(
    ("fidelity", "environment", "prior", "repeats"), "expected a single one"
)


@dataclass(frozen=True, eq=False)
class Subject:
    """A trial measures the value of its configuration."""

    name: ClassVar[str] = ""
    """Name of the sampler's argument, empty where none is needed."""
    excluded: ClassVar[Mapping[str, str]] = {}
    """Other arguments that do not go together with it, and why."""

    @cached_property
    def environment(self) -> StudyEnvironment | None:
        """The environment that a trial records, None where there is none."""
        return None

    @property
    def predicted(self) -> Predicted:
        """The quantity of a configuration that is predicted."""
        from surefoot.integrations.optuna.predicted import VALUE

        return VALUE

    def optimizer_arguments(self, space: Box) -> dict[str, Any]:
        """Arguments of `robust_ucb` by name, for the encoded search space."""
        return {"space": space}


@dataclass(frozen=True, eq=False)
class InEnvironment(Subject):
    """A trial measures its configuration in an environment, over which a risk is optimised."""

    name: ClassVar[str] = "environment"
    excluded: ClassVar[Mapping[str, str]] = {
        "log": "but the risk is that of the values",
        **_VARYING,
    }
    distribution: StudyEnvironment
    risk: Risk

    @cached_property
    def environment(self) -> StudyEnvironment:
        return self.distribution

    @property
    def predicted(self) -> RiskOverEnvironment:
        from surefoot.integrations.optuna.predicted import RiskOverEnvironment

        return RiskOverEnvironment(self.distribution, self.risk)

    def optimizer_arguments(self, space: Box) -> dict[str, Any]:
        from surefoot.spaces import Joint

        known = self.distribution
        return {"space": Joint(space, known.distribution, known.observed), "risk": self.risk}


@dataclass(frozen=True, eq=False)
class AtLevel(Subject):
    """A trial measures its configuration at a level of fidelity; the highest one counts."""

    name: ClassVar[str] = "fidelity"
    excluded: ClassVar[Mapping[str, str]] = _VARYING
    quantity: str
    levels: Fidelity

    @cached_property
    def environment(self) -> StudyEnvironment:
        from surefoot.integrations.optuna.environment import StudyEnvironment

        return StudyEnvironment.of_fidelity(self.quantity, self.levels)

    @property
    def predicted(self) -> RiskOverEnvironment:
        from surefoot.integrations.optuna.predicted import RiskOverEnvironment
        from surefoot.risks import Mean

        return RiskOverEnvironment(self.environment, Mean())

    def optimizer_arguments(self, space: Box) -> dict[str, Any]:
        return {"space": space, "fidelity": self.levels}


def subject_of(
    environment: StudyEnvironment | None, risk: Risk | None, fidelity: Mapping[str, Fidelity] | None
) -> Subject:
    """The subject of a trial's measurement, from the arguments of a sampler.

    Raises:
        InvalidInput: If they are of the wrong kind, or do not go together.
    """
    if environment is not None:
        from surefoot.integrations.optuna.environment import StudyEnvironment

        if not isinstance(environment, StudyEnvironment):
            raise InvalidInput(
                f"`environment` is {environment!r}, expected `StudyEnvironment(names, "
                "environment)`."
            )
    if environment is not None and fidelity is not None:
        raise InvalidInput("`fidelity` came with an `environment`, expected one of them.")
    if (environment is None) is not (risk is None):
        missing = "risk" if risk is None else "environment"
        raise InvalidInput(
            f"no `{missing}` came, expected `environment` and `risk` together: pass, for instance, "
            "`environment=StudyEnvironment(...), risk=VaR(0.1)`."
        )
    if environment is not None and risk is not None:
        from surefoot.risks import checked

        return InEnvironment(environment, checked(risk))
    return Subject() if fidelity is None else _at_level(fidelity)


def _at_level(fidelity: Mapping[str, Fidelity]) -> AtLevel:
    from surefoot.spaces import Fidelity

    if (
        not isinstance(fidelity, Mapping)
        or len(fidelity) != 1
        or not all(isinstance(one, Fidelity) for one in fidelity.values())
    ):
        raise InvalidInput(
            f"`fidelity` is {checks.shown(fidelity)}, expected one name with its levels, such as "
            '{"seconds": Fidelity([5, 30, 120], cost=[5, 30, 120])}.'
        )
    ((name, levels),) = fidelity.items()
    return AtLevel(name, levels)


@dataclass(frozen=True, eq=False)
class Search:
    """Everything of a sampler but its search space, its randomness and the trials.

    Args:
        subject: What a trial measures.
        initial: See `SurefootSampler`, as for all that follows.
        device: torch device.
        constraints: Limits by name.
        objectives: Further objectives by name.
        log: Whether logarithms are modelled.
        effects: Names of effects.
        estimand: What is predicted.
        repeats: Measurements of one configuration at most.
        unstable: Share of the median, None for never.
        guess: Values by name.
        prior: An older study.
        safe: Whether no trial may fail.
        fits: Folders in which fits are looked for first, and kept.

    Raises:
        InvalidInput: If one is out of range, or two do not go together.
    """

    subject: Subject
    initial: int | None
    device: str | torch.device
    constraints: Mapping[str, Constraint]
    objectives: Mapping[str, Objective]
    log: bool
    effects: Sequence[str]
    estimand: Estimand
    repeats: int
    unstable: float | None
    guess: Mapping[str, Any]
    prior: OlderStudy | None
    safe: bool
    fits: Sequence[Path] = ()

    def __post_init__(self) -> None:
        if self.initial is not None:
            checks.count("initial", self.initial, least=0)
        if self.device != "cpu":  # the default is not tried, which would load torch
            object.__setattr__(self, "device", checks.device(self.device))
        checks.constraints(self.constraints)
        checks.objectives(self.objectives)
        if both := {*self.objectives} & {*self.constraints}:
            raise InvalidInput(
                f"{min(both)!r} is in `objectives` and in `constraints`, expected different names."
            )
        checks.truth("log", self.log)
        object.__setattr__(self, "effects", checks.names("effects", self.effects, *EFFECTS))
        checks.choice("estimand", self.estimand, *ESTIMANDS)
        checks.count("repeats", self.repeats)
        if self.unstable is not None:
            checks.positive("unstable", self.unstable)
        if not isinstance(self.guess, Mapping) or not all(isinstance(n, str) for n in self.guess):
            raise InvalidInput(
                f"`guess` is {checks.shown(self.guess)}, expected values of some parameters by "
                "name."
            )
        checks.truth("safe", self.safe)
        self.check(self.subject.excluded, f"an `{self.subject.name}`")

    @property
    def is_safe(self) -> bool:
        """Whether no trial is sampled that may fail, or break some limit."""
        return self.safe or any(one.safe for one in self.constraints.values())

    def check(self, excluded: Mapping[str, str], beside: str) -> None:
        """Refuse arguments.

        Args:
            excluded: Reasons by the names of the arguments.
            beside: What they do not go together with.

        Raises:
            InvalidInput: If one of them was passed.
        """
        limits = [f"constraints[{n!r}].safe" for n, one in self.constraints.items() if one.safe]
        given = {
            self.subject.name: self.subject.name,
            "log": "log" if self.log else "",
            "guess": "guess" if self.guess else "",
            "prior": "prior" if self.prior is not None else "",
            "repeats": "repeats" if self.repeats > 1 else "",
            "unstable": "unstable" if self.unstable is not None else "",
            "safe": "safe" if self.safe else next(iter(limits), ""),
        }
        for name, why in excluded.items():
            if given.get(name):
                raise InvalidInput(
                    f"`{given[name]}` came with {beside}, {why}: leave one of them out."
                )

    def check_study(self, study: Study) -> None:
        """Refuse a study whose objectives do not go together with the arguments.

        Raises:
            InvalidInput: If they do not.
        """
        number = len(study.directions) + len(self.objectives)
        if self.objectives and len(study.directions) > 1:
            raise InvalidInput(
                f"`objectives` came with a study of {len(study.directions)} directions, expected "
                "a study with one: leave them out."
            )
        if number > 1:
            self.check(_FOR_ONE_VALUE, f"a study of {number} objectives")

    def number_of_objectives(self, study: Study) -> int:
        """Number of objectives of a study, with the further ones."""
        return len(study.directions) + len(self.objectives)

    def _warn_of_unknown(self, study: Study, guessed: set[str]) -> None:
        """Say which guessed parameters no trial has, as is known once one has been sampled."""
        known = [trial.params for trial in study.get_trials(deepcopy=False) if trial.params]
        unknown = sorted(guessed - {name for params in known for name in params})
        if known and unknown:
            names = ", ".join(sorted({name for params in known for name in params}))
            warn(
                f"`guess` has {', '.join(map(repr, unknown))}, expected parameters of the trials "
                f"({names}): it is not used."
            )

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
        from surefoot.acquisition import HypervolumeImprovement, Instability, Replication
        from surefoot.algorithms import robust_ucb
        from surefoot.integrations.optuna.tracker import StudyTracker
        from surefoot.optimizer.fit_files import FitFiles

        spread = math.inf if self.unstable is None else self.unstable
        guess = {name: one for name, one in self.guess.items() if name in encoding.parameters}
        if others := {*self.guess} - {*guess}:
            self._warn_of_unknown(study, others)
        named = encoding.space.named
        right = {name: one for name, one in guess.items() if named.parameters[name].contains(one)}
        for name in {*named.excluded(right)} & {*guess}:  # by conditions found in the trials
            del guess[name]
        names = [*names_of(len(study.directions)), *self.objectives]
        every = [*signs_of(study), *(one.direction for one in self.objectives.values())]
        signs = [every[index] for index in objectives]
        further = {names[index]: Objective(every[index] > 0.0) for index in objectives[1:]}
        policy: Policy | None = HypervolumeImprovement() if further else None
        if self.repeats > 1:
            policy = Replication(most=self.repeats)
        prior = None
        if self.prior is not None:
            prior = self.prior.belief(encoding, study.directions[objectives[0]], self.log)
        optimizer = robust_ucb(
            **self.subject.optimizer_arguments(encoding.box),
            policy=policy,
            instability=Instability(math.log1p(spread) if self.log else spread, not self.log),
            seed=seed,
            initial=self.initial,
            outcomes={**self.constraints, **further},
            effects=self.effects,
            estimand=self.estimand,
            guess=encoding.named.part(encoding.box, guess) if guess else None,
            prior=prior,
            safe=self.safe,
            device=self.device,
        )
        for folder in self.fits:
            optimizer.keep_fits(FitFiles(folder))
        environment = self.subject.environment
        return StudyTracker(study, encoding, optimizer, signs, environment, self.device, self.log)
