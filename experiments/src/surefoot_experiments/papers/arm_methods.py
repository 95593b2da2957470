"""Algorithms on arms with the settings of the heavy-tails paper, and the robust default."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

from surefoot import Moment, Optimizer, widths
from surefoot.algorithms import ata_gp_ucb, gp_ucb, robust_ucb, tgp_ucb
from surefoot.estimators import LeastSquares, MedianOfMeans
from surefoot_experiments.papers.arm_runs import Build
from surefoot_experiments.problems import ArmProblem

TGP, QFF, NYSTROM = "TGP-UCB", "ATA-GP-UCB-QFF", "ATA-GP-UCB-Nyström"
ROBUST, GP, MEDIANS = "robust_ucb", "GP-UCB", "median of means"
RIDGE_NOTE = (
    "Ridge 1; widths and thresholds are those of the authors' code (`truncated_as_published`, "
    "`adaptive_as_published`), which leave out constants of the theorems, with B = max|f|. The "
    "Nyström dictionary is resampled adaptively, with an oversampling of 4: that of "
    "the theorem at ε = 0.1 selects nearly every arm pulled."
)


def tgp(problem: ArmProblem, rounds: int, seed: int, *, moment: Moment | None = None) -> Optimizer:
    """TGP-UCB with the paper's width; `moment` is that of the problem unless given."""
    moment = moment or problem.moment
    return tgp_ucb(
        problem.space,
        problem.kernel,
        moment=moment,
        norm_bound=problem.largest,
        width=widths.truncated_as_published(moment, problem.largest),
        seed=seed,
    )


def ata(
    problem: ArmProblem,
    rounds: int,
    seed: int,
    *,
    features: Literal["fourier", "nystrom", "exact"],
    root: Literal["cholesky", "symmetric"] = "cholesky",
    theorem: bool = False,
    moment: Moment | None = None,
) -> Optimizer:
    """ATA-GP-UCB with the paper's width, or the theorem's; quadrature features have 32 nodes."""
    moment = moment or problem.moment
    published = widths.adaptive_as_published(moment, problem.largest, rounds)
    return ata_gp_ucb(
        problem.space,
        problem.kernel,
        moment=moment,
        norm_bound=problem.norm_bound if theorem else problem.largest,
        horizon=rounds,
        features=features,
        resample="adaptive",
        root=root,
        width=None if theorem else published,
        seed=seed,
    )


def gaussian(
    problem: ArmProblem,
    rounds: int,
    seed: int,
    *,
    estimator: type[LeastSquares] | type[MedianOfMeans] = LeastSquares,
) -> Optimizer:
    """GP-UCB, or another estimate in its place, with the width of `robust_ucb`."""
    width = widths.srinivas(scale=0.5)
    if estimator is LeastSquares:
        return gp_ucb(problem.space, problem.kernel, width=width, seed=seed)
    return Optimizer(problem.space, problem.kernel, estimator=estimator(), width=width, seed=seed)


def robust(problem: ArmProblem, rounds: int, seed: int) -> Optimizer:
    """The robust default, given the kernel only."""
    return robust_ucb(problem.space, problem.kernel, seed=seed)


PAPER: Mapping[str, Build] = {
    TGP: tgp,
    QFF: partial(ata, features="fourier"),
    NYSTROM: partial(ata, features="nystrom"),
}
WITHOUT_QUADRATURE: Mapping[str, Build] = {name: PAPER[name] for name in (TGP, NYSTROM)}
ALL: Mapping[str, Build] = {
    ROBUST: robust,
    GP: gaussian,
    MEDIANS: partial(gaussian, estimator=MedianOfMeans),
    **WITHOUT_QUADRATURE,
}
