"""What failures say of points does not depend on when somebody looked, and can be copied."""

import copy

import torch

import surefoot as sf
from surefoot.algorithms import gp_ucb

LINE = torch.linspace(0.0, 1.0, 30, dtype=torch.float64).unsqueeze(-1)


def chances(look: bool) -> torch.Tensor:
    optimizer = gp_ucb(sf.Arms(LINE), sf.kernels.squared_exponential(0.3))
    for step in range(12):
        query = optimizer.ask()
        if step in (2, 5):
            optimizer.forget(query)
        else:
            optimizer.tell(query, float(torch.sin(9.0 * query.point).sum()))
        if look and step > 0:
            optimizer.recommend()
    assert optimizer.context.feasible is not None
    return optimizer.context.feasible(optimizer.space.points)


def test_looking_leaves_every_bit_as_it_is() -> None:
    assert torch.equal(chances(look=False), chances(look=True))


def test_an_optimizer_with_failures_in_a_box_can_be_copied() -> None:
    optimizer = gp_ucb(sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.3))
    optimizer.tell([0.2], 1.0)
    optimizer.forget([0.8])
    optimizer.ask()
    assert torch.equal(copy.deepcopy(optimizer).ask().point, optimizer.ask().point)
