"""qLogNEHVI with a list of BoTorch's default models; the tests replace its import."""

import torch
from botorch.acquisition.multi_objective import qLogNoisyExpectedHypervolumeImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.transforms.outcome import Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.test_functions.multi_objective import BraninCurrin
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import SumMarginalLogLikelihood

torch.manual_seed(0)
problem = BraninCurrin(negate=True).to(torch.float64)
deviation = torch.tensor([2.0, 0.3], dtype=torch.float64)

train_x = draw_sobol_samples(problem.bounds, n=14, q=1, seed=0).squeeze(1)
train_y = problem(train_x) + deviation * torch.randn(14, 2, dtype=torch.float64)
models = [
    SingleTaskGP(train_x, train_y[:, i : i + 1], outcome_transform=Standardize(m=1))
    for i in range(2)
]
model = ModelListGP(*models)
fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
acquisition = qLogNoisyExpectedHypervolumeImprovement(
    model,
    ref_point=problem.ref_point.tolist(),
    X_baseline=train_x,
    prune_baseline=True,
    sampler=SobolQMCNormalSampler(torch.Size([16]), seed=0),
)
candidates, value = optimize_acqf(
    acquisition, problem.bounds, q=2, num_restarts=2, raw_samples=16, options={"maxiter": 10}
)
