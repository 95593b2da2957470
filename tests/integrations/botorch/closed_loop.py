"""Closed loop of qLogNEI with BoTorch's default model; the tests replace its import."""

import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models.gp_regression import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.test_functions import Branin
from botorch.utils.sampling import draw_sobol_samples
from botorch.utils.transforms import unnormalize
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
problem = Branin(negate=True).to(torch.float64)
unit = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)


def measure(x):
    values = problem(unnormalize(x, problem.bounds)).unsqueeze(-1)
    return values + 0.5 * torch.randn_like(values)


def initialize(x, y, state=None):
    model = SingleTaskGP(x, y)
    if state is not None:
        model.load_state_dict(state)
    return ExactMarginalLogLikelihood(model.likelihood, model), model


train_x = draw_sobol_samples(unit, n=12, q=1, seed=0).squeeze(1)
train_y = measure(train_x)
train_y[4] += 300.0  # an outlier
mll, model = initialize(train_x, train_y)
for _ in range(2):
    fit_gpytorch_mll(mll)
    acquisition = qLogNoisyExpectedImprovement(
        model, X_baseline=train_x, sampler=SobolQMCNormalSampler(torch.Size([16]), seed=0)
    )
    candidates, _ = optimize_acqf(
        acquisition, bounds=unit, q=2, num_restarts=2, raw_samples=16, options={"maxiter": 15}
    )
    train_x = torch.cat([train_x, candidates.detach()])
    train_y = torch.cat([train_y, measure(candidates.detach())])
    mll, model = initialize(train_x, train_y, model.state_dict())
fit_gpytorch_mll(mll)
best = train_x[model.posterior(train_x).mean.argmax()]
regret = float(problem.optimal_value - problem(unnormalize(best, problem.bounds)))
