"""What failed measurements say."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.beliefs.probability import CERTAIN, Probability
from surefoot.beliefs.shared_values import NOTHING_SHARED, SharedValues

_NONE = torch.zeros(0, dtype=torch.int64)


@dataclass(frozen=True, eq=False)
class FailureBelief:
    """Where measuring is likely to succeed, and what failures share.

    Args:
        success: Probability (n,) that measuring at model inputs (n, d) succeeds.
        shared: Values that failed measurements share, and no success has.
        conditions: Values of the environment under which no measurement succeeds: failures there
            say nothing about designs, and what is predicted there is extrapolated.
        unstable: Indices (k,) of the sites whose replicates differ too much.
    """

    success: Probability = CERTAIN
    shared: SharedValues = NOTHING_SHARED
    conditions: SharedValues = NOTHING_SHARED
    unstable: Tensor = _NONE


NO_FAILURES = FailureBelief()
