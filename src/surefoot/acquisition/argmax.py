"""Maximisers of a score: over arms by evaluating all of them, over boxes by multi-start ascent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from surefoot.acquisition.ascent import ascend
from surefoot.acquisition.refinement import polished, refined
from surefoot.beliefs import Candidates
from surefoot.beliefs.band import Band, BandEnds, Symmetric
from surefoot.beliefs.probability import Score
from surefoot.regression.arm_posterior import ArmPosterior
from surefoot.spaces import Arms, Box
from surefoot.spaces.locations import Location, designs_of
from surefoot.types import InvalidInput

_CHUNK = 4096
_MORE = 16  # times as many arms, whose bounds are computed if need be
RAW = 512  # Sobol points, of which the best are starts
_STARTS = 6
_STEPS = 60  # iterations of L-BFGS
_BESIDE = 1e-3  # of a side: what an ascent may miss a kink by
_SWEEPS = 4  # over the levels and choices


@dataclass(eq=False)
class ArmBound:
    """The upper confidence bound on arms whose posterior is tabulated, as a score.

    It knows its own maximiser, which need not evaluate all arms after pulls without rewards, nor
    where even a ceiling of the bounds is lower.

    Args:
        space: The arms.
        band: The band at all of them.
    """

    space: Arms
    band: Band

    def __call__(self, x: Tensor) -> Tensor:
        return self.band.bound(x, 1.0)

    @cached_property
    def ceiling(self) -> Tensor:
        """At least the bounds of all arms (A,), in one process."""
        posterior: ArmPosterior = self.band.posterior  # type: ignore[assignment]
        return self.band.shape.ceiling(posterior, self.band.width)

    def ends(self, arms: Tensor) -> BandEnds:
        """Mean and bounds of some of the arms (n,)."""
        band = self.band.among(arms)
        return band.ends(band.posterior.points)  # type: ignore[attr-defined]

    def best(self, among: Sequence[Location] | None) -> Location:
        """The arm of largest bound, of those allowed."""
        if isinstance(self.band.shape, Symmetric):
            allowed = None if among is None else torch.tensor([location.arm for location in among])
            arm = self.band.posterior.best_arm(self.band.width, allowed)  # type: ignore[attr-defined]
        elif among is None:
            arm = self._best_narrowed()
        else:
            return among[best_row(self, designs_of(among))]
        return self.space.location(self.space.points[arm], arm)

    def _best_narrowed(self) -> int:
        """The arm of largest bound, of those that the posterior bounds most highly."""
        number = 1
        while True:
            number = min(_MORE * number, len(self.space))
            highest, arms = self.ceiling.topk(number)
            upper = self.ends(arms).upper
            best = upper.max()
            if number == len(self.space) or best > highest[-1]:
                return int(arms[upper == best].min())


def away_from_arms(what: str) -> InvalidInput:
    """The error where something needs all arms, whose table is in other processes."""
    return InvalidInput(
        f"{what} evaluates all arms, whose table is `Sharded`, expected the upper confidence "
        "bound alone: pass `UpperConfidenceBound()` as the policy and a width such as "
        "`widths.srinivas()`, without constraints and failed points, or another `storage`."
    )


def maximise(
    score: Score,
    candidates: Candidates,
    generator: torch.Generator,
    among: Sequence[Location] | None = None,
    merit: Score | None = None,
) -> Location:
    """The design of largest score, which on a space without an environment is the location.

    Args:
        score: Function of designs (n, dx) -> (n,), differentiable where they fill a box.
        candidates: What to choose from, by a belief.
        generator: Source of randomness.
        among: The only designs to choose from, None for all of the space.
        merit: Score of the measured designs, of which the best are starts; None for their mean.

    Returns:
        The location of the design, on a `Joint` space one without an environment.

    Example:
        A policy that is greedy on `Arms` and `Box`:

        >>> class Greedy:
        ...     def check(self, space, risk):
        ...         pass
        ...
        ...     def choose(self, belief, among, state):
        ...         candidates = belief.candidates
        ...         return maximise(candidates.mean, candidates, state.generator, among)
    """
    if isinstance(score, ArmBound):
        return score.best(among)
    if among is not None:
        return among[best_row(score, designs_of(among))]
    design = candidates.space.design
    if isinstance(design, Arms):
        if design.is_elsewhere:
            raise away_from_arms("the score")
        arm = (
            int(_checked(score(design.points), design.points).argmax())  # looked up at once
            if candidates.posterior.tabulates(design.points)
            else best_row(score, design.points)
        )
        return design.location(design.points[arm], arm)
    if not design.variables:  # a part of which all variables are given
        return design.location(design.snap(design.lower.unsqueeze(0))[0])
    measured = candidates.designs if merit is not None else candidates.best_designs(_CHUNK)
    anchors = best_of(design.brought_inside(measured), merit or candidates.mean)
    with torch.enable_grad():
        found = best_point(score, design, generator, anchors)
    return design.location(_measured_or(found, candidates.designs, design, score))


def _measured_or(point: Tensor, measured: Tensor, box: Box, score: Score) -> Tensor:
    """A measured point (d,) beside a point that is no worse or differs by rounding; or the point.

    At a kink, which the score of a rough function has at what was measured, an ascent ends close to
    the maximum only; and a measurement there is a replicate.
    """
    same = measured[box.alike(measured, point)]
    if len(same):
        return same[0]
    beside = measured[((measured - point).abs() <= _BESIDE * box.span).all(-1)]
    beside = beside[box.alike(box.snap(beside), beside)]  # not what a rule or a level forbids
    if not len(beside):
        return point
    near = torch.cat([beside, point.unsqueeze(0)])
    return near[best_row(score, near)]


def best_of(points: Tensor, score: Score, number: int = 8) -> Tensor:
    """The points (number, d) of largest score among points (n, d), best first."""
    return points[scores(score, points).argsort(descending=True)[:number]]


def best_row(score: Score, points: Tensor) -> int:
    """Index of the point of largest score; the first of them where there are several."""
    return int(scores(score, points).argmax())


def scores(score: Score, points: Tensor) -> Tensor:
    """Scores (n,) without gradients, in chunks that bound memory."""
    with torch.no_grad():
        if len(points) <= _CHUNK:
            return _checked(score(points), points)
        return torch.cat([_checked(score(part), part) for part in points.split(_CHUNK)])


def _checked(found: object, points: Tensor) -> Tensor:
    """Values (n,) that a score, which may be one of the user's, returned for points (n, d)."""
    if isinstance(found, Tensor) and found.shape == (len(points), 1):
        found = found.squeeze(-1)  # of bounds without an environment
    if not isinstance(found, Tensor) or found.shape != points.shape[:1]:
        what = f"a tensor {tuple(found.shape)}" if isinstance(found, Tensor) else repr(type(found))
        raise InvalidInput(f"the score returned {what}, expected a tensor ({len(points)},).")
    if bool(found.isnan().any()):
        raise InvalidInput(
            f"the score is NaN at {points[found.isnan()][0].tolist()}, expected numbers."
        )
    return found


