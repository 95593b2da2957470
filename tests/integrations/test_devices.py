"""BoTorch's model and Optuna's sampler on the device of `pytest --device cuda`."""

import optuna
import pytest
import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler

import surefoot as sf
from support.device import DEVICE
from surefoot.integrations.botorch import RobustGP
from surefoot.integrations.optuna import SurefootSampler

pytestmark = pytest.mark.skipif(DEVICE.type == "cpu", reason="needs `--device` with another one")
BOUNDS = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)


def data(number: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(number, 2, dtype=torch.float64, generator=generator)
    noise = torch.randn(number, 1, dtype=torch.float64, generator=generator)
    return x.to(DEVICE), (torch.sin(5.0 * x[:, :1]) + 0.1 * noise).to(DEVICE)


@pytest.mark.parametrize("integrated", [False, True])
@pytest.mark.parametrize("number", [40, 1100])
def test_a_model_is_where_its_data_are(number: int, integrated: bool) -> None:
    x, y = data(number)
    model, there = RobustGP(x, y, integrated=integrated), RobustGP(x.cpu(), y.cpu())
    posterior = model.posterior(x[:3].reshape(3, 1, 2))
    more = model.condition_on_observations(x[:2], y[:2]).posterior(x[:2])
    for one in (posterior.mean, posterior.variance, posterior.rsample(torch.Size([4])), more.mean):
        assert one.device.type == DEVICE.type
    assert model.outlier_weights.device.type == DEVICE.type
    if not integrated:
        mean = there.posterior(x[:3].reshape(3, 1, 2).cpu()).mean
        torch.testing.assert_close(posterior.mean.cpu(), mean, rtol=1e-5, atol=1e-5)


def test_a_model_that_moves_says_the_same() -> None:
    x, y = data()
    moved, other = RobustGP(x.cpu(), y.cpu()).to(DEVICE), RobustGP(x, y)
    mean = moved.posterior(x[:5]).mean
    assert mean.device.type == DEVICE.type
    other.load_state_dict(moved.state_dict())
    torch.testing.assert_close(other.posterior(x[:5]).mean, mean, rtol=1e-9, atol=1e-9)


def test_an_acquisition_is_optimised() -> None:
    x, y = data()
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=0)
    score = qLogNoisyExpectedImprovement(RobustGP(x, y), x, sampler=sampler)
    found, _ = optimize_acqf(score, BOUNDS.to(DEVICE), q=1, num_restarts=2, raw_samples=16)
    assert found.device.type == DEVICE.type


@pytest.mark.parametrize("objectives", [1, 2])
def test_a_study_with_a_limit_running_and_pruned_trials(objectives: int) -> None:
    sampler = SurefootSampler(
        sf.Problem(outcomes={"load": sf.Constraint(maximum=1.5)}), seed=0, device=DEVICE
    )
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * objectives)
    for turn in range(14):
        trial, running = study.ask(), study.ask()
        for one in (trial, running):
            x, kind = one.suggest_float("x", 0.0, 1.0), one.suggest_categorical("kind", "ab")
            one.suggest_int("n", 1, 9)
            one.set_user_attr("load", x + (kind == "b"))
        values = [(x - 0.3) ** 2, 1.0 - x][:objectives]
        failed = optuna.trial.TrialState.FAIL
        study.tell(trial, values) if turn != 3 else study.tell(trial, state=failed)
    assert len(study.trials) == 28
