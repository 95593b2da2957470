"""A lacing value of a continuous environment, by descent from many starts at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from surefoot.acquisition import Lacing, ScorePolicy
from surefoot.types import InvalidInput
from surefoot_experiments.baselines.arguments import count, positive

_LAST_STEP = 1e-3  # of the first
_BEYOND = 1.1  # times the way to where the violation would be 0 if it went on as here


@dataclass(frozen=True, eq=False)
class LacingValue:
    """Result of `search`.

    Args:
        point: A lacing value (dz,) if `found`, else the z with the least violation.
        found: Whether it is a lacing value.
        violation: Sum of the two violations of the condition there, in the unit of the bounds.
    """

    point: Tensor
    found: bool
    violation: float


def search(
    lower: Callable[[Tensor], Tensor],
    upper: Callable[[Tensor], Tensor],
    lower_var: float,
    upper_var: float,
    log_density: Callable[[Tensor], Tensor] | None,
    starts: Tensor,
    low: Tensor,
    high: Tensor,
    generator: torch.Generator,
    *,
    lacing: Lacing = "prob",
    steps: int = 120,
    reach: float = 0.05,
) -> LacingValue:
    """Find a z with lower(z) <= lower_var and upper(z) >= upper_var.

    "prob" returns the one of largest density among all z visited, by descent on
    ReLU(upper_var - upper) + ReLU(lower - lower_var) - 1{lacing} p. "unif" descends on the first
    two terms only until some z is lacing, and picks one of these at random: uniformly from all
    lacing values if the starts are uniform and hit any.

    If the two VaR were computed from the starts, at least one of these is a lacing value (Theorem
    1). Otherwise lacing values need not fill a region: as the level goes to 0, or where upper =
    lower, they are level sets, which are approached but not hit (`found` is False). They may also
    be narrow, curved and in several pieces: some 32 starts are advisable, and cost little more
    than one.

    Where the first two terms are above 0 the third is 0, and vice versa. Steps therefore follow the
    gradient of the active term (for p that of log p, which has its direction), and their length is
    a share of the box, not the gradient's: `reach` at first, falling geometrically. The result
    does not depend on the unit of p relative to that of the bounds.

    Args:
        lower: Lower bound, z (m, dz) -> (m,), differentiable.
        upper: Upper bound, z (m, dz) -> (m,), differentiable.
        lower_var: Value at risk of the lower bound.
        upper_var: Value at risk of the upper bound.
        log_density: Log density of Z, z (m, dz) -> (m,), differentiable; None with "unif".
        starts: Where to start from (m, dz).
        low: Finite lower bounds of z (dz,).
        high: Finite upper bounds of z (dz,).
        generator: Source of randomness.
        lacing: "prob" or "unif"; "prob-random" is "prob" here, where no two densities are equal.
        steps: Number of steps.
        reach: Length of the first step, as a share of the box.

    Raises:
        InvalidInput: If `lacing` is neither, or the density is missing.

    References:
        Nguyen et al. 2021, Definition 1, Section 3.5 and eq. 8.
    """
    ScorePolicy(lacing=lacing)  # which refuses other names
    by_density = lacing != "unif"
    if by_density and log_density is None:
        raise InvalidInput(f"lacing={lacing!r} needs a `log_density`: pass one, or lacing='unif'.")
    steps, reach = count("steps", steps), positive("reach", reach)
    span, z = high - low, starts.clamp(low, high)
    unknown = torch.full_like(z[:, 0], torch.inf)
    edge = torch.zeros_like(z)  # outward normals of those that violated the condition one step ago
    best = _Candidates(z, unknown < 0.0, -unknown, unknown)
    for step in range(steps + 1):
        with torch.enable_grad():
            tracked = z.detach().requires_grad_()
            missing = upper_var - upper(tracked), lower(tracked) - lower_var
            violation = missing[0].relu() + missing[1].relu()
            laces = violation <= 0.0
            loss = violation
            if log_density is not None:
                log_p = log_density(tracked)
                never = log_p == -torch.inf
                laces = laces & ~never
                violation = violation.masked_fill(never, torch.inf)
                loss = torch.where(laces, -log_p, loss) if by_density else loss
            (slope,) = torch.autograd.grad(loss.sum(), tracked)
        violation = violation.detach()
        score = torch.where(laces, -loss.detach(), -violation)
        best = best.better_of(_Candidates(z, laces, score, violation))
        if step == steps or (lacing == "unif" and bool(best.laces.any())):
            break
        slope = _inward(slope * span, z <= low, z >= high)
        length = slope.norm(dim=-1, keepdim=True)
        toward = -_unit(slope)
        # One that has just become a lacing value moves along the edge, not out again.
        toward = _unit(toward - edge * (toward * edge).sum(-1, keepdim=True).relu())
        edge = torch.where(laces.unsqueeze(-1), 0.0, _unit(slope))
        # One that is none moves at most to where it becomes one (Polyak's step, for minimum 0).
        share = torch.full_like(length, reach * _LAST_STEP ** (step / steps))
        in_sight = _BEYOND * violation.unsqueeze(-1) / length.clamp_min(1e-150)
        share = torch.where(laces.unsqueeze(-1), share, torch.minimum(4.0 * share, in_sight))
        z = (z + span * share * toward).clamp(low, high)
    return best.pick(lacing, generator)


class _Candidates(NamedTuple):
    """One z for each start."""

    points: Tensor  # (m, dz)
    laces: Tensor  # (m,)
    score: Tensor  # (m,), comparable among lacing values, and among the others
    violation: Tensor  # (m,)

    def better_of(self, other: _Candidates) -> _Candidates:
        """For each start the better of the two z's."""
        better = (other.laces & ~self.laces) | (
            (other.laces == self.laces) & (other.score > self.score)
        )
        points = torch.where(better.unsqueeze(-1), other.points, self.points)
        rest = (torch.where(better, b, a) for a, b in zip(self[1:], other[1:], strict=True))
        return _Candidates(points, *rest)

    def pick(self, lacing: str, generator: torch.Generator) -> LacingValue:
        """The best one, or a random lacing value."""
        score, found = self.score, bool(self.laces.any())
        if found and lacing == "unif":
            score = torch.rand(len(score), generator=generator).to(score)
        if found:
            score = score.masked_fill(~self.laces, -torch.inf)
        chosen = int(score.argmax())
        return LacingValue(self.points[chosen].clone(), found, float(self.violation[chosen]))


def _inward(slope: Tensor, at_low: Tensor, at_high: Tensor) -> Tensor:
    """The slopes (m, dz) without components that lead out of the box."""
    slope = slope.nan_to_num(0.0, 0.0, 0.0)
    return slope.masked_fill((at_low & (slope > 0.0)) | (at_high & (slope < 0.0)), 0.0)


def _unit(vectors: Tensor) -> Tensor:
    """Vectors (m, dz) of length 1, or 0."""
    return torch.nn.functional.normalize(vectors, dim=-1, eps=1e-150)
