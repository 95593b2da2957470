"""BoTorch's qLogNEHVI as an Optuna sampler, with the rules that its tutorials and Ax have."""

from __future__ import annotations

import warnings
from typing import Any

import optuna
import torch
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch.utils.multi_objective.hypervolume import infer_reference_point
from botorch.utils.multi_objective.pareto import is_non_dominated
from gpytorch.mlls import SumMarginalLogLikelihood
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

_SAMPLES, _RESTARTS, _RAW, _STEPS = 64, 4, 128, 100


class LogNEHVISampler(BaseSampler):
    """qLogNEHVI over parameters in [0, 1], after a Sobol design of two points a parameter.

    Models are `SingleTaskGP`s of standardised values. The reference point is inferred from the
    front of their posterior means.

    Args:
        seed: Seed of the design, the samples and the restarts.

    References:
        Ament et al. 2023, "Unexpected improvements to expected improvement for Bayesian
        optimization"; Daulton, Balandat and Bakshy 2021, "Parallel Bayesian optimization of
        multiple noisy objectives with expected hypervolume improvement".
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {}

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        self._next = self._chosen(study, done).tolist() if done else []

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> float:
        if not self._next:  # the first trial, before the number of parameters is known
            self._next = [0.5] * 99
        return float(self._next.pop(0))

    def _chosen(self, study: optuna.Study, done: list[FrozenTrial]) -> torch.Tensor:
        x = torch.tensor([list(one.params.values()) for one in done], dtype=torch.float64)
        if len(done) < 2 * x.shape[1]:
            engine = torch.quasirandom.SobolEngine(x.shape[1], scramble=True, seed=self.seed)
            return engine.draw(len(done) + 1, dtype=torch.float64)[-1]
        signs = [1.0 if one.name == "MAXIMIZE" else -1.0 for one in study.directions]
        y = torch.tensor([one.values for one in done], dtype=torch.float64)
        y = y * torch.tensor(signs, dtype=torch.float64)
        torch.manual_seed(self.seed + len(done))
        model = ModelListGP(
            *(SingleTaskGP(x, each[:, None], outcome_transform=Standardize(1)) for each in y.T)
        )
        with warnings.catch_warnings(action="ignore"):
            fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
            with torch.no_grad():
                means = model.posterior(x).mean
            reference = infer_reference_point(means[is_non_dominated(means)])
            sampler = SobolQMCNormalSampler(torch.Size([_SAMPLES]), seed=self.seed)
            score = qLogNoisyExpectedHypervolumeImprovement(
                model, reference, x, sampler=sampler, prune_baseline=True, cache_root=True
            )
            found, _ = optimize_acqf(
                score,
                torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, x.shape[1]),
                q=1,
                num_restarts=_RESTARTS,
                raw_samples=_RAW,
                options={"maxiter": _STEPS},
            )
        return found[0]
