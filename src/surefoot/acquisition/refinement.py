"""Search around good points where known constraints between coordinates hold."""

from __future__ import annotations

import numpy as np
import torch
from scipy import optimize
from torch import Tensor

from surefoot._internal.linalg import Floats
from surefoot.beliefs.probability import Score
from surefoot.spaces import Box

CHANGED = 2.0
"""Variables in which a candidate differs from a good point, on average."""

_KEPT = 3  # points that are refined
_AROUND = 32  # random points around each of them
_REACHES = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)  # standard deviations of these, of the box
_PASSES = 2  # through these


def stepped(
    points: Tensor, box: Box, reach: Tensor | float, share: float, generator: torch.Generator
) -> Tensor:
    """Points (n, d) moved by random steps in a random part of the variables, within a box.

    Args:
        points: Points (n, d).
        box: The box.
        reach: Standard deviation of a step, of the box; one, or (n, 1).
        share: Probability with which a variable changes.
        generator: Source of randomness.
    """
    noise = torch.randn(points.shape, dtype=torch.float64, generator=generator)
    changed = torch.rand(len(points), len(box.variables), generator=generator) < share
    for variable, columns in enumerate(box.variables):
        noise[:, columns] *= changed[:, variable, None]
    return box.snap(points + (reach * noise).to(points) * box.span)


def refined(score: Score, box: Box, points: Tensor, generator: torch.Generator) -> Tensor:
    """The best of points and of random points around them, ever closer, where the rules hold.

    It finds what a gradient does not: exchanges between discrete parameters, values that are
    rounded near a boundary, and boundaries of rules that have no margins.

    Args:
        score: Function of points (n, d) -> (n,).
        box: The space, with rules.
        points: Points (n, d) of the space.
        generator: Source of randomness.

    Returns:
        Points (k, d) of the space.
    """
    with torch.no_grad():
        best = points[score(points).argsort(descending=True)[:_KEPT]]
        for reach in _REACHES * _PASSES:
            several = best.repeat_interleave(_AROUND, 0)
            tried = stepped(several, box, reach, CHANGED / len(box.variables), generator)
            several = torch.cat([best[:, None], tried.reshape(len(best), _AROUND, -1)], 1)
            values = score(several.flatten(0, 1)).reshape(len(best), -1)
            best = several[torch.arange(len(best)), values.argmax(-1)]
    return best


def polished(score: Score, box: Box, start: Tensor, steps: int) -> Tensor:
    """A local maximum from a start, along boundaries of rules whose margins have slopes.

    By sequential quadratic programming in the continuous coordinates (Kraft 1988).

    Args:
        score: Function of points (n, d) -> (n,).
        box: The space, with rules.
        start: Point (d,) of the space.
        steps: Maximum number of iterations.

    Returns:
        A point (d,) of the space, which may score less than the start.
    """
    columns = torch.tensor(box.continuous, device=start.device)
    lower, span = box.lower[columns], box.span[columns]

    def evaluated(function: Score, unit: Floats) -> tuple[Tensor, Tensor]:
        """The coordinates (c,) that change, and the values (r,) there."""
        at = (lower + span * torch.from_numpy(unit).to(start)).requires_grad_()
        return at, function(start.index_copy(0, columns, at).unsqueeze(0)).reshape(-1)

    def slopes(at: Tensor, values: Tensor) -> Floats:
        """Slopes (r, c) of the values on the unit cube, 0 where they are not finite."""
        if not values.requires_grad:
            return np.zeros((len(values), len(at)))
        rows = [torch.autograd.grad(one, at, retain_graph=True)[0] * span for one in values]
        return torch.stack(rows).nan_to_num(0.0, 0.0, 0.0).cpu().numpy()

    first = ((start[columns] - lower) / span).cpu().numpy()
    known = evaluated(score, first)
    # In units of the slopes at the start, in which the tolerances are.
    center, size = known[1].item(), float(_sizes(slopes(*known))[0])
    sizes = _sizes(slopes(*evaluated(box.region.margins, first)))

    def loss(unit: Floats) -> tuple[float, Floats]:
        at, values = evaluated(score, unit)
        return (center - values.item()) / size, -slopes(at, values)[0] / size

    def margins(unit: Floats) -> Floats:
        with torch.no_grad():
            values = evaluated(box.region.margins, unit)[1]
        return torch.where(values.isinf(), 1.0, values).cpu().numpy() / sizes  # of a mere sign: 1

    found = optimize.minimize(
        loss,
        first,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(first),
        constraints={
            "type": "ineq",
            "fun": margins,
            "jac": lambda unit: slopes(*evaluated(box.region.margins, unit)) / sizes[:, None],
        },
        options={"maxiter": steps},
    )
    at = (lower + span * torch.from_numpy(found.x).to(start)).clamp(lower, lower + span)
    return box.snap(start.index_copy(0, columns, at).unsqueeze(0))[0]


def _sizes(slopes: Floats) -> Floats:
    """Largest component (r,) of slopes (r, c), 1 where there are none."""
    return np.where(slopes.any(-1), np.abs(slopes).max(-1), 1.0)
