"""The best location given the data, before the first reward and after it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import torch

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.numbers import NUMBERS_AT_ONCE, ROUNDING
from surefoot.acquisition.argmax import (
    away_from_arms,
    best_of,
    best_point,
    best_row,
    maximise,
    scores,
)
from surefoot.acquisition.scores import PolicyState, ScoreRule
from surefoot.beliefs import Belief, Candidates
from surefoot.beliefs.belief import certificate_of
from surefoot.beliefs.best_level import on_best_level
from surefoot.beliefs.constraints import NO_CONSTRAINTS
from surefoot.beliefs.probability import Probability, Score
from surefoot.beliefs.success import Feasibility
from surefoot.regression.posterior import AtArms
from surefoot.regression.regression import OUTLIER_WEIGHT
from surefoot.regression.spread import robust_spread
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.spaces.pending import PendingQueries
from surefoot.types import InvalidInput, NotReady, Recommendation

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel
    from torch import Tensor

    from surefoot.regression.cross_validation import CrossValidation

CROSS_VALIDATED = "cross-validated"
ROUNDS = "rounds"  # and in the policy's memory: the best design, and its value, of `Recorded`
By = Literal["mean", "lower", "rounds", "cross-validated"] | ScoreRule
"""How designs are recommended: by the risk of the mean or of the lower bound, or by a score.

