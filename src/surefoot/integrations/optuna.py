"""Surefoot as an Optuna sampler: storage, workers and dashboard stay Optuna's."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from surefoot import _checks, algorithms
from surefoot.integrations._encoding import Encoding
from surefoot.types import InvalidInput, NotReady

if TYPE_CHECKING:
    from optuna.study import Study

    from surefoot.optimizer import Optimizer
    from surefoot.types import Query

INTERRUPTED = "surefoot:interrupted"
"""User attribute of a failed trial that says nothing about its setting (its run was killed)."""


@dataclass(frozen=True)
class StudyRecommendation:
    """The setting that the model holds best, in the study's units and direction."""

    params: dict[str, Any]
    value: float
    lower: float
    upper: float


class SurefootSampler(BaseSampler):
    """Samples by `surefoot.algorithms.robust_ucb`: outliers among the values do not mislead it.

    `search_space` may name the distributions beforehand, so that even the first trials are spread
    evenly; otherwise it is what all trials so far have in common, and the first trial is random.
    `initial` trials are spread evenly before the model chooses. The model is kept between trials:
    each trial is read once. A failed trial is kept away from; one with the user attribute
    `INTERRUPTED` is passed over. For studies with one objective; `ValueError` for more.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
        initial: int | None = None,
        device: str = "cpu",
    ) -> None:
        if seed is not None:
            _checks.count("seed", seed, least=0)
        self._entropy = np.random.SeedSequence(seed)
        if initial is not None:
            _checks.count("initial", initial, least=0)
        self._given = None if search_space is None else dict(search_space)
        self._initial = initial
        self._device = device
        self._independent = RandomSampler(seed=self._draw_seed())
        self._intersection = IntersectionSearchSpace()
        self._model: _StudyModel | None = None
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
    ) -> _StudyModel | None:
        encoding = Encoding.of(search_space)
        if encoding is None:
            return None
        known = self._model
        if known is None or not known.models(study, search_space):
            sign = 1.0 if study.direction == StudyDirection.MAXIMIZE else -1.0
            optimizer = algorithms.robust_ucb(
                encoding.box, seed=self._draw_seed(), initial=self._initial, device=self._device
            )
            self._model = known = _StudyModel(study, encoding, optimizer, sign)
        known.read(study.get_trials(deepcopy=False))
        return known

    def _draw_seed(self) -> int:
        return int(self._entropy.spawn(1)[0].generate_state(1)[0])


class _StudyModel:
    """An optimiser that has seen what the study has recorded, each trial once."""

    def __init__(self, study: Study, encoding: Encoding, optimizer: Optimizer, sign: float) -> None:
        self.study_name = study.study_name
        self._study: weakref.ref[Study] | None = weakref.ref(study)
        self.encoding = encoding
        self.optimizer = optimizer
        self.sign = sign
        self.numbers: list[int] = []  # of the trials whose values the optimiser has
        self._all_read_below = 0
        self._read: set[int] = set()  # at or above that mark
        self._waiting: dict[int, Query] = {}

    def models(self, study: Study, search_space: Mapping[str, BaseDistribution]) -> bool:
        """Whether this is the model of that study on that space; a pickled one knows its name."""
        if self._study is None and self.study_name == study.study_name:
            self._study = weakref.ref(study)
        same = self._study is not None and self._study() is study
        return same and dict(search_space) == dict(self.encoding.distributions)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_study": None}

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        """Take in trials that finished, and hold those that run as pending."""
        points, values = [], []
        for trial in trials[self._all_read_below :]:
            if trial.number in self._read:
                continue
            point = self.encoding.encode(trial.params)
            if trial.state.is_finished():
                self._read.add(trial.number)
                self._settle(trial.number)
                if point is None:
                    continue
                value = trial.value if trial.state == TrialState.COMPLETE else None
                if value is not None and np.isfinite(value):
                    points.append(point)
                    values.append(self.sign * value)
                    self.numbers.append(trial.number)
                elif trial.state != TrialState.PRUNED and not trial.user_attrs.get(INTERRUPTED):
                    self.optimizer.forget(point)
            elif point is not None and trial.number not in self._waiting:
                self._waiting[trial.number] = self.optimizer.expect(point)
        while self._all_read_below in self._read:
            self._read.remove(self._all_read_below)
            self._all_read_below += 1
        if points:
            self.optimizer.tell_all(torch.stack(points), torch.tensor(values))

    def propose(self, number: int) -> dict[str, Any]:
        self._settle(number)
        query = self.optimizer.ask()
        self._waiting[number] = query
        return self.encoding.decode(query.point)

    def _settle(self, number: int) -> None:
        query = self._waiting.pop(number, None)
        if query is not None:
            self.optimizer.forget(query, failed=False)


class StudyBelief:
    """The model of a study as it was when asked for, in the study's units and direction."""

    def __init__(self, model: _StudyModel) -> None:
        optimizer = model.optimizer
        self._encoding, self._sign = model.encoding, model.sign
        self._best = optimizer.recommend()
        self._posterior, self._width = optimizer.posterior, optimizer.width
        self._learnt = optimizer.learnt
        self.trials: list[int] = list(model.numbers)
        """Numbers of the trials in the model, in the order it read them."""
        self.values: np.ndarray = model.sign * optimizer.history.rewards.cpu().numpy()
        """Their measured values (n,)."""
        self.weights: np.ndarray = optimizer.weights.cpu().numpy().copy()
        """Weight of each value (n,): 1 is full weight, near 0 was treated as an outlier."""

    @property
    def outliers(self) -> np.ndarray:
        """Which values (n,) have less than half their weight."""
        return self.weights < 0.5

    @property
    def noise_scale(self) -> float:
        """Scale of the noise in the study's units: its standard deviation, were it Gaussian."""
        learnt = self._learnt
        return float("nan") if learnt is None else learnt.noise**0.5 * learnt.scale

    @property
    def assumed(self) -> str:
        """What the model takes the noise to be, in a sentence."""
        learnt = self._learnt
        dof = float("nan") if learnt is None else learnt.dof
        return (
            f"Student-t noise with {dof:g} degrees of freedom (fewer means heavier tails) and "
            f"scale {self.noise_scale:.4g}, both learnt from the data; the same everywhere."
        )

    def recommend(self) -> StudyRecommendation:
        """The setting of best predicted value, with that value and its interval."""
        params = self._encoding.decode(self._best.point)
        mean, lower, upper = self.predict([params])
        return StudyRecommendation(params, float(mean[0]), float(lower[0]), float(upper[0]))

    def predict(
        self, settings: Sequence[Mapping[str, Any]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predicted value, lower and upper end of its interval, each (n,), without noise.

        Raises `InvalidInput` for a setting that is not of the study's search space.
        """
        points = [self._encoding.encode(params) for params in settings]
        for params, point in zip(settings, points, strict=True):
            if point is None:
                raise InvalidInput(
                    f"{dict(params)!r} is not a setting of this study, expected values for "
                    f"{', '.join(self._encoding.distributions)} within their ranges."
                )
        if not points:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        with torch.no_grad():
            mean, deviation = self._posterior.mean_and_deviation(
                torch.stack([p for p in points if p is not None]).to(self._best.point.device)
            )
        values = self._sign * mean.cpu().numpy()
        reach = self._width * deviation.cpu().numpy()
        return values, values - reach, values + reach
