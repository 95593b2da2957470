"""Surefoot as an Optuna sampler: storage, workers and dashboard stay Optuna's."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from surefoot import algorithms, risks
from surefoot._internal import checks
from surefoot.integrations._encoding import Encoding
from surefoot.integrations._study_model import BLAMELESS, INTERRUPTED, StudyModel
from surefoot.integrations.study_belief import OverEnvironment, StudyBelief, StudyRecommendation
from surefoot.integrations.study_environment import ENVIRONMENT, StudyEnvironment
from surefoot.spaces import Joint
from surefoot.types import InvalidInput, NotReady

if TYPE_CHECKING:
    from optuna.study import Study

    from surefoot.risks import Risk

__all__ = [
    "BLAMELESS",
    "ENVIRONMENT",
    "INTERRUPTED",
    "OverEnvironment",
    "StudyBelief",
    "StudyEnvironment",
    "StudyRecommendation",
    "SurefootSampler",
]


class SurefootSampler(BaseSampler):
    """Samples by `surefoot.algorithms.robust_ucb`: outliers among the values do not mislead it.

    `search_space` may name the distributions beforehand, so that even the first trials are spread
    evenly; otherwise it is what all trials so far have in common, and the first trial is random.
    `initial` trials are spread evenly before the model chooses. The model is kept between trials:
    each trial is read once. A failed trial is kept away from; one with the user attribute
    `INTERRUPTED` or `BLAMELESS` is passed over. For studies with one objective; `ValueError` for
    more.

    With an `environment`, the value depends on something besides the setting that is not ours to
    choose when it counts, and `risk` of it is optimised: of the lower tail where the study
    maximises, of the upper tail where it minimises. Trials say what they were measured under by
    their user attribute `ENVIRONMENT`: `environment_of` chooses and sets it; where the environment
    is observed, the objective sets it.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
        initial: int | None = None,
        environment: StudyEnvironment | None = None,
        risk: Risk | None = None,
        device: str = "cpu",
    ) -> None:
        if seed is not None:
            checks.count("seed", seed, least=0)
        self._entropy = np.random.SeedSequence(seed)
        if initial is not None:
            checks.count("initial", initial, least=0)
        _check_environment(environment, risk, search_space)
        self.environment, self.risk = environment, risk
        self._given = None if search_space is None else dict(search_space)
        self._initial = initial
        self._device = device
        self._independent = RandomSampler(seed=self._draw_seed())
        self._intersection = IntersectionSearchSpace()
        self._model: StudyModel | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def reseed_rng(self) -> None:
        with self._lock:
            self._entropy = np.random.SeedSequence()
            self._independent.reseed_rng()
            if self._model is not None:
                self._model.optimizer.reseed(self._draw_seed())

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        with self._lock:
            return self._space(study)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        with self._lock:
            model = self._up_to_date(study, search_space)
            return {} if model is None else model.propose(trial.number)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        self._raise_error_if_multi_objective(study)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def environment_of(self, trial: Trial) -> dict[str, Any]:
        """The environment to measure a running trial under, by name; it is recorded at once.

        Call it when the setting is known, before the measurement. It is the trial's user attribute
        `ENVIRONMENT`: one that is there already stays. Raises `InvalidInput` in a study without an
        environment, or where the world draws it.
        """
        environment = self.environment
        if environment is None or environment.observed:
            why = "the sampler has no `environment`"
            if environment is not None:
                why = f"the world draws it: set the trial's user attribute {ENVIRONMENT!r}"
            raise InvalidInput(f"there is no environment to choose for a trial, since {why}.")
        known = trial.user_attrs.get(ENVIRONMENT)
        if known is None:
            with self._lock:
                model, seed, study = self._model, self._draw_seed(), trial.study
                if model is None or not model.is_of(study):
                    model = self._up_to_date(study, self._space(study))
                else:  # where the whole setting was given, nobody has asked it for one
                    model.read(study.get_trials(deepcopy=False))
                if model is None:
                    z = environment.draw(seed)
                else:
                    z = model.environment_for(trial.number, trial.params, environment, seed)
                known = environment.decode(z)
                trial.set_user_attr(ENVIRONMENT, known)
        else:
            environment.encode(known)
        return dict(known)

    def belief(self, study: Study) -> StudyBelief:
        """What the model holds of the study now; `NotReady` without a finished trial."""
        self._raise_error_if_multi_objective(study)
        with self._lock:
            space = self._space(study)
            model = self._up_to_date(study, space)
            if model is None and study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
                raise NotReady(
                    f"the trials of study {study.study_name!r} have no parameter in common that "
                    "varies, so there is nothing to model."
                )
            if model is None or not model.numbers:
                raise NotReady(
                    f"study {study.study_name!r} has no finished trial with a value yet: "
                    "run some trials first."
                )
            return StudyBelief(model)

    def _space(self, study: Study) -> dict[str, BaseDistribution]:
        space = self._given or self._intersection.calculate(study)
        return {name: d for name, d in sorted(space.items()) if not d.single()}

    def _up_to_date(
        self, study: Study, search_space: Mapping[str, BaseDistribution]
    ) -> StudyModel | None:
        encoding = Encoding.of(search_space)
        if encoding is None:
            return None
        known = self._model
        if known is None or not known.models(study, search_space):
            sign = 1.0 if study.direction == StudyDirection.MAXIMIZE else -1.0
            environment = self.environment
            optimizer = algorithms.robust_ucb(
                encoding.box
                if environment is None
                else Joint(encoding.box, environment.distribution, environment.observed),
                risk=self.risk,
                seed=self._draw_seed(),
                initial=self._initial,
                device=self._device,
            )
            self._model = known = StudyModel(study, encoding, optimizer, sign, environment)
        known.read(study.get_trials(deepcopy=False))
        return known

    def _draw_seed(self) -> int:
        return int(self._entropy.spawn(1)[0].generate_state(1)[0])


def _check_environment(
    environment: StudyEnvironment | None,
    risk: Risk | None,
    search_space: Mapping[str, BaseDistribution] | None,
) -> None:
    if environment is not None and not isinstance(environment, StudyEnvironment):
        raise InvalidInput(
            f"`environment` is {environment!r}, expected `StudyEnvironment(names, environment)`."
        )
    if (environment is None) is not (risk is None):
        missing = "risk" if risk is None else "environment"
        raise InvalidInput(
            f"no `{missing}` came, expected `environment` and `risk` together: pass, for instance, "
            "`environment=StudyEnvironment(...), risk=VaR(0.1)`."
        )
    if risk is not None:
        risks.checked(risk)
    both = {*(search_space or ())} & {*(environment.names if environment is not None else ())}
    if both:
        raise InvalidInput(
            f"{min(both)!r} is in the environment and in `search_space`, expected names of its own."
        )
