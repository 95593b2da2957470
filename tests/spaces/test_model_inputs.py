"""What the model sees of designs under environments, and what spaces and estimators say."""

import pytest
import torch
from torch.distributions import Beta

import surefoot as sf

LINE = torch.linspace(0.0, 1.0, 4, dtype=torch.float64).unsqueeze(-1)
FEW = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.2, 0.5, 0.3])
DENSITY = sf.ContinuousEnvironment(Beta(2.0, 3.0))
UNIT = sf.Box([0.0], [1.0])


@pytest.mark.parametrize("space", [sf.Arms(LINE), sf.Arms(4), UNIT], ids=["arms", "bare", "box"])
def test_without_an_environment_the_model_sees_the_designs(space: sf.Arms | sf.Box) -> None:
    x = space.examples(5, torch.Generator().manual_seed(0))
    z, weights = space.environment.values(16, torch.Generator())
    assert space.inputs(x, z) is x
    assert space.lists(x, z) is space.finite
    assert not space.has_environment
    assert (z.shape, weights.tolist()) == ((1, 0), [1.0])


@pytest.mark.parametrize("design", [sf.Arms(LINE), sf.Arms(4), UNIT], ids=["arms", "bare", "box"])
@pytest.mark.parametrize("environment", [FEW, DENSITY], ids=["few", "density"])
def test_inputs_are_all_combinations(
    design: sf.Arms | sf.Box, environment: sf.FiniteEnvironment | sf.ContinuousEnvironment
) -> None:
    if not (design.has_coordinates or environment.finite):
        return
    joint = sf.Joint(design, environment)
    x = design.examples(5, torch.Generator().manual_seed(0))
    z, _ = environment.values(6, torch.Generator().manual_seed(0))
    for some in (x, x[:2]):
        torch.testing.assert_close(joint.inputs(some, z), joint.points(some, z).flatten(0, 1))
    assert joint.has_environment
    assert joint.lists(x, z) is (design.finite and environment.finite)
    assert not joint.lists(x[:2], z)
