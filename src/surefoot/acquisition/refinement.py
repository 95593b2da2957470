"""Random search around good points where known constraints between coordinates hold."""

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

    def evaluated(function: Score, unit: Floats) -> tuple[Floats, Floats]:
        """Values (r,) and their slopes (r, c) on the unit cube; 1 for an unknown margin."""
        at = (lower + span * torch.from_numpy(unit).to(start)).requires_grad_()
        values = function(start.index_copy(0, columns, at).unsqueeze(0)).reshape(-1)
        values = torch.where(values.isinf(), torch.ones_like(values), values)
        if not values.requires_grad:
            return values.cpu().numpy(), np.zeros((len(values), len(unit)))
        rows = [torch.autograd.grad(one, at, retain_graph=True)[0] * span for one in values]
        slopes = torch.stack(rows).nan_to_num(0.0, 0.0, 0.0)
        return values.detach().cpu().numpy(), slopes.cpu().numpy()

    first = ((start[columns] - lower) / span).cpu().numpy()
    (center, steepness), (_, slopes) = (
        evaluated(one, first) for one in (score, box.region.margins)
    )
    # In units of the slopes at the start, in which the tolerances are.
    size, sizes = (np.where(one.any(-1), np.abs(one).max(-1), 1.0) for one in (steepness, slopes))

    def loss(unit: Floats) -> tuple[float, Floats]:
        values, slopes = evaluated(score, unit)
        return float(((center - values) / size)[0]), -slopes[0] / size

    def margins(unit: Floats) -> Floats:
        return evaluated(box.region.margins, unit)[0] / sizes

    def slopes_of_margins(unit: Floats) -> Floats:
        return evaluated(box.region.margins, unit)[1] / sizes[:, None]

    found = optimize.minimize(
        loss,
        first,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(first),
        constraints={"type": "ineq", "fun": margins, "jac": slopes_of_margins},
        options={"maxiter": steps},
    )
    at = (lower + span * torch.from_numpy(found.x).to(start)).clamp(lower, lower + span)
    return box.snap(start.index_copy(0, columns, at).unsqueeze(0))[0]
