"""The belief from values on the best of several levels, being on which is a constraint."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from surefoot.beliefs.constraints import AT_ZERO
from surefoot.regression.transforms import Levels

if TYPE_CHECKING:
    from surefoot.beliefs.belief import Belief

ON_IT = "on the best level"
"""Name of the constraint."""


def on_best_level(belief: Belief) -> Belief:
    """The belief from the rewards on the best level alone, where being on it is a constraint.

    Where rewards jump between levels, the posterior of all of them is a ramp from the last point
    on one side to the first on the other, and a search for its maximum approaches the edge in ever
    smaller steps. But no reward is on a ramp. Between these points the function is on one level or
    on the other: it goes on as measured on the best one, where it is on it. The best level is that
    of the best reward where the constraints hold with confidence; better ones count as one with it.
    A pending query is taken to be on the side that is more probable.

    Args:
        belief: The belief.

    Returns:
        The belief, itself where rewards are on one level, while no site surely satisfies the
        constraints, and in an environment.

    References:
        Schonlau et al. 1998, "Global versus local search in constrained optimization of
        computer models", for the product of improvement and probability.
    """
    outcome, parts = belief.outcome, belief.outcome.transform.parts
    gaps = [gap for part in parts if isinstance(part, Levels) for gap in part.gaps]
    if not gaps or belief.space.has_environment:
        return belief
    known, rewards = belief.constraints, outcome.at_reference.rewards
    with torch.no_grad():
        assured = known.suffices(known.assurance(outcome.observations.sites))
    if not bool(assured.any()):
        return belief
    best = rewards[assured[outcome.observations.site]].max()
    middles = rewards.new_tensor([0.5 * (low + high) for low, high in gaps])
    below = middles[middles < best]
    on_it = rewards >= (below.max() if len(below) else -torch.inf)
    sites = outcome.observations.site[on_it].unique()
    # Repeated values of one site say nothing of how a level goes on.
    if bool(on_it.all()) or len(sites) == 1:
        return belief
    level = outcome.model.fitted_belief(outcome.observations.among(on_it))
    sides = outcome.observations.with_rewards(torch.where(on_it, 1.0, -1.0).double())
    margin = outcome.model.of_sides(sides)
    if waiting := belief.pending.pulls:
        points = torch.stack([one.point for one in waiting])
        likely = torch.where(margin.posterior.mean(points) >= 0.0, 1.0, -1.0).double()
        margin = margin.conditioned(points, likely, [one.arm for one in waiting])
    return replace(
        belief,
        outcome=level,
        band=level.band.with_pending(belief.pending.pulls),
        constraints=replace(
            known,
            limits={**known.limits, ON_IT: AT_ZERO},
            find=lambda: {**known.outcomes, ON_IT: margin},
            measured=(*known.measured, ON_IT),
            pulls=(),
        ),
        failures=replace(belief.failures, unstable=belief.failures.unstable[:0]),
    )
