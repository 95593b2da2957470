"""A lacing value of a continuous environment, by descent from many starts at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.threads import one_thread
from surefoot.types import InvalidInput

_LAST_STEP = 1e-3  # of the first
_BEYOND = 1.1  # times the way to where the violation would be 0 if it went on as here


@dataclass(frozen=True, eq=False)
class LacingValue:
    """What `search` found: `point` (dz,) is a lacing value where `found`.

    Otherwise it is the z seen that misses least: `violation` says by how much, in the unit of the
    bounds, as the sum of what its upper bound lacks and what its lower bound has too much.
    """

    point: Tensor
    found: bool
    violation: float


def search(
    lower: Callable[[Tensor], Tensor],  # z (m, dz) -> (m,), differentiable
    upper: Callable[[Tensor], Tensor],  # z (m, dz) -> (m,), differentiable
    lower_var: float,
    upper_var: float,
    log_density: Callable[[Tensor], Tensor] | None,  # z (m, dz) -> (m,), differentiable
    starts: Tensor,  # (m, dz)
    low: Tensor,  # (dz,)
    high: Tensor,  # (dz,)
    generator: torch.Generator,
    *,
    lacing: Literal["prob", "unif"] = "prob",
    steps: int = 120,
    reach: float = 0.05,
) -> LacingValue:
    """A z between `low` and `high` with lower(z) <= lower_var and upper(z) >= upper_var.

    These are the values at risk of the two bounds; the condition is Definition 1 of Nguyen et al.
    2021. "prob" gives the one of largest density of those seen on the way from the starts, by
    descent on L_LV-P = ReLU(upper_var - upper) + ReLU(lower - lower_var) - 1{lacing} p (section
    3.5). "unif" descends on the first two terms (eq. 8) only until anything laces, and picks one of
    what does at random: uniformly from all lacing values if the starts are uniform and hit any.
    Theorem 1 speaks of the values from which the two VaR were computed: with these among the starts
    there is always one. There need not be a region: as the level goes to 0, or where upper = lower,
    lacing values are level sets, which are approached but not hit (`found` is False). Sets may also
    be narrow, curved and in several pieces: some 32 starts are well spent, and cost little more
    than one.

    Where the first two terms are above 0 the third is 0, and the other way round. Steps therefore
    go along the gradient of the term that counts (for p that of log p, which has its direction),
    and their length is a share of the box, not the gradient's: `reach` at first, falling
    geometrically. What unit p has beside that of the bounds then makes no difference. `low` and
    `high` must be finite; the density may be None with "unif". Raises `InvalidInput` for another
    `lacing`, or a density missing.
    """
    if lacing not in ("prob", "unif"):
        raise InvalidInput(f"`lacing` is {lacing!r}, expected 'prob' or 'unif'.")
    if lacing == "prob" and log_density is None:
        raise InvalidInput("lacing='prob' needs a `log_density`: pass one, or lacing='unif'.")
    steps, reach = checks.count("steps", steps), checks.positive("reach", reach)
    span, z = high - low, starts.clamp(low, high)
    nothing = torch.full_like(z[:, 0], torch.inf)
    edge = torch.zeros_like(z)  # outward normals, of those that were outside one step ago
    best = _Seen(z, nothing < 0.0, -nothing, nothing)
    with one_thread():
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
                    loss = torch.where(laces, -log_p, loss) if lacing == "prob" else loss
                (slope,) = torch.autograd.grad(loss.sum(), tracked)
            violation = violation.detach()
            score = torch.where(laces, -loss.detach(), -violation)
            best = best.or_better(_Seen(z, laces, score, violation))
            if step == steps or (lacing == "unif" and bool(best.laces.any())):
                break
            slope = _inward(slope * span, z <= low, z >= high)
            length = slope.norm(dim=-1, keepdim=True)
            toward = -_unit(slope)
            # One that has just come in goes along the edge, not out again.
            toward = _unit(toward - edge * (toward * edge).sum(-1, keepdim=True).relu())
            edge = torch.where(laces.unsqueeze(-1), 0.0, _unit(slope))
            # One that is outside goes no further than in (Polyak's step, for a minimum of 0).
            share = torch.full_like(length, reach * _LAST_STEP ** (step / steps))
            in_sight = _BEYOND * violation.unsqueeze(-1) / length.clamp_min(1e-150)
            share = torch.where(laces.unsqueeze(-1), share, torch.minimum(4.0 * share, in_sight))
            z = (z + span * share * toward).clamp(low, high)
    return best.pick(lacing, generator)


class _Seen(NamedTuple):
    """One z for each start."""

    points: Tensor  # (m, dz)
    laces: Tensor  # (m,)
    score: Tensor  # (m,), larger is better among those that lace, and among those that do not
    violation: Tensor  # (m,)

    def or_better(self, other: _Seen) -> _Seen:
        """For each start the other's z where that is better."""
        better = (other.laces & ~self.laces) | (
            (other.laces == self.laces) & (other.score > self.score)
        )
        points = torch.where(better.unsqueeze(-1), other.points, self.points)
        rest = (torch.where(better, b, a) for a, b in zip(self[1:], other[1:], strict=True))
        return _Seen(points, *rest)

    def pick(self, lacing: str, generator: torch.Generator) -> LacingValue:
        """The best one, or a random one of those that lace."""
        score, found = self.score, bool(self.laces.any())
        if found and lacing == "unif":
            score = torch.rand(len(score), generator=generator).to(score)
        if found:
            score = score.masked_fill(~self.laces, -torch.inf)
        chosen = int(score.argmax())
        return LacingValue(self.points[chosen].clone(), found, float(self.violation[chosen]))


def _inward(slope: Tensor, at_low: Tensor, at_high: Tensor) -> Tensor:
    """The slopes (m, dz) without what leads out of the box."""
    slope = slope.nan_to_num(0.0, 0.0, 0.0)
    return slope.masked_fill((at_low & (slope > 0.0)) | (at_high & (slope < 0.0)), 0.0)


def _unit(vectors: Tensor) -> Tensor:
    """Vectors (m, dz) of length 1, or 0."""
    return torch.nn.functional.normalize(vectors, dim=-1, eps=1e-150)
