"""What a risk of the user's own may say of itself."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import surefoot as sf
from surefoot.beliefs import Candidates
from surefoot.risks import support_only

KINDS = [sf.risks.Mean(), sf.VaR(0.3), sf.CVaR(0.3), sf.WorstCase()]


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
def test_the_worst_case_alone_depends_on_the_support_only(risk: Any) -> None:
    assert support_only(risk) == (risk == sf.WorstCase())


def test_nothing_is_assumed_of_a_risk_that_says_nothing() -> None:
    assert not support_only(Delegated(sf.WorstCase()))


def test_a_continuous_environment_is_filled_for_a_risk_of_its_support() -> None:
    space = sf.Joint(
        sf.Box([0.0], [1.0]), sf.ContinuousEnvironment(torch.distributions.Uniform(0.0, 1.0))
    )
    kernel = sf.kernels.squared_exponential([0.3, 0.3])
    sizes = {}
    for members in ((), ("support_only",)):
        risk = Delegated(sf.WorstCase(), members)
        optimizer = sf.Optimizer(sf.Problem(space, risk=risk), sf.Method(kernel))
        optimizer.tell([0.5], 1.0, environment=[0.5])
        sizes[members] = len(Candidates.sampled(optimizer.belief(), 16, optimizer._generator).z)
    assert sizes == {(): 16, ("support_only",): 34}