"rounds" is the largest risk of the lower bound of the round in which the design was chosen, which
the policy `Recorded` keeps. "cross-validated" is the mean where the model predicts rewards that are
left out, and the rewards themselves where it does not; on a `Joint` space it is the mean.
"""

_NO_BETTER = 1e-3  # of the spread of the rewards: then a measured point is recommended
_LEAST_COMPARED, _MOST_COMPARED = 8, 4096  # designs
_CANDIDATES = 64  # for the first location, after failures
_STEEPNESS = 500.0  # of the discount of configurations below a probability of `_SAFE`
_SAFE = 0.97


def check_by(name: str, by: object) -> None:
    """Refuse anything but the four words of `By` and functions of a belief."""
    if isinstance(by, type) or not callable(by):
        checks.choice(name, by, "mean", "lower", ROUNDS, CROSS_VALIDATED)
    elif isinstance(by, torch.nn.Module) or inspect.isbuiltin(by) or not _takes_two(by):
        raise InvalidInput(
            f"`{name}` is {checks.shown(by)}, expected a function of a belief and a generator "
            "that returns a score of designs."
        )


def _takes_two(function: Callable[..., object]) -> bool:
    """Whether a function can be called with two arguments; true if that cannot be seen."""
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # of a builtin
        return True
    return True


def recommend(belief: Belief, by: By, state: PolicyState) -> Recommendation:
    """The design of largest risk of the mean, or of the lower bound, or of largest score.

    Means and lower bounds are those that are reported: integrated over the hyperparameters, where
    the intervals are (`Belief.interval`). Of many designs, those of largest plug-in value.

    Of a `Joint` space, by "mean" and "lower" one of the designs measured (Nguyen et al. 2021,
    Section 3.2); by a score any design. With constraints, the best of those designs for which all
    of them hold with the confidence asked for, of measured ones if there is any; if none is found,
    the measured one for which that is most probable. Where rewards jump, being on the best level is
    a constraint, too (`on_best_level`).

    Args:
        belief: All that follows from the measurements.
        by: "mean", "lower", "rounds", "cross-validated", or a function of a belief and a generator
            that returns a score.
        state: A copy of the policy's randomness and memory.

    Raises:
        NotReady: If no round was recorded.
    """
    level = belief if callable(by) or by == ROUNDS else on_best_level(belief)
    if level.constraints.probability.is_certain:
        best = _best(belief.candidates, by, state)
        return reported(belief, best.design, best.design_arm)
    x = _best_assured(level.candidates, by, state)
    chance = float(belief.feasibility(x.unsqueeze(0)))
    return reported(belief, x, belief.space.design.locate(x).arm, chance)


def reported(
    belief: Belief, x: Tensor, arm: int | None, feasibility: float = 1.0
) -> Recommendation:
    """A design (dx,) as a recommendation, with its value and interval."""
    location = belief.space.design.location(x, arm)
    value, lower, upper = map(float, belief.predictions.at_designs(location.design.unsqueeze(0)))
    estimand, params = belief.reported.estimand.name, location.params
    point = location.design.clone()
    unmeasured = belief.constraints.unmeasured
    found = certificate_of(belief, None, location.design)
    proved = None if isinstance(found, str) else found
    return Recommendation(
        point, arm, value, lower, upper, feasibility, estimand, params, unmeasured, proved
    )


def _best_assured(candidates: Candidates, by: By, state: PolicyState) -> Tensor:
    """The best design (dx,) of those for which the constraints hold with confidence.

    A measured one, if there is any: whatever is predicted beside a limit, a step may be there.
    """
    belief, designs = candidates.belief, _allowed(candidates)
    alone = candidates.of(replace(belief, constraints=NO_CONSTRAINTS))
    assured = designs[candidates.is_assured(designs)]
    if len(assured) and not (callable(by) or by == ROUNDS):
        return _best_measured(alone, by, assured)
    assurance = belief.constraints.assurance

    def safe(points: Tensor) -> Tensor:
        return torch.sigmoid(_STEEPNESS * (assurance(points) - _SAFE))

    failures = belief.failures
    within = replace(failures, success=failures.success & Probability((safe,)))
    alone = alone.of(replace(alone.belief, failures=within))
    best = _best(alone, by, state).design
    if bool(candidates.is_assured(best.unsqueeze(0))):
        return best
    if len(assured):
        return assured[best_row(_reported(alone).mean, assured)]
    return _most_probable(candidates, designs)


def _best_measured(candidates: Candidates, by: By, designs: Tensor) -> Tensor:
    """The best (dx,) of measured designs (n, dx), constraints aside."""
    if by == CROSS_VALIDATED and not candidates.space.has_environment:
        validation = candidates.belief.outcome.cross_validation
        if not validation.is_predictive:
            among = (candidates.designs[:, None] == designs).all(-1).any(-1)
            if bool(among.any()):
                return _best_rewarded(candidates, validation, among)
    return designs[best_row(_judged(candidates, by), designs)]


def _most_probable(candidates: Candidates, designs: Tensor) -> Tensor:
    """Of designs (n, dx) of which none is assured, the one most probable to keep the constraints.

    Of those that are equally probable, the one of largest mean. Where none is probable at all, the
    one whose means are nearest to the limits: so far out in the tails of the posterior, the most
    probable one is that of which least is known.
    """
    with torch.no_grad():
        # What is reported, where the search takes values that break a limit for outliers.
        chance = candidates.belief.feasibility(designs)
        if bool((chance > ROUNDING).any()):
            logs = candidates.log_feasibility(designs)
            chance = chance.to(logs)
            logs = torch.where(chance > ROUNDING, torch.minimum(logs, chance.log()), logs)
        else:
            logs = -candidates.over_environment(candidates.belief.constraints.shortfall, designs)
    likely = designs[logs >= logs.max() - ROUNDING * logs.max().abs().clamp_min(1.0)]
    return likely[best_row(_reported(candidates).mean, likely)]


def _best(candidates: Candidates, by: By, state: PolicyState) -> Location:
    """The best design by a rule, constraints aside unless they are in its bounds."""
    space = candidates.space
    if by == ROUNDS:
        return _of_rounds(candidates, state.memory)
    if callable(by):
        return _best_by(by, candidates, state)
    value = _judged(candidates, by)

    def plug_in(x: Tensor) -> Tensor:
        return candidates.bound(x, -candidates.width if by == "lower" else 0.0)

    if not space.has_environment:
        return _best_alone(by, value, plug_in, candidates)
    designs = _shortlist(_allowed(candidates), plug_in, candidates)
    return space.design.locate(designs[best_row(value, designs)])


def _judged(candidates: Candidates, by: By) -> Score:
    """The mean or the lower bound that is reported."""
    belief = candidates.belief
    band = belief.reported.interval(belief.outcome, belief.band)
    judged = candidates.of(replace(belief, band=band))
    return lambda x: judged.bound(x, -judged.width if by == "lower" else 0.0)


def _reported(candidates: Candidates) -> Candidates:
    """Those whose bounds are the ends of reported intervals."""
    return candidates.of(candidates.belief.predictions.belief)


def _shortlist(designs: Tensor, score: Score, candidates: Candidates) -> Tensor:
    """The designs (n, dx) of largest score, as many as can be compared in a short time."""
    number = NUMBERS_AT_ONCE // (len(candidates.z) * len(candidates.belief.weights))
    number = min(max(number, _LEAST_COMPARED), _MOST_COMPARED)
    if len(designs) <= number:
        return designs
    looked_up = not candidates.space.has_environment and candidates.posterior.tabulates(designs)
    values = score(designs) if looked_up else scores(score, designs)
    return designs[values.argsort(descending=True)[:number]]


def _allowed(candidates: Candidates) -> Tensor:
    """Measured designs (n, dx) that satisfy the rules of the space; all of them if none does."""
    designs = candidates.space.design.brought_inside(candidates.designs)
    allowed = candidates.space.design.allows(designs)
    return designs[allowed] if bool(allowed.any()) else designs


def _best_alone(by: By, value: Score, plug_in: Score, candidates: Candidates) -> Location:
    """The best design without an environment."""
    design, measured = candidates.space.design, _are_of_space(candidates)
    if by == CROSS_VALIDATED and bool(measured.any()):
        validation = candidates.belief.outcome.cross_validation
        if not validation.is_predictive:
            return design.locate(_best_rewarded(candidates, validation, measured))
    if design.finite:
        return _best_arm(by, value, plug_in, candidates)
    return design.location(_best_in_box(value, plug_in, candidates, measured))


def _best_rewarded(candidates: Candidates, validation: CrossValidation, among: Tensor) -> Tensor:
    """Of some of the designs, as a mask (D,), that of best average reward, outliers left out."""
    designs, kept = candidates.designs, validation.weights >= OUTLIER_WEIGHT
    site, rewards = (
        candidates.belief.outcome.observations.site.cpu()[kept],
        validation.rewards[kept],
    )
    sums = rewards.new_zeros(len(designs)).index_add(0, site, rewards)
    counts = site.bincount(minlength=len(designs))
    lowest = rewards.min().to(designs)
    value = (sums / counts).to(designs).where(counts.to(designs) > 0.0, lowest)
    if not candidates.feasible.is_certain:
        with torch.no_grad():
            value = lowest + candidates.feasible(designs) * (value - lowest)
    return designs[value.where(among, lowest - 1.0).argmax()]


def _best_by(rule: ScoreRule, candidates: Candidates, state: PolicyState) -> Location:
    """The design of largest score."""
    score = rule(candidates, state.generator)
    if not callable(score):
        raise InvalidInput(
            f"the score to recommend by is {checks.shown(score)}, expected a function of designs "
            "(n, d) that returns a tensor (n,)."
        )
    return maximise(score, candidates, torch.Generator().manual_seed(0))


def _of_rounds(candidates: Candidates, memory: dict[str, Any]) -> Location:
    best = memory.get(ROUNDS)
    if best is None:
        raise NotReady(
            "no round was recorded, by whose lower bounds to recommend: pass "
            "`policy=acquisition.Recorded(policy)`, and ask until the initial design is over."
        )
    return candidates.space.design.locate(best["design"].to(candidates.designs.device))


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
        nothing = Feasibility([kernel], none)
        failures = torch.stack([*failed])
        counts, unexplained = none.new_zeros(0), failures.new_ones(len(failures))
        chance = nothing.updated([kernel], none, counts, failures, unexplained)
        return several[int(chance(points).argmax())]
    variance = kernels.diagonal(kernel, space.points).cpu().clone()
    tried = [*failed, *(query.point for query in pending.queries)]
    taken = torch.zeros(len(space), dtype=torch.bool)
    for point in tried:
        taken[space.at(point).cpu()] = True
    if not bool(taken.all()):
        variance[taken] = -torch.inf
    best = (variance >= variance.max() * (1.0 - 1e-12)).nonzero().squeeze(-1)
    return space.locate(int(best[torch.randint(len(best), (), generator=generator)]))


def _are_of_space(candidates: Candidates) -> Tensor:
    """Mask (D,) of the designs of the space: others, such as between levels, may be measured."""
    design, designs = candidates.space.design, candidates.designs
    if isinstance(design, Arms):
        return torch.ones(len(designs), dtype=torch.bool, device=designs.device)
    return design.alike(designs, design.snap(designs))


def _best_arm(by: By, value: Score, plug_in: Score, candidates: Candidates) -> Location:
    """The best arm, a measured one unless another is better: some that tie may always fail."""
    arms: Arms = candidates.space.design  # type: ignore[assignment]
    every = (
        _best_elsewhere(arms, by, candidates)
        if arms.is_elsewhere
        else _shortlist(arms.points, plug_in, candidates)
    )
    points = torch.cat([_shortlist(candidates.designs, plug_in, candidates), every])
    return arms.locate(points[best_row(value, points)])


def _best_elsewhere(arms: Arms, by: By, candidates: Candidates) -> Tensor:
    """The arms (n, d) of largest plug-in value, where workers know it."""
    posterior = candidates.posterior
    if not isinstance(posterior, AtArms) or not candidates.feasible.is_certain:
        raise away_from_arms("the recommendation")
    width = -candidates.width if by == "lower" else 0.0
    return arms.points[posterior.top(width, _LEAST_COMPARED)[0]]


def _best_in_box(value: Score, plug_in: Score, candidates: Candidates, eligible: Tensor) -> Tensor:
    """The best point, a measured one unless another is better by more than the search resolves.

    The search is by the plug-in value, which takes a small part of the time. What is integrated
    over the hyperparameters differs from it most at the points measured.
    """
    box: Box = candidates.space  # type: ignore[assignment]
    measured = best_of(candidates.designs[eligible], value)
    near = measured if len(measured) else best_of(box.snap(candidates.designs), value)
    point = best_point(plug_in, box, torch.Generator().manual_seed(0), near)
    if not len(measured):
        return point
    gain = scores(value, torch.stack([point, measured[0]]))
    outcome = candidates.belief.outcome
    spread = robust_spread(outcome.transform(outcome.observations.rewards))
    return point if float(gain[0] - gain[1]) > _NO_BETTER * spread else measured[0]
