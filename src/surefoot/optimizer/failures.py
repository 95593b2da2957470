"""Failed measurements, and the probability that a measurement succeeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot.beliefs.failure import NOTHING_SHARED, SharedValues, Variables
from surefoot.beliefs.probability import CERTAIN, LIKELY, Probability
from surefoot.beliefs.success import Feasibility
from surefoot.regression.observations import Failed, Observations
from surefoot.spaces import Arms, Space

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


_AGAIN = 10  # successes elsewhere, until a value at which nothing succeeded is tried again


@dataclass(eq=False)
class Failures:
    """Failed measurements of a run.

    Args:
        space: Space of the inputs.
        variables: Discrete variables of the designs: columns of each, and its values.
        conditions: Those of the environment.
        all: The failures, in order; an input that failed twice is there twice.
    """

    space: Space
    variables: Variables = ()
    conditions: Variables = ()
    all: list[Failed] = field(default_factory=list)
    _latest: Feasibility | None = None

    @property
    def copy(self) -> Failures:
        """A copy to which failures may be added."""
        return replace(self, all=[*self.all])

    @property
    def inputs(self) -> list[Tensor]:
        """Inputs (d,) that have failed."""
        return [one.point for one in self.all]

    def of_search(
        self, kernels: Sequence[Kernel], observations: Observations, unstable: Tensor
    ) -> Probability:
        """Probability of success by which to search.

        Args:
            kernels: Kernels of the objectives.
            observations: The successes.
            unstable: Indices (k,) of the sites that are unstable: each of their replicates counts
                as a failure, none as a success.
        """
        if not self.all and not len(unstable):
            return CERTAIN
        failed = self._of_designs(observations)
        shared = self._shared(failed, observations)
        chance = self._feasibility(kernels, observations, unstable, failed, shared)
        since = sum(one.after == len(observations) for one in failed)
        return Probability((partial(_doubted, chance, since), shared))

    def of_recommendation(
        self,
        kernels: Sequence[Kernel],
        observations: Observations,
        unstable: Tensor,
        *,
        measured: bool,
    ) -> Probability:
        """Probability of success by which to recommend.

        Args:
            kernels: Kernels of the objectives.
            observations: The successes.
            unstable: Indices (k,) of the sites that are unstable.
            measured: Whether only designs are recommended that were measured, under some values of
                an environment.
        """
        if not self.all and not len(unstable):
            return CERTAIN
        failed = self._of_designs(observations)
        shared = self._shared(failed, observations)
        found = self._feasibility(kernels, observations, unstable, failed, shared)
        return Probability((found.of_measured if measured else found.of_recommendation, shared))

    def shared_values(self, observations: Observations) -> SharedValues:
        """Values of single variables that failures share.

        Args:
            observations: The successes.
        """
        return self._shared(self._of_designs(observations), observations)

    def _shared(self, failed: Sequence[Failed], observations: Observations) -> SharedValues:
        if not failed:
            return NOTHING_SHARED
        return SharedValues.of(self.variables, observations.sites, _inputs(failed, observations))

    def shared_conditions(self, observations: Observations) -> SharedValues:
        """Values of the environment under which no measurement succeeds, whatever the design is.

        Args:
            observations: The successes.
        """
        if not self.conditions:
            return NOTHING_SHARED
        return SharedValues.of(self.conditions, observations.sites, _inputs(self.all, observations))

    def is_in_vain(self, point: Tensor, observations: Observations) -> bool:
        """Whether nothing succeeds under the environment of an input (d,), as far as is known.

        It is tried again once some more measurements have succeeded elsewhere.

        Args:
            point: The input.
            observations: The successes.
        """
        shared = self.shared_conditions(observations)
        if not shared.rule_out(point.unsqueeze(0)):
            return False
        explained = shared(_inputs(self.all, observations)) < LIKELY
        latest = max(one.after for one, is_so in zip(self.all, explained, strict=True) if is_so)
        return len(observations) - latest < _AGAIN

    def _of_designs(self, observations: Observations) -> list[Failed]:
        """The failures that are not those of a value of the environment.

        Where nothing has succeeded, failures say nothing about what differs between designs.
        """
        shared = self.shared_conditions(observations)
        if not shared.found:
            return self.all
        kept = shared(_inputs(self.all, observations)) >= LIKELY
        return [one for one, is_so in zip(self.all, kept, strict=True) if is_so]

    def _feasibility(
        self,
        kernels: Sequence[Kernel],
        observations: Observations,
        unstable: Tensor,
        failed: Sequence[Failed],
        shared: SharedValues,
    ) -> Feasibility:
        """The model of all measurements so far, brought up to date from the last one."""
        sites, counts = observations.sites, observations.counts
        again = sites[unstable].repeat_interleave(counts[unstable].long(), 0)
        failures = torch.cat([_inputs(failed, observations), again])
        stable = torch.ones(len(sites), dtype=torch.bool, device=sites.device)
        stable[unstable] = False
        if self._latest is None:
            arms = self.space.points if isinstance(self.space, Arms) else sites[:0]
            self._latest = Feasibility(kernels, arms)
        self._latest = self._latest.updated(
            kernels, sites[stable], counts[stable], failures, shared(failures)
        )
        return self._latest


def _inputs(failures: Sequence[Failed], observations: Observations) -> Tensor:
    """Inputs (f, d) of failures."""
    return torch.stack([one.point for one in failures]) if failures else observations.sites[:0]


def _doubted(chance: Feasibility, since: int, points: Tensor) -> Tensor:
    """A chance (n,), to the power of one and the failures since the last success.

    These were more probable to succeed by what was known, so that it is taken to know less; and a
    search that goes on at the edge of a region would pay for each step with a trial.
    """
    found = chance(points)
    return found.pow(1 + since) if since else found
