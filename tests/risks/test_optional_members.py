"""What a risk of the user's own may say of itself."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import surefoot as sf
from surefoot.risks.risk import batched, differentiable, support_only, translation_equivariant

WEIGHTS = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
KINDS = [sf.risks.Mean(), sf.VaR(0.3), sf.CVaR(0.3), sf.WeightedVaR([0.1, 0.5]), sf.WorstCase()]


@dataclass(frozen=True)
class Delegated:
    """A risk of the user's own, with those members of another that it is to have."""

    risk: Any
    members: tuple[str, ...] = ()

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        return self.risk(values, weights)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        return self.risk.lacing(lower, upper, weights)

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__.get("members", ()):
            raise AttributeError(name)
        return getattr(self.risk, name)


@pytest.mark.parametrize("risk", KINDS, ids=repr)
def test_the_risks_are_translation_equivariant(risk: Any) -> None:
    values = torch.tensor([[3.0, -1.0, 2.0], [0.0, 5.0, 1.0]], dtype=torch.float64)
    assert translation_equivariant(risk)
    assert torch.allclose(risk(values + 7.0, WEIGHTS), risk(values, WEIGHTS) + 7.0)
    assert support_only(risk) == (risk == sf.WorstCase())


def test_nothing_is_assumed_of_a_risk_that_says_nothing() -> None:
    plain = Delegated(sf.WorstCase())
    assert not translation_equivariant(plain)
    assert not support_only(plain)
    values = torch.tensor([[3.0, -1.0, 2.0]], dtype=torch.float64)
    for function in (batched, differentiable):
        assert function(plain, WEIGHTS)(values.clone()).item() == -1.0


@pytest.mark.parametrize("function", [batched, differentiable])
def test_the_faster_ways_are_taken_where_there_are_any(function: Any) -> None:
    rows = torch.randn(50, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for weights in (WEIGHTS, torch.full_like(WEIGHTS, 1.0 / 3.0)):
        expected = sf.VaR(0.3)(rows, weights)
        own = Delegated(sf.VaR(0.3), ("batched", "differentiable"))
        assert torch.allclose(function(own, weights)(rows.clone()), expected, rtol=1e-14)


def test_a_continuous_environment_is_filled_for_a_risk_of_its_support() -> None:
    space = sf.Joint(
        sf.Box([0.0], [1.0]), sf.ContinuousEnvironment(torch.distributions.Uniform(0.0, 1.0))
    )
    kernel = sf.kernels.squared_exponential([0.3, 0.3])
    sizes = {}
    for members in ((), ("support_only",)):
        risk = Delegated(sf.WorstCase(), members)
        optimizer = sf.Optimizer(space, kernel, risk=risk)
        optimizer.tell([0.5], 1.0, environment=[0.5])
        sizes[members] = len(optimizer.belief().sampled(16).z)
    assert sizes == {(): 16, ("support_only",): 34}
