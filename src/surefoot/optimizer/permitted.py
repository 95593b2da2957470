"""Where an optimizer may ask: everywhere, or only where limits and survival are safe."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from surefoot._internal.user_warnings import warn
from surefoot.acquisition.policy import Policy
from surefoot.acquisition.safe_search import SafeSet, safe_set
from surefoot.acquisition.scores import PolicyState
from surefoot.beliefs import Belief
from surefoot.beliefs.probability import Probability
from surefoot.optimizer.told import Told
from surefoot.problem import Problem
from surefoot.spaces import Joint, Space
from surefoot.spaces.locations import Location, designs_of
from surefoot.types import InvalidInput, NotReady

Among = Sequence[Location] | None
"""Locations to choose from; None for the whole space."""

_KNOWN_EVERY = 4  # rounds, of which one may be at a point that is known well


@dataclass(frozen=True)
class Everywhere:
    """Every point may be asked for."""

    has_design: ClassVar[bool] = True

    def points(self, points: Tensor, told: Told) -> Tensor:
        """All of them."""
        return points

    def locations(
        self,
        among: Among,
        space: Space | Joint,
        told: Told,
        generator: torch.Generator,
    ) -> Among:
        """The locations to choose from.

        Args:
            among: The only ones that are asked for.
            space: The space, or a part of it.
            told: What was told.
            generator: Source of candidates.
        """
        return among

    def choose(
        self,
        policy: Policy,
        belief: Belief,
        among: Among,
        state: PolicyState,
        told: Told,
    ) -> Location:
        """The choice of the policy."""
        return policy.choose(belief, among, state)

    def success(self, success: Probability, told: Told) -> Probability:
        """As it is."""
        return success


@dataclass(frozen=True)
class WhereSafe:
    """Only points at which limits, and survival, hold with the confidence asked for.

    Args:
        space: The space.
        survives: Whether a failed measurement counts as a limit that is broken.
    """

    space: Space
    survives: bool

    has_design: ClassVar[bool] = False

    def safe_set(self, told: Told) -> SafeSet:
        """The points that are known to be safe."""
        failed, sites = told.failures.inputs, told.rewards.sites
        return safe_set(
            self.space.seen,
            told.outcomes.beliefs,
            sites,
            torch.stack(failed) if failed else sites[:0],
            survives=self.survives,
        )

    def points(self, points: Tensor, told: Told) -> Tensor:
        """The points that are safe."""
        return points[self.safe_set(told).holds(points)] if len(points) else points

    def locations(
        self,
        among: Among,
        space: Any,  # which has no environment
        told: Told,
        generator: torch.Generator,
    ) -> Among:
        """Safe ones; far ones only, where there is no model of a limit."""
        known = self.safe_set(told)
        if among is not None:
            chosen = known.holds(designs_of(among)).nonzero()[:, 0].tolist()
            if not chosen:
                raise InvalidInput(f"none of the {len(among)} `arms` is known to be safe.")
            return [among[index] for index in chosen]
        found = known.candidates(space, generator)
        inside = (space.brought_inside(known.kept) == known.kept).all(-1)
        again = known.kept[inside & space.allows(known.kept)]
        if not len(found) and not len(again):
            raise InvalidInput(
                "no configuration with the given values is known to be safe: measure one, or leave "
                "them to the search."
            )
        if not len(found) or not bool(known.distance_of(found).any()):
            warn(
                "no other configuration is safe by what is known: a measured one is measured "
                "again, which makes its surroundings better known.",
            )
            found = found if len(found) else again[known.safest(again)].unsqueeze(0)
        elif known.limits and not known.is_modelled:
            found = found[known.expanding(found)]  # of which the best by the objective
        return [space.locate(point) for point in found]

    def choose(
        self,
        policy: Policy,
        belief: Belief,
        among: Among,
        state: PolicyState,
        told: Told,
    ) -> Location:
        """The choice of the policy, or where the safe set is known well one that extends it."""
        location = policy.choose(belief, among, state)
        if among is None or belief.candidates.round % _KNOWN_EVERY == 0:
            return location
        known = self.safe_set(told)
        if not known.is_known(location.point):
            return location
        far = known.expanding(designs_of(among)).tolist()
        return policy.choose(belief, [among[index] for index in far], state)

    def success(self, success: Probability, told: Told) -> Probability:
        """And that it is safe; where nothing is, what comes nearest is recommended."""
        with suppress(NotReady):
            return success & Probability((self.safe_set(told).chance,))
        return success


Permitted = Everywhere | WhereSafe


def permitted(problem: Problem) -> Permitted:
    """The rule that the limits of a problem call for."""
    return WhereSafe(problem.domain, problem.safe) if problem.is_safe else Everywhere()  # type: ignore[arg-type]
