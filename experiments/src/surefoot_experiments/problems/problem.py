"""A test problem: a known function on a box, seen through noise."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from surefoot import InvalidInput
from surefoot_experiments.problems.moments import Bounded, largest_magnitude
from surefoot_experiments.problems.noise import Generator, Noise


@dataclass(frozen=True, eq=False)
class Problem(Bounded):
    """A function on a box to be maximised from noisy measurements.

    `optimum` is the largest value of `function` on the box, so regrets are exact.
    """

    name: str
    function: Callable[[Tensor], Tensor]  # (n, d) -> (n,), without noise
    lower: Tensor  # (d,)
    upper: Tensor  # (d,)
    optimum: float
    noise: Noise

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point, d."""
        return self.lower.shape[0]

    @cached_property
    def largest(self) -> float:  # type: ignore[override]  # worked out when asked for
        """max|f| over the box, as far as a search finds it; at least |optimum|."""
        return max(abs(self.optimum), largest_magnitude(self.function, self.lower, self.upper))

    def value(
        self,
        points: Tensor,  # (n, d)
    ) -> Tensor:  # (n,)
        """The function without noise. Raises `InvalidInput` for a wrong shape."""
        if points.ndim != 2 or points.shape[1] != self.dimension:
            raise InvalidInput(
                f"`points` has shape {tuple(points.shape)}, expected (n, {self.dimension}): "
                "pass `point.unsqueeze(0)` for a single point."
            )
        return self.function(points.to(self.lower))

    def measure(
        self,
        points: Tensor,  # (n, d)
        generator: Generator,
    ) -> Tensor:  # (n,)
        """One noisy measurement of each point. Raises `InvalidInput` for a wrong shape."""
        values = self.value(points)
        return values + self.noise.sample(len(points), generator).to(values)

    def regret(
        self,
        points: Tensor,  # (n, d)
    ) -> Tensor:  # (n,)
        """How far each point's noiseless value lies below the optimum."""
        return self.optimum - self.value(points)
