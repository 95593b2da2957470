"""Local maxima of a score where known constraints between coordinates hold."""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot.acquisition.ascent import ascend
from surefoot.beliefs.probability import Score
from surefoot.spaces import Box

CHANGED = 2.0
"""Variables in which a candidate differs from a good point, on average."""

_UPDATES = 3  # of the multipliers
_SETTLED = 1e-5  # of the cube, by which points then still violate a rule
_PENALTY, _GROWTH = 10.0, 4.0  # of the gradient of the score a unit of the cube, and a round
_KEPT = 3  # points that are refined
_AROUND = 32  # random points around each of them
_REACHES = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)  # standard deviations of these, of the box
_PASSES = 4  # through these where rules have no margins


def ascend_within(score: Score, box: Box, starts: Tensor, steps: int) -> Tensor:
    """Ascend from all starts at once in the continuous coordinates, along boundaries of rules.

    The margins of the rules are constraints of an augmented Lagrangian, with multipliers for each
    start; rules of which only truth values are known do not count.

    Args:
        score: Function of points (n, d) -> (n,).
        box: The space, with rules.
        starts: Points (s, d) of the space.
        steps: Maximum number of iterations, about.

    Returns:
        Points (s, d) of the space, which may score less than the starts.

    References:
        Gramacy et al. 2016, "Modeling an augmented Lagrangian for blackbox constrained
        optimization", for known constraints by quadratic penalties with multipliers.
    """
    span, lower = box.span, box.lower
    points = (starts - lower) / span
    sizes = _slopes(box, points)  # of the margins, (r,)
    penalty = _PENALTY * _steepness(score, box, points)[:, None]  # (s, 1)
    multipliers = torch.zeros(len(starts), len(sizes)).to(starts)

    def distances(unit: Tensor) -> Tensor:  # (b, d) -> (b, r), to the boundaries
        margins = box.region.margins(lower + span * unit) / sizes
        return torch.where(margins.isfinite(), margins, torch.ones_like(margins))

    for limit in (steps // 2, *([steps // 4] * _UPDATES)):

        def value(
            unit: Tensor, start: Tensor, held: Tensor = multipliers, weight: Tensor = penalty
        ) -> Tensor:
            excess = (held[start] - weight[start] * distances(unit)).clamp_min(0.0)
            loss = (excess.square() / (2.0 * weight[start])).sum(-1)
            return score(lower + span * unit) - loss

        points = ascend(value, points, box.continuous, limit)
        with torch.no_grad():
            before, distance = multipliers, distances(points)
            multipliers = (multipliers - penalty * distance).clamp_min(0.0)
        if bool(((multipliers - before).abs() <= _SETTLED * penalty).all()):
            break
        penalty = _GROWTH * penalty
    return box.snap((lower + span * points).clamp(lower, box.upper))


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
        followed = box.region.margins(best).isfinite().any(0).all()  # by the ascent
        for reach in _REACHES * (1 if bool(followed) else _PASSES):
            number = len(best) * _AROUND
            noise = torch.randn(number, box.dimension, dtype=torch.float64, generator=generator)
            changed = torch.rand(number, len(box.variables), generator=generator)
            mask = torch.zeros_like(noise)
            for variable, columns in enumerate(box.variables):
                share = CHANGED / len(box.variables)
                mask[:, columns] = (changed[:, variable, None] < share).double()
            step = (reach * mask * noise).to(best) * box.span
            tried = box.snap(best.repeat_interleave(_AROUND, 0) + step)
            several = torch.cat([best[:, None], tried.reshape(len(best), _AROUND, -1)], 1)
            values = score(several.flatten(0, 1)).reshape(len(best), -1)
            best = several[torch.arange(len(best)), values.argmax(-1)]
    return best


def _slopes(box: Box, unit: Tensor) -> Tensor:
    """Norms of the gradients of the margins (r,) on the unit cube, averaged over points (s, d)."""
    at = unit.detach().clone().requires_grad_()
    margins = box.region.margins(box.lower + box.span * at)
    sizes = []
    for rule in range(margins.shape[1]):
        margin, size = margins[:, rule], unit.new_ones(())
        if margin.requires_grad:
            finite = torch.where(margin.isfinite(), margin, torch.zeros_like(margin))
            (slope,) = torch.autograd.grad(finite.sum(), at, retain_graph=True, allow_unused=True)
            if slope is not None and bool((slope != 0.0).any()):
                size = slope.norm(dim=-1).mean()
        sizes.append(size)
    return torch.stack(sizes)


def _steepness(score: Score, box: Box, unit: Tensor) -> Tensor:
    """Norms of the gradients of a score (s,) on the unit cube, the largest where one is 0."""
    at = unit.detach().clone().requires_grad_()
    values = score(box.lower + box.span * at)
    if not values.requires_grad:
        return torch.ones_like(unit[:, 0])
    (slope,) = torch.autograd.grad(values.sum(), at)
    sizes = slope.norm(dim=-1)
    largest = sizes.max()
    floor = largest if float(largest) > 0.0 else torch.ones_like(largest)
    return torch.where(sizes > 1e-3 * floor, sizes, floor)
