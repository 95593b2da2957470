"""Queries of a batch by bounds of several widths."""

from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.acquisition import Guarded, SeveralWidths
from surefoot.widths import constant, dual_mixture

LINE = np.linspace(0.0, 1.0, 21)[:, None]
KERNEL = sf.kernels.squared_exponential(0.1)
SHARES = (0.0, 3.0, 0.5)


def optimizer_of(policy: object, width: object) -> sf.Optimizer:
    optimizer = sf.Optimizer(sf.Arms(LINE), KERNEL, policy=policy, width=width, ridge=0.04)
    optimizer.tell_all([2, 8, 15, 8], [0.3, 1.0, 0.2, 1.2])
    return optimizer


@pytest.mark.parametrize("width", [constant(2.0), dual_mixture(2.0, 0.2)], ids=["width", "band"])
def test_each_query_has_the_bound_of_its_share(width: object) -> None:
    beliefs = []

    def score(belief: Any, generator: torch.Generator) -> Any:
        beliefs.append(belief)
        return SeveralWidths(SHARES)(belief, generator)

    optimizer, points = optimizer_of(score, width), torch.from_numpy(LINE)
    for number in range(5):
        arm = optimizer.ask().arm
        mean, _, upper = beliefs[-1].ends(points)
        share = SHARES[number % 3]
        assert arm == int((mean + share * (upper - mean)).argmax())


def test_a_guard_holds_whatever_the_share() -> None:
    policy = Guarded(SeveralWidths((0.0, 1.0)), slack=0.5, heuristic=constant(0.5))
    optimizer = optimizer_of(policy, constant(12.0))
    for _ in range(6):
        optimizer.forget(optimizer.ask(), failed=False)
        _, lower, upper = optimizer.belief().ends(torch.from_numpy(LINE))
        arm = optimizer.ask().arm
        assert upper.max() - lower[arm] <= 1.5 * (upper[arm] - lower[arm]) + 1e-9
        optimizer.tell(arm, 0.3)


def test_bad_shares_are_refused() -> None:
    for shares in ((), (-1.0,), ("1",)):
        with pytest.raises(sf.InvalidInput, match="shares"):
            SeveralWidths(shares)  # type: ignore[arg-type]
