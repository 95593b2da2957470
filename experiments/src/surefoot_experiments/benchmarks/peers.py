"""Every compared optimiser behind one ask, tell, recommend, set up as a competent user would."""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from surefoot_experiments.problems import Problem


class Method(Protocol):
    """An optimiser under test; points are (d,) in the units of the problem, and it maximises."""

    @property
    def failures(self) -> int: ...

    def ask(self) -> Tensor: ...

    def tell(self, point: Tensor, y: float) -> None: ...

    def recommend(self) -> Tensor: ...


class RandomSearch:
    """Uniform points; recommends the best raw measurement."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.failures = 0
        self._problem = problem
        self._generator = torch.Generator().manual_seed(seed)
        self._points: list[Tensor] = []
        self._values: list[float] = []

    def ask(self) -> Tensor:
        low, high = self._problem.lower, self._problem.upper
        uniform = torch.rand(len(low), generator=self._generator, dtype=torch.float64)
        return low + (high - low) * uniform

    def tell(self, point: Tensor, y: float) -> None:
        self._points.append(point)
        self._values.append(y)

    def recommend(self) -> Tensor:
        return self._points[max(range(len(self._values)), key=self._values.__getitem__)]


class Optuna:
    """An Optuna study; recommends `study.best_params`, as Optuna's user gets it."""

    def __init__(self, problem: Problem, seed: int, sampler: str) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        torch.manual_seed(seed)
        self.failures = 0
        self._space = {
            f"x{i}": optuna.distributions.FloatDistribution(float(low), float(high))
            for i, (low, high) in enumerate(zip(problem.lower, problem.upper, strict=True))
        }
        chosen = (
            optuna.samplers.TPESampler(seed=seed)
            if sampler == "tpe"
            else optuna.samplers.GPSampler(seed=seed, deterministic_objective=False)
        )
        self._study = optuna.create_study(direction="maximize", sampler=chosen)

    def ask(self) -> Tensor:
        self._trial = self._study.ask(self._space)
        return self._point(self._trial.params)

    def tell(self, point: Tensor, y: float) -> None:
        self._study.tell(self._trial, y)

    def recommend(self) -> Tensor:
        return self._point(self._study.best_params)

    def add(self, points: Tensor, values: Tensor) -> None:
        """Take in measurements of points that were not asked for."""
        import optuna

        for point, y in zip(points.tolist(), values.tolist(), strict=True):
            params = dict(zip(self._space, point, strict=True))
            trial = optuna.trial.create_trial(params=params, distributions=self._space, value=y)
            self._study.add_trial(trial)

    def _point(self, params: dict[str, Any]) -> Tensor:
        return torch.tensor([params[name] for name in self._space], dtype=torch.float64)


class BoTorch:
    """A BoTorch loop refitted each round; recommends the maximiser of the posterior mean.

    Starts with 2 (d + 1) scrambled Sobol points, at most 10; see `BoTorchModel`.
    """

    def __init__(self, problem: Problem, seed: int, acquisition: str, robust: bool = False) -> None:
        from surefoot_experiments.scoreboard.botorch_model import BoTorchModel

        torch.manual_seed(seed)
        dimension = problem.dimension
        sobol = SobolEngine(dimension, scramble=True, seed=seed)
        cube = sobol.draw(min(2 * (dimension + 1), 10), dtype=torch.float64)
        self._initial = list(problem.lower + (problem.upper - problem.lower) * cube)
        bounds = torch.stack([problem.lower, problem.upper])
        self._model = BoTorchModel(bounds, acquisition, robust)
        self._points: list[Tensor] = []
        self._values: list[float] = []

    @property
    def failures(self) -> int:
        return self._model.failures

    def ask(self) -> Tensor:
        if len(self._points) < len(self._initial):
            return self._initial[len(self._points)]
        return self._model.acquire(*self._measured())

    def tell(self, point: Tensor, y: float) -> None:
        self._points.append(point)
        self._values.append(y)

    def recommend(self) -> Tensor:
        return self._model.best_mean(*self._measured())

    def _measured(self) -> tuple[Tensor, Tensor]:
        return torch.stack(self._points), torch.tensor(self._values, dtype=torch.float64)


class Surefoot:
    """surefoot's default; recommends `recommend().point`."""

    def __init__(self, problem: Problem, seed: int) -> None:
        import surefoot as sf

        self.failures = 0
        self._optimizer = sf.algorithms.robust_ucb(sf.Box(problem.lower, problem.upper), seed=seed)
        self._query: Any = None

    def ask(self) -> Tensor:
        self._query = self._optimizer.ask()
        return torch.as_tensor(self._query.point)

    def tell(self, point: Tensor, y: float) -> None:
        self._optimizer.tell(point if self._query is None else self._query, y)
        self._query = None

    def add(self, points: Tensor, values: Tensor) -> None:
        """Tell measurements of points (n, d) that were not asked for."""
        self._optimizer.tell_all(points, values)

    def recommend(self) -> Tensor:
        return self._optimizer.recommend().point


METHODS: dict[str, Callable[[Problem, int], Method]] = {
    "surefoot": Surefoot,
    "random": RandomSearch,
    "tpe": lambda problem, seed: Optuna(problem, seed, "tpe"),
    "optuna-gp": lambda problem, seed: Optuna(problem, seed, "gp"),
    "botorch-ucb": lambda problem, seed: BoTorch(problem, seed, "ucb"),
    "botorch-lognei": lambda problem, seed: BoTorch(problem, seed, "lognei"),
    "botorch-robust": lambda problem, seed: BoTorch(problem, seed, "lognei", robust=True),
}
