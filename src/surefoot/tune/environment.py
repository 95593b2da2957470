"""From the `[environment]` of a study file to a random environment."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from surefoot.integrations.optuna import StudyEnvironment
from surefoot.spaces import ContinuousEnvironment, FiniteEnvironment
from surefoot.tune.environment_section import EnvironmentSection, ListedVariable, Variable

_UP_TO = (  # probabilities between cells, up to the median; the rest are their mirror image
    *(0.0, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1),
    *(0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
)
_WITHIN = 256  # quantiles that a cell's mean is taken of
_AT_AN_END = 1e-9  # the weight of either end, there only because the worst case may be


def environment_of(section: EnvironmentSection) -> StudyEnvironment:
    """The variables, independent of each other.

    Lists give the grid of all their combinations; distributions stay continuous, but beside a list
    each stands for 32 values in that grid: means of cells of it, and its ends.
    """
    variables = section.variables
    listed = {name: one for name, one in variables.items() if isinstance(one, ListedVariable)}
    densities = [one.density() for one in variables.values() if not isinstance(one, ListedVariable)]
    if not listed:
        continuous = ContinuousEnvironment(
            densities[0] if len(densities) == 1 else Beside(densities),
            [one.examples()[0] for one in variables.values()],
            [one.examples()[1] for one in variables.values()],
        )
        return StudyEnvironment(list(variables), continuous, section.observed)
    axes = [_axis(one) for one in variables.values()]
    points = list(itertools.product(*(values for values, _ in axes)))
    weights = [math.prod(shares) for shares in itertools.product(*(shares for _, shares in axes))]
    return StudyEnvironment(
        list(variables),
        FiniteEnvironment(points, weights),
        section.observed,
        integer=[name for name, one in listed.items() if all(type(v) is int for v in one.values)],
        rounded=[name for name in variables if name not in listed],
    )


def _axis(variable: Variable) -> tuple[list[float], list[float]]:
    """Values of a variable and how likely each is."""
    if isinstance(variable, ListedVariable):
        return [float(value) for value in variable.values], variable.shares
    middles, cells = _cells(variable.density())
    values = [variable.low, *middles, variable.high]
    return values, [_AT_AN_END, *cells, _AT_AN_END]


def _cells(density: Distribution) -> tuple[list[float], list[float]]:
    """The mean of a distribution within each of its cells, and the cells' probabilities.

    So the mean over the cells is the distribution's, and the mean of a tail nearly so; cells are
    finer towards the ends, for the sake of small levels.
    """
    half = torch.tensor(_UP_TO, dtype=torch.float64)
    edges = torch.cat([half, 1.0 - half[:-1].flip(0)])
    shares = edges.diff()
    within = (torch.arange(_WITHIN, dtype=torch.float64) + 0.5) / _WITHIN
    marks = edges[:-1, None] + shares[:, None] * within
    means = density.icdf(marks.reshape(-1, 1)).reshape(marks.shape).mean(-1)
    return means.tolist(), shares.tolist()


class Beside(Distribution):
    """Independent variables beside each other, each a distribution with batch shape (1,)."""

    def __init__(self, parts: Sequence[Distribution]) -> None:
        super().__init__(Size([len(parts)]), validate_args=False)
        self.parts = list(parts)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        """Anywhere; who uses it knows the bounds."""
        return constraints.real

    def sample(self, sample_shape: Size | Sequence[int] = ()) -> Tensor:
        """Values (..., dz)."""
        return torch.cat([part.sample(Size(sample_shape)) for part in self.parts], -1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Log densities (..., dz) of values (..., dz)."""
        columns = zip(self.parts, value.split(1, -1), strict=True)
        return torch.cat([part.log_prob(column) for part, column in columns], -1)

    def icdf(self, value: Tensor) -> Tensor:
        """Quantiles (..., dz) at shares (..., dz)."""
        columns = zip(self.parts, value.split(1, -1), strict=True)
        return torch.cat([part.icdf(column) for part, column in columns], -1)
