"""The usual test functions as problems: maximised, and scaled to unit standard deviation.

The scale makes noise and regret comparable across functions: a regret of 0.1 is a tenth of the
standard deviation of the function over its box. Formulas, boxes and optima are BoTorch's.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from surefoot_experiments.problems.noise import Gaussian, Noise, kinds_of_noise
from surefoot_experiments.problems.problem import Problem

SCALE_POINTS = 2**15


@dataclass(frozen=True)
class _Scaled:
    raw: Callable[[Tensor], Tensor]
    scale: float

    def __call__(self, points: Tensor) -> Tensor:
        return self.raw(points) / self.scale


def ackley(noise: Noise = Gaussian(0.3), dimension: int = 2) -> Problem:
    """Ackley on [-32.768, 32.768]^d: a funnel covered with ripples, best at the centre."""
    return synthetic("Ackley", noise, dimension)


def rosenbrock(noise: Noise = Gaussian(0.3), dimension: int = 3) -> Problem:
    """Rosenbrock on [-5, 10]^d: a flat curved valley between very high walls."""
    return synthetic("Rosenbrock", noise, dimension)


def branin(noise: Noise = Gaussian(0.3)) -> Problem:
    """Branin on [-5, 10] x [0, 15]: smooth, with three equal maxima."""
    return synthetic("Branin", noise)


def hartmann(noise: Noise = Gaussian(0.3), dimension: int = 6) -> Problem:
    """Hartmann on [0, 1]^d, d = 3 or 6: a few bumps in an otherwise flat cube."""
    return synthetic("Hartmann", noise, dimension)


def robust_tasks() -> list[Problem]:
    """Twelve tasks: three functions, each under four kinds of noise from light to heavy tails.

    Ackley-2, Rosenbrock-3 and Hartmann-6, each of unit standard deviation, with Gaussian noise of
    0.3, Student-t(2) noise times 0.3, Gaussian noise of 0.3 with 5 % spikes of ±30, and centred
    Pareto(1.5) noise times 0.3. Names read "ackley-2/spikes".
    """
    problems = [ackley(), rosenbrock(), hartmann()]
    return [
        replace(problem, name=f"{problem.name}/{label}", noise=noise)
        for problem in problems
        for label, noise in kinds_of_noise(0.3).items()
    ]


def synthetic(name: str, noise: Noise = Gaussian(0.3), dimension: int | None = None) -> Problem:
    """A function of `botorch.test_functions.synthetic` by its name there.

    Args:
        name: Such as "Levy".
        noise: Errors of measurements.
        dimension: The number of coordinates, None for a function that has but one.
    """
    function, lower, upper, optimum = _scaled(name, dimension)
    label = f"{name.lower()}-{len(lower)}"
    return Problem(label, function, lower.clone(), upper.clone(), optimum, noise)


@cache
def _scaled(
    name: str,
    dimension: int | None,
) -> tuple[_Scaled, Tensor, Tensor, float]:
    from botorch.test_functions import synthetic  # lazily: importing it changes gpytorch settings

    family = getattr(synthetic, name)
    raw = family(negate=True) if dimension is None else family(dim=dimension, negate=True)
    lower, upper = raw.bounds.to(torch.float64)
    cube = torch.quasirandom.SobolEngine(len(lower)).draw(SCALE_POINTS, dtype=torch.float64)
    scale = float(raw(lower + (upper - lower) * cube).std())
    return _Scaled(raw, scale), lower, upper, float(raw.optimal_value) / scale
