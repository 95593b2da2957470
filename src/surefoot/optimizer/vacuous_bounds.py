"""Warning of bounds with a theorem that are too wide to be of use."""

from __future__ import annotations

import math

import torch

from surefoot import kernels
from surefoot._internal.numbers import ROUNDING
from surefoot._internal.user_warnings import warn
from surefoot.hyperparameters import GivenHyperparameters
from surefoot.models.bands import BandRule
from surefoot.models.model import Model
from surefoot.widths.assumptions import Theorem

_LONG, _FEW = 10_000, 512  # rounds without a horizon, and points that are compared


def warn_if_vacuous(model: Model) -> None:
    """Warn of bounds that cannot separate any two points within the horizon.

    After T rounds at a single point its deviation is sqrt(k ridge / (k T + ridge)), and no point
    has less. Bounds of other regularisations are those of a function that is 0 there. Without a
    horizon a run of 10,000 rounds is supposed.
    """
    rule, width = model.hyperparameters, model.width
    if not (isinstance(rule, GivenHyperparameters) and isinstance(width, Theorem)):
        return
    points = model.space.examples(_FEW, torch.Generator().manual_seed(0))
    rows = torch.linspace(0, len(points) - 1, min(len(points), _FEW)).round().long()
    points = points[rows.to(points.device)]  # neighbours may be alike, as on a sorted line
    with torch.no_grad():
        gram = kernels.block(rule.kernel, points, points)
    largest, rounds = float(gram.diagonal().max()), width.horizon or _LONG
    squared = float((gram.diagonal()[:, None] + gram.diagonal()[None] - 2.0 * gram).max())
    if squared <= ROUNDING * largest:  # a single arm, or arms of which the function is the same
        return
    progress = width.at_one_point(rounds, largest, rule.ridge)
    most = min(width.norm(progress) * math.sqrt(squared), 2.0 * width.limit(progress))
    squares = {rule.ridge: width(progress) ** 2}
    if isinstance(width, BandRule):
        for other in width.ridges(rule.ridge):
            squares[other] = width.scale**2 * width.squared_width(progress, other, 0.0)
    variances = [square * a * largest / (rounds * largest + a) for a, square in squares.items()]
    reach = math.sqrt(min(variances))
    if 2.0 * reach > most:
        warn(
            f"the bounds cannot separate any two points in {rounds:,} rounds: they are still "
            f"+-{reach:.3g} wide where all rounds are at one point, and the function differs by at "
            f"most {most:.3g}. Intervals say nothing for so long, and queries that are chosen by "
            "these bounds alone are hardly better than random: pass a smaller `scale`, for which "
            "nothing is proved, or use `robust_ucb`.",
        )
