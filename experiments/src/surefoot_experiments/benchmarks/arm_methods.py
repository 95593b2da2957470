"""Algorithms for arms with heavy-tailed rewards, as the benchmarks compose and compare them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import surefoot as sf
from surefoot.hyperparameters import GivenHyperparameters
from surefoot_experiments.baselines import MedianOfMeans
from surefoot_experiments.papers.arm_methods import robust
from surefoot_experiments.papers.arm_settings import (
    OWN_EXACT,
    OWN_NYSTROM,
    OWN_QFF,
    PUBLISHED_TGP,
)
from surefoot_experiments.problems import ArmProblem

Build = Callable[[ArmProblem, int, int], sf.Optimizer]  # problem, horizon, seed


def with_bounds(
    make: Callable[..., sf.Optimizer],
    problem: ArmProblem,
    seed: int,
    norm_bound: float,
    **settings: Any,
) -> sf.Optimizer:
    """An algorithm that is given the moment of the rewards and a bound on the function's norm."""
    return make(
        problem.space,
        problem.kernel,
        moment=problem.moment,
        norm_bound=norm_bound,
        seed=seed,
        **settings,
    )


def gp(
    estimator: type, standardise: bool, problem: ArmProblem, horizon: int, seed: int
) -> sf.Optimizer:
    """GP-UCB with the width of `robust_ucb`; with `standardise`, its units of rewards too."""
    return sf.Optimizer(
        problem.space,
        sf.Method(
            GivenHyperparameters(problem.kernel, 1.0, standardise),
            estimator=estimator(),
            width=sf.widths.srinivas(scale=0.5),
        ),
        seed=seed,
    )


WITHOUT_MOMENTS: dict[str, Build] = {
    "robust": robust,
    "gp-ucb": partial(gp, sf.LeastSquares, False),
    "median-of-means": partial(gp, MedianOfMeans, False),
    "gp-ucb-standardised": partial(gp, sf.LeastSquares, True),
    "median-of-means-standardised": partial(gp, MedianOfMeans, True),
}
WITH_MOMENTS: dict[str, Build] = {
    "tgp": PUBLISHED_TGP,
    "ata-exact": OWN_EXACT,
    "ata-fourier": OWN_QFF,
    "ata-nystrom": OWN_NYSTROM,
}
METHODS = WITH_MOMENTS | WITHOUT_MOMENTS
