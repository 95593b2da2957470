"""Probability that a measurement succeeds: neither fails nor is unstable."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from surefoot.acquisition.feasibility import Feasibility
from surefoot.optimizer.model import Model
from surefoot.spaces import Arms, Space


def success_probability(
    seen: Space,
    model: Model,
    failed: Sequence[Tensor],
    unstable: Tensor,
    last: Feasibility | None,
) -> Feasibility | None:
    """Probability that measuring succeeds, as a function of inputs.

    Args:
        seen: Space of the inputs of the model.
        model: The model, whose observations are the successes.
        failed: Inputs (d,) that have failed, in order; one that failed twice is there twice.
        unstable: Indices (k,) of the sites that are unstable: each of their replicates counts as a
            failure, none as a success.
        last: The result of the last round, which is continued.

    Returns:
        The probability; None where nothing has failed.
    """
    if not len(failed) and not len(unstable):
        return None
    kernel, observations = model.fitted.kernel, model.observations
    sites, counts = observations.sites, observations.counts
    replicates = counts[unstable].long()
    failures = torch.stack([*failed, *sites[unstable].repeat_interleave(replicates, 0)])
    stable = torch.ones(len(sites), dtype=torch.bool, device=sites.device)
    stable[unstable] = False
    before = last or Feasibility(kernel, seen.points if isinstance(seen, Arms) else sites[:0])
    return before.updated(kernel, sites[stable], counts[stable], failures)
