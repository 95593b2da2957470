"""The best location given the data, before the first reward and after it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import torch

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.threads import one_thread
from surefoot.acquisition.argmax import best_of, best_point, best_row, maximise, scores
from surefoot.acquisition.context import Context, Score, ScoreRule
from surefoot.acquisition.feasibility import Feasibility
from surefoot.acquisition.intervals import Interval
from surefoot.estimators.student_t import OUTLIER_WEIGHT
from surefoot.regression.units import BackTransformation
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.spaces.pending import PendingQueries
from surefoot.types import InvalidInput, NotReady, Recommendation

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel
    from torch import Tensor

    from surefoot.hyperparameters import CrossValidation

CROSS_VALIDATED = "cross-validated"
ROUNDS = "rounds"  # and of the context's memory: the best design, and its value, of `Recorded`
By = Literal["mean", "lower", "rounds", "cross-validated"] | ScoreRule
"""How designs are recommended: by the risk of the mean or of the lower bound, or by a score.

"rounds" is the largest risk of the lower bound of the round in which the design was chosen, which
the policy `Recorded` keeps. "cross-validated" is the mean where the model predicts rewards that are
left out, and the rewards themselves where it does not; on a `Joint` space it is the mean.
"""

_NO_BETTER = 1e-3  # of the spread of the rewards: then a measured point is recommended
_CANDIDATES = 64  # for the first location, after failures
_VALUES = 1024  # that represent a continuous environment where a risk is reported


def check_by(name: str, by: object) -> None:
    """Refuse anything but the four words of `By` and functions of a context."""
    if isinstance(by, type) or not callable(by):
        checks.choice(name, by, "mean", "lower", ROUNDS, CROSS_VALIDATED)
    elif isinstance(by, torch.nn.Module) or inspect.isbuiltin(by) or not _takes_one(by):
        raise InvalidInput(
            f"`{name}` is {checks.shown(by)}, expected a function of a `Context` that returns a "
            "score of designs."
        )


def _takes_one(function: Callable[..., object]) -> bool:
    """Whether a function can be called with one argument; true if that cannot be seen."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # of a builtin
        return True
    return True


def recommend(context: Context, by: By, interval: Interval) -> Recommendation:
    """The design of largest risk of the mean, or of the lower bound, or of largest score.

    Of a `Joint` space, by "mean" and "lower" one of the designs measured (Nguyen et al. 2021,
    Section 3.2); by a score any design.

    Args:
        context: The state of the optimisation, without pending queries.
        by: "mean", "lower", "rounds", "cross-validated", or a function of a `Context` that returns
            a score.
        interval: What the ends of its interval are.

    Raises:
        NotReady: If no round was recorded.
    """
    context = represented(context)
    if by == ROUNDS:
        return _of_rounds(context, interval)
    if callable(by):
        return _best_by(by, context, interval)
    width = -context.width if by == "lower" else 0.0

    def value(x: Tensor) -> Tensor:
        return context.bound(x, width)

    space = context.space
    if space.has_environment:
        allowed = space.design.allows(context.designs)
        designs = context.designs[allowed] if bool(allowed.any()) else context.designs
        x = designs[best_row(value, designs)]
        arm = space.design.locate(x).arm
    else:
        x, arm = _best_alone(by, value, context)
    return reported(context, x, arm, interval)


def reported(
    context: Context, x: Tensor, arm: int | None, interval: Interval, feasibility: float = 1.0
) -> Recommendation:
    """A design (dx,) as a recommendation, with its value and interval."""
    location = context.space.design.location(x, arm)
    x = location.design
    value, lower, upper = map(float, assess(context, x.unsqueeze(0), interval))
    estimand, params = context.estimand.name, location.params
    return Recommendation(x.clone(), arm, value, lower, upper, feasibility, estimand, params)


def _best_alone(by: By, value: Score, context: Context) -> tuple[Tensor, int | None]:
    """The best design without an environment, and its arm."""
    design, measured = context.space.design, _are_of_space(context)
    if by == CROSS_VALIDATED and bool(measured.any()):
        validation = context.hyperparameter_uncertainty.cross_validation()
        if not validation.is_predictive:
            x = _best_rewarded(context, validation, measured)
            return x, design.locate(x).arm
    if design.finite:
        best = _best_arm(value, context)
        return best.design, best.design_arm
    return _best_in_box(value, context, measured), None


