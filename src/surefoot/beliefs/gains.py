"""Improvement of some designs on another one, by the posterior of the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot._internal.numbers import SAMPLES, TINY
from surefoot._internal.process_settings import with_own_settings
from surefoot.spaces.listed_designs import Designs, located_designs
from surefoot.spaces.representatives import filling
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.beliefs.belief import Belief

_DRAWN = 384  # designs at which they are drawn


@with_own_settings
def expected(belief: Belief, designs: Designs, over: Designs) -> Tensor:
    """Expected improvement of designs on another one, without noise.

    Args:
        belief: The belief.
        designs: Designs (n, dx).
        over: The design (dx,) to improve on.

    Returns:
        Expected improvements (n,) of at least 0, in units of the posterior; they count as far as
        all constraints are likely to hold.

    Raises:
        InvalidInput: If the space has no such designs, or it has an environment.
    """
    _check_no_environment(belief)
    designs = located_designs(belief.space, designs, "designs")
    over = located_designs(belief.space, [over], "over")
    with torch.no_grad():
        at = belief.outcome.integrated.joint(torch.stack([designs, over.expand_as(designs)], 1))
        signs = designs.new_tensor([1.0, -1.0])
        mean = at.mean @ signs
        deviation = ((at.covariance @ signs) @ signs).clamp_min(0.0).sqrt().clamp_min(TINY)
        z = mean / deviation
        density = (-0.5 * z.square()).exp() / (2.0 * torch.pi) ** 0.5
        return deviation * (z * torch.special.ndtr(z) + density) * belief.feasibility(designs)


@with_own_settings
def largest(belief: Belief, over: Designs) -> Tensor:
    """Improvement of the best design on another one, in functions drawn.

    The functions are drawn from the posterior integrated over the hyperparameters, at the likeliest
    and the least known of many designs that fill the space and surround the given one, and of those
    that were measured.

    Args:
        belief: The belief.
        over: The design (dx,) to improve on.

    Returns:
        Shares (1024,) of the magnitude of its predicted value; negative where no other design is
        better. A design counts where the drawn constraints hold. Where it is not known that they
        hold at the given one, there is nothing to improve on yet: all are infinite.

    Raises:
        InvalidInput: If the space has no such design, or it has an environment.

    References:
        Wilson 2024, "Stopping Bayesian optimization with probabilistic regret bounds".
    """
    _check_no_environment(belief)
    over = located_designs(belief.space, [over], "over")
    generator = torch.Generator().manual_seed(0)
    points = filling(belief.space.design, over.cpu(), generator).to(over.device)
    points = torch.cat([points, belief.measured.to(points)])
    if not bool(belief.candidates.is_assured(over)):
        return torch.full((SAMPLES,), torch.inf, dtype=torch.float64)
    predictions = belief.predictions
    with torch.no_grad():
        mean, deviation = predictions.belief.band.predictive.mean_and_deviation(points)
        every, upper = len(points), mean + 3.0 * deviation
        best = torch.cat(
            [upper.topk(min(_DRAWN, every)).indices, mean.topk(min(_DRAWN // 3, every)).indices]
        )
        points = torch.cat([over, points[best.unique()]])
        values = predictions.comparable(belief.outcome.integrated.draws(points, SAMPLES, generator))
        changes = values[1:] - values[:1]
        holds = belief.constraints.draws(points[1:], SAMPLES, generator)
        largest = torch.where(holds, changes, -torch.inf).amax(0).cpu()
        if predictions.is_ratio:
            sign = 1.0 if belief.reported.units.is_increasing else -1.0
            return sign * (sign * largest).expm1()
        value = predictions.at_inputs(over)[0].abs().cpu()
    return (largest / value).nan_to_num(nan=0.0, posinf=torch.inf, neginf=-torch.inf)


def _check_no_environment(belief: Belief) -> None:
    if belief.space.has_environment:
        raise InvalidInput("the space has an environment, over whose risk no gain is known.")
