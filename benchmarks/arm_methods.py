"""Algorithms for arms with heavy-tailed rewards, as the benchmarks compose and compare them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import surefoot as sf
from surefoot.problems import ArmProblem

Build = Callable[[ArmProblem, int, int], sf.Optimizer]  # problem, horizon, seed


def told(
    make: Callable[..., sf.Optimizer],
    problem: ArmProblem,
    seed: int,
    norm_bound: float,
    **settings: Any,
) -> sf.Optimizer:
    """An algorithm that is told the moment of the rewards and a bound on the function's norm."""
    return make(
        problem.space,
        problem.kernel,
        moment=problem.moment,
        norm_bound=norm_bound,
        seed=seed,
        **settings,
    )


def tgp(problem: ArmProblem, horizon: int, seed: int) -> sf.Optimizer:
    """TGP-UCB as in the paper's experiments, where B is max|f|."""
    width = sf.widths.truncated_as_published(problem.moment, problem.largest)
    return told(sf.algorithms.tgp_ucb, problem, seed, problem.largest, width=width)


def ata(features: str, problem: ArmProblem, horizon: int, seed: int) -> sf.Optimizer:
    """ATA-GP-UCB as in the paper's experiments, where B is max|f|.

    The Nyström dictionary is drawn anew when it is due, with the oversampling of practice.
    """
    width = sf.widths.adaptive_as_published(problem.moment, problem.largest, horizon)
    return told(
        sf.algorithms.ata_gp_ucb,
        problem,
        seed,
        problem.largest,
        horizon=horizon,
        features=features,
        resample="adaptive",
        width=width,
    )


def gp(
    estimator: type, standardise: bool, problem: ArmProblem, horizon: int, seed: int
) -> sf.Optimizer:
    """GP-UCB with the width of `robust_ucb`; with `standardise`, its units of rewards too."""
    return sf.Optimizer(
        problem.space,
        problem.kernel,
        estimator=estimator(),
        width=sf.widths.srinivas(scale=0.5),
        standardise=standardise,
        seed=seed,
    )


def robust(problem: ArmProblem, horizon: int, seed: int) -> sf.Optimizer:
    """The default that is told the kernel and nothing else."""
    return sf.algorithms.robust_ucb(problem.space, problem.kernel, seed=seed)


UNTOLD: dict[str, Build] = {
    "robust": robust,
    "gp-ucb": partial(gp, sf.LeastSquares, False),
    "median-of-means": partial(gp, sf.MedianOfMeans, False),
    "gp-ucb-standardised": partial(gp, sf.LeastSquares, True),
    "median-of-means-standardised": partial(gp, sf.MedianOfMeans, True),
}
TOLD: dict[str, Build] = {
    "tgp": tgp,
    "ata-exact": partial(ata, "exact"),
    "ata-fourier": partial(ata, "fourier"),
    "ata-nystrom": partial(ata, "nystrom"),
}
METHODS = TOLD | UNTOLD
