"""Where the Value-at-Risk of a continuous environment is largest, by local neural surrogates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.threads import one_thread
from surefoot.risks.pinball import pinball


@dataclass(frozen=True)
class Surrogate:
    """How surrogates are fitted and climbed: Nguyen et al. 2021, appendix I, where that says.

    `radius` is that of a start's ball, where the box is the unit cube. Each step of a fit draws
    `points` x's from the ball and `samples` z's; there are `fit_steps` of them at first and
    `refit_steps` once a ball has moved. Up to `climb_steps` up the surrogate follow, and there are
    at most `balls` balls. Rates are Adam's, `climb_rate` in radii. Both fall linearly to 0 in a
    ball, and the first step up also from ball to ball, so that balls do not hop about a maximum:
    with the defaults a start gets some nine radii far.
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
            checks.positive(name, getattr(self, name))
        for name in ("points", "samples", "hidden", "fit_steps", "refit_steps", "climb_steps"):
            checks.count(name, getattr(self, name))
        checks.count("balls", self.balls)


@torch.no_grad()
def maximise_var(
    target: Callable[[Tensor, Tensor], Tensor],  # x (b, n, dx), z (k, dz) -> (b, n, k)
    lower: Tensor,  # (dx,)
    upper: Tensor,  # (dx,)
    starts: Tensor,  # (b, dx)
    level: float,
    draw: Callable[[int], Tensor],  # k -> (k, dz)
    generator: torch.Generator,
    settings: Surrogate = Surrogate(),
) -> tuple[Tensor, Tensor]:
    """Ends (b, dx) in the box, one for each start, and the surrogates' VaR there (b,).

    Local neural surrogate optimisation (Nguyen et al. 2021, Algorithm 2): in a ball about x a small
    net g is fitted to the lower level-quantile of target(x, Z) by pinball loss, x climbs g, and
    where x leaves its ball the ball moves to x and g is fitted anew, from the weights it had. Both
    g and x move by Adam. Starts are worked on together: one that leaves its ball waits until every
    other has left its own or come to the end of its climb. `target` is called without gradients,
    for those starts only whose ball is new. The surrogates' values are rough (with the defaults,
    a few hundredths of the spread of the target): choose among the ends by a better estimate.
    Raises `InvalidInput` for a level outside (0, 1).
    """
    level = checks.probability("level", level)
    span = upper - lower
    ends = ((starts - lower) / span).clamp(0.0, 1.0)
    values = torch.zeros_like(ends[:, 0])
    weights = _first_weights(ends, settings.hidden, generator)
    moving = torch.arange(len(ends), device=ends.device)
    with one_thread():
        for ball in range(settings.balls):
            centre = ends[moving]

            def sample(around: Tensor = centre) -> tuple[Tensor, Tensor]:
                local = _in_unit_ball(len(around), settings.points, around, generator)
                x = (around.unsqueeze(1) + settings.radius * local).clamp(0.0, 1.0)
                h = target(lower + span * x, draw(settings.samples))
                return (x - around.unsqueeze(1)) / settings.radius, h

            steps = settings.refit_steps if ball else settings.fit_steps
            # From the old weights in the new ball's coordinates: with the slope of the old ball,
            # and with no unit left behind where it is constant.
            net, middle, scale = _fit(weights[moving], sample, level, steps, settings)
            x, g = _climb(net, centre, 1.0 - ball / settings.balls, settings)
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
    """Nets (b, p) with VaR about middle (b,) + scale (b,) * net, after so many fresh batches."""
    first = torch.cat([sample()[1] for _ in range(4)], -1).flatten(1)
    middle, scale = first.quantile(level, dim=1), first.std(dim=1)
    scale = torch.where(scale > 0.0, scale, 1.0)
    moments = weights.new_zeros(2, *weights.shape)
    for step in range(steps):
        local, h = sample()
        residual = (h - middle[:, None, None]) / scale[:, None, None]
        with torch.enable_grad():
            tracked = weights.detach().requires_grad_()
            residual = residual - _net(tracked, local, settings.hidden).unsqueeze(-1)
            loss = pinball(residual, level).mean((1, 2)).sum()  # nets share nothing
        (slope,) = torch.autograd.grad(loss, tracked)
        rate = settings.fit_rate * (1.0 - step / steps)
        weights = weights - rate * _adam(slope, moments, step)
    return weights, middle, scale


def _climb(
    weights: Tensor, centre: Tensor, eagerness: float, settings: Surrogate
) -> tuple[Tensor, Tensor]:
    """Where each x (b, dx) gets to, up to its first step out of its ball, and its net there."""
    local, moments = torch.zeros_like(centre), centre.new_zeros(2, *centre.shape)
    low, high = -centre / settings.radius, (1.0 - centre) / settings.radius
    for step in range(settings.climb_steps):
        with torch.enable_grad():
            tracked = local.detach().requires_grad_()
            g = _net(weights, tracked.unsqueeze(1), settings.hidden).sum()
        (slope,) = torch.autograd.grad(g, tracked)
        rate = settings.climb_rate * eagerness * (1.0 - step / settings.climb_steps)
        moved = (local + rate * _adam(slope, moments, step)).clamp(low, high)
        local = torch.where(local.norm(dim=-1, keepdim=True) < 1.0, moved, local)
    g = _net(weights, local.unsqueeze(1), settings.hidden).squeeze(1)
    return (centre + settings.radius * local).clamp(0.0, 1.0), g


def _adam(slope: Tensor, moments: Tensor, step: int) -> Tensor:
    """The direction in which Adam goes (Kingma & Ba 2015); `moments` (2, ...) are its memory."""
    moments[0].lerp_(slope, 0.1)
    moments[1].lerp_(slope.square(), 0.001)
    root = (moments[1] / (1.0 - 0.999 ** (step + 1))).sqrt()
    return moments[0] / (1.0 - 0.9 ** (step + 1)) / (root + 1e-8)


def _net(weights: Tensor, inputs: Tensor, hidden: int) -> Tensor:
    """g (b, n) at inputs (b, n, dx), by nets with two hidden layers of sigmoids.

    tanh(u) = 2 sigmoid(2 u) - 1 spans the same functions. Its outputs are centred, without which
    the noise of the level, common to all inputs, soon drives the units to where they are constant.
    """
    shapes = _shapes(inputs.shape[-1], hidden)
    parts = weights.split([rows * columns for rows, columns in shapes], dim=1)
    w1, b1, w2, b2, w3, b3 = (p.unflatten(1, s) for p, s in zip(parts, shapes, strict=True))
    first = torch.baddbmm(b1, inputs, w1).tanh()
    second = torch.baddbmm(b2, first, w2).tanh()
    return torch.baddbmm(b3, second, w3).squeeze(-1)


def _shapes(dimension: int, hidden: int) -> tuple[tuple[int, int], ...]:
    return (dimension, hidden), (1, hidden), (hidden, hidden), (1, hidden), (hidden, 1), (1, 1)


def _first_weights(unit: Tensor, hidden: int, generator: torch.Generator) -> Tensor:
    """Weights (b, p), of the given generator alone; the nets are constant to begin with."""
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