def best_point(
    score: Score,
    box: Box,
    generator: torch.Generator,
    anchors: Tensor,  # (a, d), promising points
) -> Tensor:
    """The point (d,) of largest score that was found in the box.

    The best of Sobol points, of the anchors and of jittered anchors become starts. Continuous
    coordinates then ascend by L-BFGS, or by random steps where rules join them; levels, choices and
    arcs by trying each in turn. With many variables, the best small change of an anchor. Where no
    score is finite, the best candidate. All points satisfy the rules of the box.
    """
    if box.region.rules:
        anchors = box.snap(anchors)  # what was measured may violate a rule
    if box.has_many_variables:
        near = neighbors(box, anchors, generator)
        return box.on_boundary(near[best_row(score, near)])
    candidates = torch.cat([box.sample(RAW, generator), _around(box, anchors, generator)])
    values = scores(score, candidates)
    chosen = diverse(candidates, values, box, _STARTS)
    if not len(chosen):  # infinite everywhere, as the logarithm of a probability that underflows
        return box.on_boundary(candidates[int(values.argmax())])
    ascended = _ascend(score, box, chosen)
    if box.discrete:
        activated = box.activated(box.snap(ascended), generator)
        searched = box.snap(_coordinate_search(score, box, activated))
        ascended = box.snap(_ascend(score, box, searched))
    if box.region.rules:
        ascended = refined(score, box, torch.cat([ascended, chosen]), generator)
        if box.continuous:
            end = polished(score, box, ascended[best_row(score, ascended)], _STEPS)
            ascended = torch.cat([ascended, end.unsqueeze(0)])
    both = torch.cat([ascended, chosen])
    return box.on_boundary(both[best_row(score, both)])


