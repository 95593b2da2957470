"""What failures say of points does not depend on when somebody looked, and can be copied."""

import copy

import torch

import surefoot as sf
from surefoot.acquisition.feasibility import Feasibility
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


def test_the_sums_over_arms_are_those_of_any_points() -> None:
    generator = torch.Generator().manual_seed(0)
    sites = torch.rand(9, 1, dtype=torch.float64, generator=generator)
    kernel, arms = sf.kernels.squared_exponential(0.3), LINE.clone()
    chance = Feasibility(kernel, arms)
    for count in range(1, 7):
        chance = chance.updated(kernel, sites[:count], sites[6 : 7 + count // 3])
        assert torch.allclose(chance(arms), chance(arms.clone()), rtol=1e-9)
    fewer = chance.updated(kernel, sites[:2], sites[6:7])  # a reward was taken back
    assert torch.equal(
        fewer(arms), Feasibility(kernel, arms).updated(kernel, sites[:2], sites[6:7])(arms)
    )
