"""Where a score is largest: over arms by reading all of them, over boxes from many starts."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from surefoot.acquisition.policy import Score
from surefoot.spaces import Box

_CHUNK = 4096


def best_arm(score: Score, points: Tensor, *, tabulated: bool = False) -> int:
    """Index of the arm of largest score; the first of them where there are several.

    `tabulated` says that the score looks up these very points, so that they are asked all at once.
    """
    if tabulated:
        return int(score(points).argmax())
    return int(scores(score, points).argmax())


def scores(score: Score, points: Tensor) -> Tensor:
    """Scores (n,) without gradients, in chunks that bound memory."""
    with torch.no_grad():
        if len(points) <= _CHUNK:
            return score(points)
        return torch.cat([score(part) for part in points.split(_CHUNK)])


def best_point(
    score: Score,
    box: Box,
    generator: torch.Generator,
    anchors: Tensor,  # (a, d), points worth looking around
    *,
    raw: int = 512,
    starts: int = 6,
    steps: int = 60,
) -> Tensor:
    """The point (d,) of largest score that was found in the box.

    Starts are the best of Sobol points, of the anchors and of jittered anchors; continuous
    coordinates then climb by L-BFGS, listed levels and choices by trying each in turn.
    """
    candidates = torch.cat([box.sample(raw, generator), _around(box, anchors, generator)])
    chosen = _diverse(candidates, scores(score, candidates), box, starts)
    climbed = _climb(score, box, chosen, steps)
    if box.levels or box.choices:
        climbed = torch.stack([_walk(score, box, point) for point in box.snap(climbed)])
        climbed = box.snap(_climb(score, box, climbed, steps))
    both = torch.cat([climbed, chosen])
    return both[best_arm(score, both)]


def _around(box: Box, anchors: Tensor, generator: torch.Generator) -> Tensor:
    """The anchors, and each of them moved by a tenth and by a hundredth of the box."""
    moved = [anchors]
    for reach in (0.1, 0.1, 0.02, 0.02):
        noise = torch.randn(anchors.shape, dtype=torch.float64, generator=generator)
        moved.append(anchors + reach * box.span * noise.to(anchors.device))
    return box.snap(torch.cat(moved))


def _diverse(candidates: Tensor, values: Tensor, box: Box, number: int) -> Tensor:
    """The best candidates, none of them close to a better one."""
    unit = (candidates - box.lower) / box.span
    values = values.clone()
    chosen: list[int] = []
    for _ in range(number):
        best = int(values.argmax())
        if not bool(torch.isfinite(values[best])):
            break
        chosen.append(best)
        values[(unit - unit[best]).square().sum(-1) < 1e-3 * box.dimension] = -torch.inf
    return candidates[chosen]


def _climb(score: Score, box: Box, starts: Tensor, steps: int) -> Tensor:
    """All starts at once by L-BFGS in the coordinates that are continuous, in unit coordinates."""
    from botorch.generation.gen import gen_candidates_scipy

    if not box.continuous:
        return starts
    unit = (starts - box.lower) / box.span
    held = {c: unit[:, c : c + 1] for c in range(box.dimension) if c not in box.continuous}
    with warnings.catch_warnings(record=True):  # of line searches that stop; the best point counts
        points, _ = gen_candidates_scipy(
            unit.unsqueeze(-2),
            _Acquisition(score, box),
            0.0,
            1.0,
            options={"maxiter": steps},
            fixed_features=held or None,
        )
    return (box.lower + box.span * points.squeeze(-2)).clamp(box.lower, box.upper)


class _Acquisition(torch.nn.Module):
    """A score in the form that BoTorch maximises: (b, 1, d) -> (b,), on the unit cube."""

    def __init__(self, score: Score, box: Box) -> None:
        super().__init__()
        self._score = score
        self._box = box

    def forward(self, X: Tensor) -> Tensor:
        return self._score(self._box.lower + self._box.span * X.squeeze(-2))


def _walk(score: Score, box: Box, point: Tensor, sweeps: int = 4) -> Tensor:
    """Coordinate by coordinate, the best level or choice with the others held."""
    best = point
    for _ in range(sweeps):
        before = best
        for coordinate, values in box.levels.items():
            options = best.repeat(len(values), 1)
            options[:, coordinate] = values
            best = options[best_arm(score, options)]
        for group in box.choices:
            options = best.repeat(len(group), 1)
            options[:, list(group)] = torch.eye(len(group), dtype=best.dtype, device=best.device)
            best = options[best_arm(score, options)]
        if torch.equal(best, before):
            break
    return best
