"""The worst expectation over all laws of Z near a given one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.risks.functionals import Mean
from surefoot.risks.quantiles import TOLERANCE, matching

Divergence = Literal["total-variation", "chi-squared", "kullback-leibler"]
_HALVINGS = 60


@dataclass(frozen=True)
class DistributionallyRobust:
    r"""The least expectation over all laws Q of Z within a divergence of the given law P.

    .. math:: \min_{D(Q, P) \leq r} E_{Z \sim Q}[f(x, Z)]

    For an environment whose law is estimated, or may shift: if the law is within the radius, the
    expectation of f is at least this. It is monotone, so that bounds pass through it, and some
    environment has an interval at least as wide as its own, so that V-UCB has the same regret
    bound for it.

    * "total-variation", :math:`\tfrac12 \sum |q - p|`: the share r of the probability moves from
      the best environments to the worst.
    * "chi-squared", :math:`\sum (q - p)^2 / p`: the mean less :math:`\sqrt{r}` standard deviations,
      as long as that leaves no q below 0; so it trades mean against variance, and is monotone.
    * "kullback-leibler", :math:`\sum q \ln(q / p)`: weights fall exponentially with the value.

    Args:
        radius: Radius r of the ball of laws, above 0; at most 1 for the total variation.
        divergence: Which one.

    Raises:
        InvalidInput: If the radius is out of range, or the divergence is none of these.

    References:
        Kirschner, Bogunovic, Jegelka and Krause 2020, "Distributionally robust Bayesian
        optimization"; Husain, Nguyen and van den Hengel 2022, "Distributionally robust Bayesian
        optimization with phi-divergences"; Duchi and Namkoong 2019, "Variance-based regularization
        with convex objectives", for the chi-squared one; notes/guarantees.md, Proposition 5.

    Example:
        >>> import torch
        >>> values = torch.tensor([3.0, 1.0, 2.0, 4.0])
        >>> DistributionallyRobust(0.25)(values, torch.full((4,), 0.25)).item()
        1.75
    """

    radius: float
    divergence: Divergence = "total-variation"

    def __post_init__(self) -> None:
        checks.choice("divergence", self.divergence, *_WORST)
        allowed = checks.share if self.divergence == "total-variation" else checks.positive
        object.__setattr__(self, "radius", allowed("radius", self.radius))

    @classmethod
    def of_sample(cls, size: int, values: int, delta: float = 0.05) -> DistributionallyRobust:
        r"""The ball in total variation that holds the law of an observed sample.

        With probability :math:`1 - \delta` the law of Z is within
        :math:`\sqrt{\ln((2^k - 2) / \delta) / 2n}` of the frequencies of its k values in n
        independent draws, which are then the weights of the environment.

        Args:
            size: Number n of draws.
            values: Number k of values that Z can have, at least 2.
            delta: Probability that the law is outside.

        Returns:
            The risk.

        Raises:
            InvalidInput: If an argument is out of range.

        References:
            Weissman, Ordentlich, Seroussi, Verdu and Weinberger 2003, "Inequalities for the L1
            deviation of the empirical distribution".

        Example:
            >>> round(DistributionallyRobust.of_sample(500, values=3).radius, 4)
            0.0692
        """
        checks.count("size", size)
        checks.count("values", values, least=2)
        checks.probability("delta", delta)
        events = values * math.log(2.0) + math.log1p(-(2.0 ** (1 - values)))  # ln(2^k - 2)
        return cls(min(math.sqrt((events - math.log(delta)) / (2.0 * size)), 1.0))

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        """Worst expectation (...) of values (..., n); see `Risk`."""
        values = matching(values, weights)
        # The derivative is that of the worst law held fixed (Danskin's theorem).
        return (values * self.worst(values.detach(), weights)).sum(-1)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """Environments whose interval is at least the mean one under the worst law of the lower.

        That law has an expectation of the upper bound that is no less than the worst one, so the
        interval of the risk is at most the mean interval; see `Risk`.
        """
        return Mean().lacing(lower, upper, self.worst(lower, weights))

    def worst(self, values: Tensor, weights: Tensor) -> Tensor:
        """The law of least expectation.

        Args:
            values: Values (..., n) of f(x, z).
            weights: Probabilities (n,) or (..., n).

        Returns:
            Probabilities (..., n), 0 where the weight is.

        Raises:
            InvalidInput: If the shapes do not match.
        """
        values, order = matching(values, weights).sort(dim=-1, stable=True)
        likely = weights.expand(values.shape).gather(-1, order).to(values)
        law = _WORST[self.divergence](values, likely, self.radius)
        return torch.zeros_like(law).scatter(-1, order, law)


def _total_variation(values: Tensor, weights: Tensor, radius: float) -> Tensor:
    """The mass above the quantile of 1 - radius moves to the least value of positive weight."""
    kept = weights.cumsum(-1).clamp_max(1.0 - radius)
    law = kept.diff(dim=-1, prepend=torch.zeros_like(kept[..., :1]))
    least = (weights > 0.0).int().argmax(-1, keepdim=True)
    return law.scatter_add(-1, least, 1.0 - law.sum(-1, keepdim=True))


def _chi_squared(values: Tensor, weights: Tensor, radius: float) -> Tensor:
    """q = p (1 + c (m - f)) / W on the least values, the longest run of them with q >= 0.

    W, m and the variance V are those of the values in the run; (1 + c^2 V) / W = 1 + r.
    """
    centred = values - values[..., :1]
    total = weights.cumsum(-1)
    sure = total.clamp_min(torch.finfo(values.dtype).tiny)
    mean = (weights * centred).cumsum(-1) / sure
    variance = ((weights * centred.square()).cumsum(-1) / sure - mean.square()).clamp_min(0.0)
    spare = (1.0 + radius) * total - 1.0
    flat = variance <= TOLERANCE * centred.square()
    slope = torch.where(flat, 0.0, (spare.clamp_min(0.0) / variance).sqrt())
    allowed = (spare >= -TOLERANCE) & (1.0 + slope * (mean - centred) >= -TOLERANCE)
    allowed &= total > 0.0
    place = torch.arange(values.shape[-1], device=values.device)
    last = torch.where(allowed, place, 0).amax(-1, keepdim=True)
    inside = weights * (place <= last)
    tilt = 1.0 + slope.gather(-1, last) * (mean.gather(-1, last) - centred)
    law = inside * tilt.clamp_min(0.0)
    return law / law.sum(-1, keepdim=True)


def _kullback_leibler(values: Tensor, weights: Tensor, radius: float) -> Tensor:
    """q proportional to p exp(-f / temperature), by bisection for the divergence."""
    centred = values - values.masked_fill(weights == 0.0, torch.inf).amin(-1, keepdim=True)
    spread = centred.masked_fill(weights == 0.0, 0.0).amax(-1, keepdim=True)
    scaled = torch.where(spread > 0.0, centred / spread, 0.0)
    low = torch.zeros_like(spread)  # of ln(1 + 1 / temperature)
    high = torch.full_like(spread, 45.0)  # where rounding ends
    log_weights = weights.log()

    def tilted(at: Tensor) -> tuple[Tensor, Tensor]:
        logits = (log_weights - at.expm1() * scaled).log_softmax(-1)
        law = logits.exp()
        return law, (law * (logits - log_weights).masked_fill(weights == 0.0, 0.0)).sum(-1, True)

    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        inside = tilted(middle)[1] <= radius
        low, high = torch.where(inside, middle, low), torch.where(inside, high, middle)
    return tilted(low)[0]


_WORST: Mapping[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "total-variation": _total_variation,
    "chi-squared": _chi_squared,
    "kullback-leibler": _kullback_leibler,
}
