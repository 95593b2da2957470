"""Problems under value at risk: those of Nguyen et al. 2021 (value at risk), Section 4.

Where the paper leaves a detail open, it is as in the code that its authors published since.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from os import PathLike

import torch
from torch import Tensor

from surefoot import Box, ContinuousEnvironment, FiniteEnvironment, Joint, VaR, environments
from surefoot_experiments.problems import portfolio_returns
from surefoot_experiments.problems.functions import SCALE_POINTS
from surefoot_experiments.problems.noise import Gaussian, Noise
from surefoot_experiments.problems.risk_problem import Function, RiskProblem
from surefoot_experiments.problems.robot_pushing import RobotPushing, TabulatedPush

NOISE = Gaussian(0.1)  # variance 0.01
_LOG_CENTRE = 8.693  # of the logarithm of Goldstein-Price (Picheny et al. 2013)


def branin_11(noise: Noise = NOISE, *, level: float = 0.1, continuous: bool = False) -> RiskProblem:
    """Branin-Hoo, x its first coordinate and z its second, both scaled to [0, 1].

    As the synthetic ones here it is to be maximised, and standardised to zero mean and unit
    standard deviation over the square (Picheny et al. 2013), which the noise, of variance 0.01,
    goes with. Z has 100 evenly spaced values in [0, 1] of mass proportional to
    exp(-(z - 0.5)^2 / 0.1^2), or with `continuous` a normal distribution of mean 0.5 and standard
    deviation 0.125 that is cut off at two of these.
    """
    return _synthetic("branin", 1, _masses(100, 1), 3, noise, level, continuous)


def goldstein_price_11(
    noise: Noise = NOISE, *, level: float = 0.1, continuous: bool = False
) -> RiskProblem:
    """8.693 - ln f with f the Goldstein-Price function; the rest as for `branin_11`.

    The function itself spans six orders of magnitude, of which no noise of variance 0.01 would be
    noticed. As in the authors' code the logarithm is centered and not scaled: its standard
    deviation is 2.4.
    """
    return _synthetic("goldstein-price", 1, _masses(100, 1), 3, noise, level, continuous)


def hartmann_12(
    noise: Noise = NOISE, *, level: float = 0.1, continuous: bool = False
) -> RiskProblem:
    """Hartmann-3 with one coordinate of x and two of z, 8 x 8 values; the rest as `branin_11`."""
    return _synthetic("hartmann", 1, _masses(8, 2), 10, noise, level, continuous)


def hartmann_21(
    noise: Noise = NOISE, *, level: float = 0.1, continuous: bool = False
) -> RiskProblem:
    """Hartmann-3 with two coordinates of x and one of z, 100 values; the rest as `branin_11`."""
    return _synthetic("hartmann", 2, _masses(100, 1), 10, noise, level, continuous)


def portfolio(
    data: str | PathLike[str], noise: Noise = NOISE, *, level: float = 0.2
) -> RiskProblem:
    """Annual return in % of a trading strategy, from 3,000 simulated ones (Cakmak et al. 2020).

    x are risk aversion, trade aversion and holding cost multiplier, z bid-ask spread and borrow
    cost, all scaled to [0, 1]; Z has 10 x 10 evenly spaced values, equally likely. f is the
    posterior mean of a Gaussian process given the rows of `portfolio.csv`, which `data` is or is
    the folder of. It is not standardised: its standard deviation is 3.7, so the noise is small.

    Takes seconds. Raises `InvalidInput` for a file that is missing or not as expected.
    """
    return portfolio_of(*portfolio_returns.read(data), noise, level=level)


def portfolio_of(
    points: Tensor, returns: Tensor, noise: Noise = NOISE, *, level: float = 0.2
) -> RiskProblem:
    """`portfolio` with the rows (t, 5) and (t,) of its file."""
    function = portfolio_returns.PosteriorMean.fitted(points, returns)
    z = _grid(0.0, 1.0, 10, 2)
    joint = Joint(Box(torch.zeros(3), torch.ones(3)), FiniteEnvironment(z))
    return RiskProblem("portfolio", joint, function, noise, VaR(level), initial=20)


def robot_pushing(
    noise: Noise = NOISE, *, level: float = 0.1, goal: tuple[float, float] = (3.0, 4.0)
) -> RiskProblem:
    """Pushing a disc to a goal (`RobotPushing`) with a hand that is not where it should be.

    x = (rx, ry, duration) in [-5, 5]^2 x [1, 30]; z is added to (rx, ry) and has 8 x 8 evenly
    spaced values in [-1, 1]^2 of mass proportional to exp(-|z|^2 / 0.4^2). Measurements simulate
    the push and need pymunk. Risks come from a table of pushes (`TabulatedPush`), so that regrets
    are exact to about 0.01: the best value at risk for the default goal is -0.44, at (-3.8, -5,
    26). Raises `NotReady` without pymunk, on the first use.
    """
    z = _grid(-1.0, 1.0, 8, 2)
    mass = torch.exp(-(z / 0.4).square().sum(-1))
    joint = Joint(Box([-5.0, -5.0, 1.0], [5.0, 5.0, 30.0]), FiniteEnvironment(z, mass / mass.sum()))
    return RiskProblem(
        "robot-pushing",
        joint,
        _Displaced(RobotPushing(goal)),
        noise,
        VaR(level),
        initial=30,
        approximation=_Displaced(TabulatedPush(goal)),
    )


def _synthetic(
    name: str,
    designs: int,
    finite: FiniteEnvironment,
    initial: int,
    noise: Noise,
    level: float,
    continuous: bool,
) -> RiskProblem:
    others = finite.dimension
    joint = Joint(
        Box(torch.zeros(designs), torch.ones(designs)),
        ContinuousEnvironment(environments.truncated_normal([0.5] * others, 0.125, 0.25, 0.75))
        if continuous
        else finite,
    )
    label = f"{name}-{designs}{others}" + ("-continuous" if continuous else "")
    return RiskProblem(label, joint, _standardised(name), noise, VaR(level), initial)


def _masses(number: int, dimension: int) -> FiniteEnvironment:
    z = _grid(0.0, 1.0, number, dimension)
    mass = torch.exp(-((z - 0.5) / 0.1).square().sum(-1))
    return FiniteEnvironment(z, mass / mass.sum())


def _grid(low: float, high: float, number: int, dimension: int) -> Tensor:
    axis = torch.linspace(low, high, number, dtype=torch.float64)
    return torch.cartesian_prod(*[axis] * dimension).reshape(-1, dimension)


@dataclass(frozen=True)
class _Displaced:
    """A function of (rx, ry, duration), of points (n, 5) whose last two are added to the first."""

    function: Function

    def __call__(self, points: Tensor) -> Tensor:
        hand = points[:, :2] + points[:, 3:]
        return self.function(torch.cat([hand, points[:, 2:3]], -1))


@dataclass(frozen=True, eq=False)
class _Standardised:
    """Minus a function of a box, on the unit cube, less its mean and over its deviation there."""

    raw: Callable[[Tensor], Tensor]
    lower: Tensor
    span: Tensor
    mean: float
    deviation: float

    def __call__(self, points: Tensor) -> Tensor:
        return (self.mean - self.raw(self.lower + self.span * points)) / self.deviation


@cache
def _standardised(name: str) -> _Standardised:
    raw, lower, upper = _raw(name)
    cube = torch.quasirandom.SobolEngine(len(lower)).draw(SCALE_POINTS, dtype=torch.float64)
    values = raw(lower + (upper - lower) * cube)
    if name == "goldstein-price":
        return _Standardised(raw, lower, upper - lower, _LOG_CENTRE, 1.0)
    return _Standardised(raw, lower, upper - lower, float(values.mean()), float(values.std()))


def _raw(name: str) -> tuple[Callable[[Tensor], Tensor], Tensor, Tensor]:
    """A function to be minimised, and its box."""
    if name == "goldstein-price":
        ends = torch.full((2,), 2.0, dtype=torch.float64)
        return _log_goldstein_price, -ends, ends
    from botorch.test_functions.synthetic import Branin, Hartmann  # changes gpytorch settings

    function = Branin() if name == "branin" else Hartmann(dim=3)
    lower, upper = function.bounds.to(torch.float64)
    return function, lower, upper


def _log_goldstein_price(points: Tensor) -> Tensor:
    """Of [-2, 2]^2; the function is 3 at its least, at (0, -1)."""
    a, b = points.unbind(-1)
    c, d = a + b, 2.0 * a - 3.0 * b
    first = 1.0 + (c + 1.0).square() * (19.0 - 14.0 * c + 3.0 * c.square())
    second = 30.0 + d.square() * (18.0 - 16.0 * d + 3.0 * d.square())
    return first.log() + second.log()
