"""Risk over the environment of an Optuna study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot.risks.risk import Risk, support_only
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.integrations.optuna.environment import StudyEnvironment

_ENVIRONMENTS = 1024  # quasi-random values that a continuous environment is discretised to


@dataclass(frozen=True, eq=False)
class RiskOverEnvironment:
    """Environment of a study and the risk that is optimised over it."""

    environment: StudyEnvironment
    risk: Risk

    def values(self) -> tuple[Tensor, Tensor]:
        """Environments (n, dz) and their weights (n,), which are numbers in a study."""
        return self.environment.distribution.values(  # type: ignore[return-value]
            _ENVIRONMENTS, torch.Generator().manual_seed(0), support_only(self.risk)
        )

    def encoded(self, x: Tensor, environments: Sequence[Mapping[str, Any]]) -> Tensor:
        """Environments (n, dz) of configurations (n, dx), one for each."""
        if len(environments) != len(x):
            raise InvalidInput(
                f"{len(environments)} environments came with {len(x)} configurations, expected as "
                "many."
            )
        rows = [self.environment.encode(values) for values in environments]
        return torch.stack(rows) if rows else x.new_zeros(0, len(self.environment.names))