def _best_rewarded(context: Context, validation: CrossValidation, among: Tensor) -> Tensor:
    """Of some of the designs, as a mask (D,), that of best average reward, outliers left out."""
    designs, kept = context.designs, validation.weights >= OUTLIER_WEIGHT
    site, rewards = context.observations.site.cpu()[kept], validation.rewards[kept]
    sums = rewards.new_zeros(len(designs)).index_add(0, site, rewards)
    counts = site.bincount(minlength=len(designs))
    lowest = rewards.min().to(designs)
    value = (sums / counts).to(designs).where(counts.to(designs) > 0.0, lowest)
    if context.feasible is not None:
        with torch.no_grad():
            value = lowest + context.feasible(designs) * (value - lowest)
    return designs[value.where(among, lowest - 1.0).argmax()]


def _best_by(rule: ScoreRule, context: Context, interval: Interval) -> Recommendation:
    """The design of largest score, found without a trace in the run."""
    score = rule(replace(context, generator=context.generator.clone_state()))
    if not callable(score):
        raise InvalidInput(
            f"the score to recommend by is {checks.shown(score)}, expected a function of designs "
            "(n, d) that returns a tensor (n,)."
        )
    best = maximise(score, replace(context, generator=torch.Generator().manual_seed(0)))
    return reported(context, best.design, best.design_arm, interval)


def _of_rounds(context: Context, interval: Interval) -> Recommendation:
    best = context.memory.get(ROUNDS)
    if best is None:
        raise NotReady(
            "no round was recorded, by whose lower bounds to recommend: pass "
            "`policy=acquisition.Recorded(policy)`, and ask until the initial design is over."
        )
    x = best["design"].to(context.designs.device)
    return reported(context, x, context.space.design.locate(x).arm, interval)


def assess(context: Context, designs: Tensor, interval: Interval) -> tuple[Tensor, Tensor, Tensor]:
    """The risks of mean, lower and upper bound (n,) at designs (n, dx), failures aside.

    They are of the estimand of the context, in reward units.
    """
    with torch.no_grad():
        reported = interval(replace(context, success=None, constraints=None))
        ends = represented(reported).risks(designs)
        return context.estimand.interval(ends, BackTransformation(context.warp), reported.width)


def first_location(
    space: Arms | Box | Joint,
    kernel: Kernel,
    pending: PendingQueries,
    failed: Sequence[Tensor],
    generator: torch.Generator,
) -> Location:
    """A location to measure before the first reward.

    On `Arms` a random one of largest prior variance that is neither pending nor failed, elsewhere
    a random one; of several, after failures, the one most likely to succeed.
    """
    if not isinstance(space, Arms):
        several = space.spread(_CANDIDATES if failed else 1, generator)
        if not failed:
            return several[0]
        points = torch.stack([location.point for location in several])
        none = points[:0]
        nothing = Feasibility(kernel, none)
        chance = nothing.updated(kernel, none, none.new_zeros(0), torch.stack([*failed]))
        return several[int(chance(points).argmax())]
    variance = kernels.diagonal(kernel, space.points).cpu().clone()
    tried = [*failed, *(query.point for query in pending.queries)]
    taken = torch.zeros(len(space), dtype=torch.bool)
    for point in tried:
        taken |= (space.points == point).all(-1).cpu()
    if not bool(taken.all()):
        variance[taken] = -torch.inf
    best = (variance >= variance.max() * (1.0 - 1e-12)).nonzero().squeeze(-1)
    return space.locate(int(best[torch.randint(len(best), (), generator=generator)]))


def _are_of_space(context: Context) -> Tensor:
    """Which designs (D,) are of the space: others, such as between two levels, may be measured."""
    design, designs = context.space.design, context.designs
    if isinstance(design, Arms):
        return torch.ones(len(designs), dtype=torch.bool, device=designs.device)
    return design.alike(designs, design.snap(designs))


def represented(context: Context) -> Context:
    """With values of Z that are the same in every call and leave the run's generator alone."""
    return context.sampled(_VALUES, torch.Generator().manual_seed(0))


def _best_arm(value: Score, context: Context) -> Location:
    """The best arm, a measured one unless another is better: some that tie may always fail."""
    best = maximise(value, context)
    if bool((context.designs == best.design).all(-1).any()):
        return best
    measured = best_of(context.designs, value, 1)[0]
    gain = scores(value, torch.stack([best.design, measured]))
    return best if float(gain[0]) > float(gain[1]) else context.space.design.locate(measured)


def _best_in_box(value: Score, context: Context, eligible: Tensor) -> Tensor:
    """The best point, a measured one unless another is better by more than the search resolves."""
    box: Box = context.space  # type: ignore[assignment]
    measured = best_of(context.designs[eligible], value)
    with one_thread():
        point = best_point(value, box, torch.Generator().manual_seed(0), measured)
    if not len(measured):
        return point
    gain = scores(value, torch.stack([point, measured[0]]))
    better = float(gain[0] - gain[1]) > _NO_BETTER * context.posterior.scale
    return point if better else measured[0]
