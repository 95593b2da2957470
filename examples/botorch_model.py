"""A closed loop of BoTorch's qLogNEI whose model is robust to outliers."""

import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.optim import optimize_acqf
from botorch.test_functions import Branin

from surefoot.integrations.botorch import RobustGP

torch.manual_seed(0)
problem = Branin(negate=True).to(torch.float64)
x = problem.bounds[0] + (problem.bounds[1] - problem.bounds[0]) * torch.rand(12, 2).double()
y = problem(x).unsqueeze(-1) + torch.randn(12, 1).double()
y[5] += 500.0  # an outlier
for _ in range(2):
    acquisition = qLogNoisyExpectedImprovement(RobustGP(x, y), X_baseline=x)
    new, _ = optimize_acqf(acquisition, problem.bounds, q=2, num_restarts=2, raw_samples=32)
    x, y = torch.cat([x, new]), torch.cat([y, problem(new).unsqueeze(-1) + torch.randn(2, 1)])
model = RobustGP(x, y)
best = x[model.posterior(x).mean.argmax()]
print(f"best {best.tolist()}, weight of the outlier {float(model.outlier_weights[5]):.3f}")
