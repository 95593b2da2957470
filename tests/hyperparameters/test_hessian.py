"""Second derivatives of the log marginal likelihood."""

import pytest
import torch

from surefoot.hyperparameters.evidence import Evidence, Hyperparameters
from surefoot.hyperparameters.laplace import hessian
from surefoot.hyperparameters.nuisance_effects import DriftEffect, GroupEffect
from surefoot.kernels.families import FAMILIES

NUMBER, STEP = 20, 1e-4
GENERATOR = torch.Generator().manual_seed(0)
SITES = torch.rand(NUMBER - 4, 3, generator=GENERATOR, dtype=torch.float64)
POINTS = torch.cat([SITES, SITES[:3], SITES[:1] + 1e-5])  # replicates, and a close point
REWARDS = torch.randn(NUMBER, generator=GENERATOR, dtype=torch.float64)
WEIGHTS = 0.1 + torch.rand(NUMBER, generator=GENERATOR, dtype=torch.float64)
WEIGHTS[2] = 1e-12  # an outlier
TIMES = torch.arange(NUMBER, dtype=torch.float64)
EFFECTS = {
    "alone": ((), []),
    "worker, drift": (
        (GroupEffect("worker", torch.arange(NUMBER) % 3.0), DriftEffect(TIMES, 3.0)),
        [-1.0, -0.5, 0.3],
    ),
}


@pytest.mark.parametrize("name", EFFECTS)
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_second_derivatives_are_those_of_the_gradient(family, name):
    effects, logs = EFFECTS[name]
    errors = 0.1 * WEIGHTS
    evidence = Evidence(POINTS, REWARDS, torch.tensor([0, 1, 1]), family, None, errors, effects)
    model = Hyperparameters(
        torch.tensor([-0.5, 0.3, 0.2, -1.0], dtype=torch.float64),
        torch.tensor(logs, dtype=torch.float64),
    )
    rows = []
    for move in STEP * torch.eye(len(model.free), dtype=torch.float64):
        ends = [
            torch.from_numpy(evidence.log_likelihood(model.moved_to(at), WEIGHTS)[1])
            for at in (model.free + move, model.free - move)
        ]
        rows.append((ends[0] - ends[1]) / (2.0 * STEP))
    found = torch.from_numpy(hessian(evidence, model, WEIGHTS))
    torch.testing.assert_close(found, torch.stack(rows), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found, found.T, rtol=1e-6, atol=1e-6)
