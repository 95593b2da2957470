"""The functions and rewards on which no algorithm has less regret than a lower bound.

Theorem 2 of Chowdhury and Gopalan 2019 (heavy-tailed payoffs), with constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import torch
from scipy import optimize
from torch import Tensor

from surefoot import Arms, InvalidInput, kernels
from surefoot_experiments.problems.arm_problem import ArmProblem
from surefoot_experiments.problems.kernel_function import KernelFunction
from surefoot_experiments.problems.noise import Generator, uniform

_FREQUENCIES = np.linspace(-1.0, 1.0, 2001)[1:-1]
_SPECTRUM = np.exp(-1.0 / (1.0 - _FREQUENCIES**2))  # of the bump, with bounded support
_STEP = float(_FREQUENCIES[1] - _FREQUENCIES[0])
_MASS = float(_SPECTRUM.sum()) * _STEP
_SUM = 1.22  # of |f_j(x)| over all j, at most, in heights of the peak
_GRID = 300  # candidates for the gap, and for the bandwidth of the bump


@dataclass(frozen=True)
class RareRewards:
    """`size` times the sign of the mean, rarely, and otherwise 0.

    The chance |f| / size makes f the mean, and the moment of order p is |f| size^(p - 1).
    """

    size: float

    def draw(self, arms: Tensor, means: Tensor, generator: Generator) -> Tensor:
        if bool((means.abs() > self.size).any()):
            raise InvalidInput(
                f"a mean is {float(means.abs().max())}, expected none above `size` = {self.size}."
            )
        chance = torch.from_numpy(uniform((len(arms),), generator)).to(means)
        return torch.where(chance < means.abs() / self.size, self.size * means.sign(), 0.0)

    def moment(self, order: float, means: Tensor) -> float:
        return float(means.abs().max()) * self.size ** (order - 1.0)


@dataclass(frozen=True, eq=False)
class HardFamily:
    """M functions with one narrow peak each, of which rewards say little in `horizon` rounds.

    Args:
        functions: The functions, on the same arms; peaks are 2 * gap high.
        law: The rewards, 0 but for few.
        alpha: Order of the moment, in (0, 1].
        gap: Regret of an arm that is not at the peak, at least.
        horizon: Number of rounds T that gap and number are chosen for.
    """

    functions: tuple[KernelFunction, ...]
    law: RareRewards
    alpha: float
    gap: float
    horizon: int

    def __len__(self) -> int:
        return len(self.functions)

    def problem(self, index: int) -> ArmProblem:
        """The problem of one function, in order of the peaks."""
        name = f"hard-{index + 1}-of-{len(self)}"
        return ArmProblem(name, self.functions[index], self.law, self.alpha)

    @cached_property
    def lower_bound(self) -> float:
        r"""The least regret of any algorithm in `horizon` rounds, in the mean over the functions.

        :math:`\Delta T (e^{-T S / M} - 1 / M)` with :math:`S = \max_x \sum_j -\ln(1 - p_j(x))` and
        p_j(x) the chance of a reward other than 0. As long as rewards are 0 an algorithm does the
        same for every j, and it is at the peaks of all of them T times at most. For function j that
        lasts with probability exp(-sum of -ln(1 - p_j(x_t))), whose mean over j is at least
        e^{-T S / M} by Jensen's inequality.
        """
        values = torch.stack([function.values for function in self.functions])
        information = -torch.log1p(-values.abs() / self.law.size)
        seen = float(information.sum(0).max()) * self.horizon / len(self)
        return self.gap * self.horizon * (math.exp(-seen) - 1.0 / len(self))


def hard_family(
    horizon: int,
    *,
    alpha: float = 1.0,
    moment: float = 1.0,
    norm_bound: float = 1.0,
    lengthscale: float = 0.1,
    nu: float = math.inf,
    arms: int = 100,
) -> HardFamily:
    """The family of Theorem 2 on arms of [0, 1], with the gap that makes the bound largest.

    A function is a bump whose Fourier transform has bounded support (Scarlett et al. 2017), made as
    narrow as its norm on the line allows; M of them fit side by side.

    Args:
        horizon: Number of rounds T.
        alpha: Order of the moment, in (0, 1].
        moment: Bound v on E|y|^(1 + alpha).
        norm_bound: Bound B on the norm of the functions.
        lengthscale: Lengthscale of the kernel.
        nu: Smoothness 0.5, 1.5 or 2.5 of the Matérn kernel; infinite for the squared
            exponential.
        arms: About how many arms; the peaks are among them.

    Returns:
        The family.

    Raises:
        InvalidInput: If an argument is out of range, or no two peaks fit beside each other.

    Example:
        >>> family = hard_family(1000, alpha=0.5)
        >>> len(family), round(family.gap, 3), round(family.lower_bound, 1)
        (9, 0.065, 41.2)
    """
    if horizon < 1 or arms < 2:
        raise InvalidInput(f"`horizon` = {horizon}, `arms` = {arms}: expected at least 1 and 2.")
    if not 0.0 < alpha <= 1.0:
        raise InvalidInput(f"`alpha` is {alpha}, expected a number in (0, 1].")
    for name, given in (
        ("moment", moment),
        ("norm_bound", norm_bound),
        ("lengthscale", lengthscale),
        ("nu", nu),
    ):
        if not given > 0.0:
            raise InvalidInput(f"`{name}` is {given}, expected a number above 0.")
    bandwidths = np.geomspace(0.5, 5e3, _GRID) / lengthscale
    norms = np.array([_norm(each, _spectral_density(lengthscale, nu)) for each in bandwidths])
    # Rewards are less than certain at the peak below the smaller bound; |f| <= B as k(x, x) = 1.
    largest = 0.45 * min(norm_bound, moment ** (1.0 / (1.0 + alpha)))
    families = []
    for gap in np.geomspace(1e-6 * largest, largest, _GRID).tolist():
        fitting = bandwidths[2.0 * gap * norms <= norm_bound]
        number = int(fitting.max() / (2.0 * _half_width())) if len(fitting) else 0
        if number > 1:
            size = (moment / (2.0 * gap)) ** (1.0 / alpha)
            seen = _SUM * 2.0 * gap / size * horizon / number
            value = gap * (math.exp(-seen) - 1.0 / number)
            families.append((value, gap, number, size))
    if not families:
        raise InvalidInput(
            f"no two peaks fit for `norm_bound` = {norm_bound} and `lengthscale` = {lengthscale}: "
            "raise the former or lower the latter."
        )
    _, gap, number, size = max(families)
    bandwidth = 2.0 * _half_width() * number
    norm = 2.0 * gap * _norm(bandwidth, _spectral_density(lengthscale, nu))
    each = 2 * max(round((arms / number - 1.0) / 2.0), 1) + 1  # arms of a peak: odd, for its top
    x = (np.arange(number * each) + 0.5) / (number * each)
    space = Arms(torch.from_numpy(x[:, None]))
    kernel = (
        kernels.squared_exponential(lengthscale)
        if math.isinf(nu)
        else kernels.matern(nu, lengthscale)
    )
    functions = tuple(
        KernelFunction(space, kernel, torch.from_numpy(2.0 * gap * values), norm)
        for values in (_bump(bandwidth * (x - (j + 0.5) / number)) for j in range(number))
    )
    return HardFamily(functions, RareRewards(size), alpha, gap, horizon)


def _bump(x: np.ndarray) -> np.ndarray:
    """The inverse Fourier transform of the spectrum, divided by its value at 0."""
    return np.cos(np.outer(x, _FREQUENCIES)) @ _SPECTRUM * _STEP / _MASS


@cache
def _half_width() -> float:
    """Where the bump has half its height, beyond which it stays below."""
    root = optimize.brentq(lambda x: float(_bump(np.array([x]))[0]) - 0.5, 0.1, 6.0)
    return float(root)


def _norm(bandwidth: float, density: Callable[[np.ndarray], np.ndarray]) -> float:
    """The norm of x -> bump(bandwidth x) on the line, (1/2pi) int |G|^2 / K."""
    with np.errstate(all="ignore"):  # NaN where the density is below the smallest float
        transform = 2.0 * math.pi * _SPECTRUM / (_MASS * bandwidth)
        ratio = transform**2 / density(bandwidth * _FREQUENCIES)
        return math.sqrt(float(ratio.sum()) * _STEP * bandwidth / (2.0 * math.pi))


def _spectral_density(lengthscale: float, nu: float) -> Callable[[np.ndarray], np.ndarray]:
    """The Fourier transform of the kernel on the line (Rasmussen and Williams 2006, eq. 4.15)."""
    if math.isinf(nu):
        scale = math.sqrt(2.0 * math.pi) * lengthscale
        return lambda w: scale * np.exp(-0.5 * (lengthscale * w) ** 2)
    rate = 2.0 * nu / lengthscale**2
    scale = 2.0 * math.sqrt(math.pi) * math.gamma(nu + 0.5) / math.gamma(nu) * rate**nu
    return lambda w: scale * (rate + w**2) ** -(nu + 0.5)
