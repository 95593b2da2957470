"""Probability that a measurement succeeds: neither fails nor is unstable."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from surefoot.acquisition import Score
from surefoot.acquisition.feasibility import Feasibility
from surefoot.optimizer.model import Model
from surefoot.spaces import Arms


class SuccessModel:
    """Probability that measuring succeeds, as a function of inputs of the model.

    Args:
        model: The model, whose observations are the successes.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        space, sites = model.space, model.observations.sites
        arms = space.points if isinstance(space, Arms) else sites[:0]
        self._feasibility = Feasibility(model.fitted.kernel, arms)  # of the last round

    def of_search(self, failed: Sequence[Tensor], unstable: Tensor) -> Score | None:
        """The probability by which to search; None where nothing has failed.

        Args:
            failed: Inputs (d,) that have failed, in order; one that failed twice is there twice.
            unstable: Indices (k,) of the sites that are unstable: each of their replicates counts
                as a failure, none as a success.
        """
        return self._feasibility if self._update(failed, unstable) else None

    def of_recommendation(
        self, failed: Sequence[Tensor], unstable: Tensor, *, measured: bool
    ) -> Score | None:
        """The probability by which to recommend; None where nothing has failed.

        Args:
            failed: Inputs (d,) that have failed, in order.
            unstable: Indices (k,) of the sites that are unstable.
            measured: Whether only designs are recommended that were measured, under some values of
                an environment.
        """
        if not self._update(failed, unstable):
            return None
        found = self._feasibility
        return found.of_measured if measured else found.of_recommendation

    def _update(self, failed: Sequence[Tensor], unstable: Tensor) -> bool:
        """Take in all measurements so far; whether any has failed."""
        if not len(failed) and not len(unstable):
            return False
        sites, counts = self._model.observations.sites, self._model.observations.counts
        replicates = counts[unstable].long()
        failures = torch.stack([*failed, *sites[unstable].repeat_interleave(replicates, 0)])
        stable = torch.ones(len(sites), dtype=torch.bool, device=sites.device)
        stable[unstable] = False
        self._feasibility = self._feasibility.updated(
            self._model.fitted.kernel, sites[stable], counts[stable], failures
        )
        return True