def _around(box: Box, anchors: Tensor, generator: torch.Generator) -> Tensor:
    """The anchors, and each of them moved by a tenth and by a fiftieth of the box."""
    moved = [anchors]
    for reach in (0.1, 0.1, 0.02, 0.02):
        noise = torch.randn(anchors.shape, dtype=torch.float64, generator=generator)
        moved.append(anchors + reach * box.span * noise.to(anchors.device))
    return box.snap(torch.cat(moved))


def diverse(candidates: Tensor, values: Tensor, box: Box, number: int) -> Tensor:
    """Starts of an ascent: the best candidates, none of them close to a better one.

    Args:
        candidates: Points (n, d) of a box.
        values: Their values (n,).
        box: The box, by whose sides distances are measured.
        number: Number of points.

    Returns:
        At most `number` of the candidates, the best first.

    Example:
        >>> candidates = torch.tensor([[0.1], [0.11], [0.9]], dtype=torch.float64)
        >>> values = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)
        >>> diverse(candidates, values, Box([0.0], [1.0]), 2).flatten().tolist()
        [0.11, 0.9]
    """
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


def _ascend(score: Score, box: Box, starts: Tensor) -> Tensor:
    """All starts at once, in the continuous coordinates; as they are where rules join these."""
    if not box.continuous or box.region.rules:
        return starts
    unit = ascend(
        lambda points, _: score(box.lower + box.span * points),
        (starts - box.lower) / box.span,
        box.continuous,
        _STEPS,
    )
    return (box.lower + box.span * unit).clamp(box.lower, box.upper)


def _coordinate_search(score: Score, box: Box, starts: Tensor) -> Tensor:
    """Coordinate by coordinate, the best level or choice with the others fixed, of all starts."""
    best = starts
    for _ in range(_SWEEPS):
        before = best
        for columns, options in box.discrete:
            tried = best[:, None].repeat(1, len(options), 1)  # (s, o, d)
            tried[..., columns] = options
            # Moved to where the rules hold, a value of one variable takes others along.
            points = (box.snap if box.region.rules else box.active)(tried.flatten(0, 1))
            chosen = scores(score, points).reshape(len(best), -1).argmax(-1)
            best = tried[torch.arange(len(best)), chosen]
        if torch.equal(best, before):
            break
    return best


_CANDIDATES = 2048
_CHANGED = 4.0  # variables of a candidate that differ from its anchor, on average
_REACHES = (0.01, 0.3)  # standard deviations of a step, of the box
_ANYWHERE = 0.5  # share of the changes that are to any value instead


def neighbors(box: Box, anchors: Tensor, generator: torch.Generator) -> Tensor:
    """The anchors, and points that differ from one of them in a few variables.

    In many dimensions the maximiser of an upper confidence bound is a corner far from all data,
    where the posterior is the prior, and a search that follows it never returns. Changes of a few
    variables stay where the data say something, and need no gradients.

    Args:
        box: The space.
        anchors: Points (a, d) of the space.
        generator: Source of randomness.

    Returns:
        Points (n, d) of the space.

    References:
        Regis and Shoemaker 2013, "Combining radial basis function surrogates and dynamic
        coordinate search in high-dimensional expensive black-box optimization"; Hutter et al.
        2011 (SMAC), Section 4.3.
    """

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, dtype=torch.float64, generator=generator).to(anchors.device)

    number, variables = _CANDIDATES, box.variables
    base = anchors[torch.randint(len(anchors), (number,), generator=generator)]
    base = box.activated(base, generator)
    changed = uniform(number, len(variables)) < _CHANGED / len(variables)
    changed[torch.arange(number), (uniform(number) * len(variables)).long()] = True
    anywhere = uniform(number, len(variables)) < _ANYWHERE
    low, high = _REACHES
    reach = low * (high / low) ** uniform(number, 1)
    step = torch.randn(number, box.dimension, dtype=torch.float64, generator=generator)
    near = base + reach * box.span * step.to(anchors.device)
    far = box.stretched(uniform(number, box.dimension))
    points = base.clone()
    for variable, columns in enumerate(variables):
        category = tuple(columns) in box.choices  # of which no value is near
        moved = torch.where(
            anywhere[:, variable, None] | category, far[:, columns], near[:, columns]
        )
        points[:, columns] = torch.where(changed[:, variable, None], moved, base[:, columns])
    return torch.cat([anchors, box.snap(points)])
