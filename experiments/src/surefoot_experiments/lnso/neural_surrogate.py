"""Local neural surrogate optimisation of the Value-at-Risk over a continuous environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from surefoot_experiments.baselines.arguments import count, positive, probability


@dataclass(frozen=True)
class Surrogate:
    """How surrogates are fitted and ascended.

    A surrogate is a network fitted in a ball about a design; the ball moves with the design. Rates
    are Adam's and fall linearly to 0 within a ball. The first step up also falls from ball to
    ball, so that balls do not oscillate about a maximum: with the defaults a start can travel
    about nine radii.

    Args:
        radius: Radius of a ball, where the box is the unit cube.
        points: Number of x's drawn from the ball in each step of a fit.
        samples: Number of z's drawn in each step of a fit.
        hidden: Units in each of the two hidden layers.
        fit_steps: Steps of the first fit.
        refit_steps: Steps of a fit after the ball has moved.
        fit_rate: Learning rate of a fit.
        climb_steps: Most steps of ascent in a ball.
        climb_rate: Step size of the ascent, in radii.
        balls: Most balls.

    Raises:
        InvalidInput: If a rate or the radius is not positive, or a number not a positive integer.

    References:
        Nguyen et al. 2021, Appendix I, for the values that it states.
    """

    radius: float = 0.1
    points: int = 50
    samples: int = 10
    hidden: int = 30
    fit_steps: int = 250
    refit_steps: int = 100
    fit_rate: float = 0.02
    climb_steps: int = 120
    climb_rate: float = 0.06
    balls: int = 12

    def __post_init__(self) -> None:
        for name in ("radius", "fit_rate", "climb_rate"):
            positive(name, getattr(self, name))
        for name in ("points", "samples", "hidden", "fit_steps", "refit_steps", "climb_steps"):
            count(name, getattr(self, name))
        count("balls", self.balls)


@torch.no_grad()
def maximise_var(
    target: Callable[[Tensor, Tensor], Tensor],
    lower: Tensor,
    upper: Tensor,
    starts: Tensor,
    level: float,
    draw: Callable[[int], Tensor],
    generator: torch.Generator,
    settings: Surrogate = Surrogate(),
) -> tuple[Tensor, Tensor]:
    """Maximise VaR_level(target(x, Z)) over a box, from several starts at once.

    In a ball about x, a small network g is fitted to the lower quantile of target(x, Z) by pinball
    loss, and x ascends g. When x leaves its ball, the ball is centred at x and g refitted from its
    weights. All starts are batched: one that leaves its ball is paused until every other has left
    its own or finished its ascent. The values of g are rough (with the defaults, a few hundredths
    of the spread of the target): choose among the ends by a better estimate.

    Args:
        target: Function of x (b, n, dx), z (k, dz) -> (b, n, k), called without gradients and
            only for the starts whose ball is new.
        lower: Lower bounds of the box (dx,).
        upper: Upper bounds of the box (dx,).
        starts: Designs to start from (b, dx).
        level: Level of the lower tail, in (0, 1).
        draw: Function k -> values of Z (k, dz).
        generator: Source of randomness.
        settings: How networks are fitted and ascended.

    Returns:
        The ends (b, dx), and the networks' VaR there (b,).

    Raises:
        InvalidInput: If `level` is outside (0, 1).

    References:
        Nguyen et al. 2021, Algorithm 2 (LNSO).
    """
    level = probability("level", level)
    span = upper - lower
    ends = ((starts - lower) / span).clamp(0.0, 1.0)
    values = torch.zeros_like(ends[:, 0])
    weights = _first_weights(ends, settings.hidden, generator)
    moving = torch.arange(len(ends), device=ends.device)
    for ball in range(settings.balls):
        centre = ends[moving]

        def sample(around: Tensor = centre) -> tuple[Tensor, Tensor]:
            local = _in_unit_ball(len(around), settings.points, around, generator)
            x = (around.unsqueeze(1) + settings.radius * local).clamp(0.0, 1.0)
            h = target(lower + span * x, draw(settings.samples))
            return (x - around.unsqueeze(1)) / settings.radius, h

        steps = settings.refit_steps if ball else settings.fit_steps
        # The old weights in the new ball's coordinates keep the slope of the old ball, and no
        # unit saturates.
        net, middle, scale = _fit(weights[moving], sample, level, steps, settings)
        x, g = _ascend(net, centre, 1.0 - ball / settings.balls, settings)
        weights[moving], ends[moving], values[moving] = net, x, middle + scale * g
        moving = moving[(x - centre).norm(dim=-1) >= settings.radius]
        if len(moving) == 0:
            break
    return (lower + span * ends).clamp(lower, upper), values


def _fit(
    weights: Tensor,  # (b, p)
    sample: Callable[[], tuple[Tensor, Tensor]],
    level: float,
    steps: int,
    settings: Surrogate,
) -> tuple[Tensor, Tensor, Tensor]:
    """Weights (b, p), middle (b,) and scale (b,): VaR is about middle + scale * net."""
    first = torch.cat([sample()[1] for _ in range(4)], -1).flatten(1)
    middle, scale = first.quantile(level, dim=1), first.std(dim=1)
    scale = torch.where(scale > 0.0, scale, 1.0)
    moments = weights.new_zeros(2, *weights.shape)
    for step in range(steps):
        local, h = sample()
        net = _Net.at(weights, local, settings.hidden)
        wanted = (h - middle[:, None, None]) / scale[:, None, None]
        below = (wanted < net.values.unsqueeze(-1)).to(wanted).mean(-1)
        # The slope of the mean pinball loss, of which each net has its own.
        slope = net.slope_in_weights((below - level) / settings.points)
        rate = settings.fit_rate * (1.0 - step / steps)
        weights = weights - rate * _adam(slope, moments, step)
    return weights, middle, scale


def _ascend(
    weights: Tensor, centre: Tensor, eagerness: float, settings: Surrogate
) -> tuple[Tensor, Tensor]:
    """Each x (b, dx) after its ascent, or its first step out of its ball, and its net there."""
    local, moments = torch.zeros_like(centre), centre.new_zeros(2, *centre.shape)
    low, high = -centre / settings.radius, (1.0 - centre) / settings.radius
    for step in range(settings.climb_steps):
        slope = _Net.at(weights, local.unsqueeze(1), settings.hidden).slope_in_inputs.squeeze(1)
        rate = settings.climb_rate * eagerness * (1.0 - step / settings.climb_steps)
        moved = (local + rate * _adam(slope, moments, step)).clamp(low, high)
        local = torch.where(local.norm(dim=-1, keepdim=True) < 1.0, moved, local)
    g = _Net.at(weights, local.unsqueeze(1), settings.hidden).values.squeeze(1)
    return (centre + settings.radius * local).clamp(0.0, 1.0), g


def _adam(slope: Tensor, moments: Tensor, step: int) -> Tensor:
    """The direction in which Adam goes (Kingma & Ba 2015); updates `moments` (2, ...)."""
    moments[0].lerp_(slope, 0.1)
    moments[1].lerp_(slope.square(), 0.001)
    root = (moments[1] / (1.0 - 0.999 ** (step + 1))).sqrt()
    return moments[0] / (1.0 - 0.9 ** (step + 1)) / (root + 1e-8)


class _Net(NamedTuple):
    """Nets with two hidden layers of sigmoids at some inputs, with what their slopes need.

    tanh(u) = 2 sigmoid(2 u) - 1 spans the same functions with centred outputs; otherwise the noise
    of the level, common to all inputs, soon saturates the units. The slopes are written out:
    automatic differentiation of layers this small takes twice as long.
    """

    inputs: Tensor  # (b, n, dx)
    first: Tensor  # (b, n, hidden)
    second: Tensor  # (b, n, hidden)
    values: Tensor  # (b, n)
    w1: Tensor
    w2: Tensor
    w3: Tensor

    @classmethod
    def at(cls, weights: Tensor, inputs: Tensor, hidden: int) -> _Net:
        """The nets of weights (b, p) at inputs (b, n, dx)."""
        shapes = _shapes(inputs.shape[-1], hidden)
        parts = weights.split([rows * columns for rows, columns in shapes], dim=1)
        w1, b1, w2, b2, w3, b3 = (
            p.view(-1, *shape) for p, shape in zip(parts, shapes, strict=True)
        )
        first = torch.baddbmm(b1, inputs, w1).tanh_()
        second = torch.baddbmm(b2, first, w2).tanh_()
        values = torch.baddbmm(b3, second, w3).squeeze(-1)
        return cls(inputs, first, second, values, w1, w2, w3)

    def slope_in_weights(self, by_value: Tensor) -> Tensor:
        """Derivative (b, p) of a loss in the weights, from that in the values (b, n)."""
        last = by_value.unsqueeze(-1)
        at_first, at_second = self._slopes(last)
        layers = ((self.inputs, at_first), (self.first, at_second), (self.second, last))
        slopes = ((before.mT @ after, after.sum(1)) for before, after in layers)
        return torch.cat([part.flatten(1) for pair in slopes for part in pair], 1)

    @property
    def slope_in_inputs(self) -> Tensor:
        """Derivative (b, n, dx) of each value in its input."""
        return self._slopes(torch.ones_like(self.values).unsqueeze(-1))[0] @ self.w1.mT

    def _slopes(self, last: Tensor) -> tuple[Tensor, Tensor]:
        """Derivatives (b, n, hidden) in what enters the first and the second layer's units."""
        second = torch.addcmul(last * self.w3.mT, last * self.w3.mT, self.second.square(), value=-1)
        back = second @ self.w2.mT
        return torch.addcmul(back, back, self.first.square(), value=-1), second


def _shapes(dimension: int, hidden: int) -> tuple[tuple[int, int], ...]:
    return (dimension, hidden), (1, hidden), (hidden, hidden), (1, hidden), (hidden, 1), (1, 1)


def _first_weights(unit: Tensor, hidden: int, generator: torch.Generator) -> Tensor:
    """Initial weights (b, p), with which the nets are constant."""
    reaches = (1.0, 0.5, hidden**-0.5, 0.3, 0.0, 0.0)
    parts = [
        reach * (2.0 * torch.rand(len(unit), r * c, dtype=unit.dtype, generator=generator) - 1.0)
        for (r, c), reach in zip(_shapes(unit.shape[1], hidden), reaches, strict=True)
    ]
    return torch.cat(parts, dim=1).to(unit.device)


def _in_unit_ball(balls: int, points: int, like: Tensor, generator: torch.Generator) -> Tensor:
    """Points (balls, points, dx) drawn uniformly from unit balls."""
    dx = like.shape[-1]
    normal = torch.randn(balls, points, dx, dtype=like.dtype, generator=generator)
    share = torch.rand(balls, points, 1, dtype=like.dtype, generator=generator) ** (1.0 / dx)
    return (normal / normal.norm(dim=-1, keepdim=True) * share).to(like.device)
