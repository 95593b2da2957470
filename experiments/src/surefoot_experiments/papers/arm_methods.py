"""Algorithms on arms with the settings of the heavy-tails paper, and the robust default."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot import Method, Optimizer, widths
from surefoot.algorithms import gp_ucb, robust_ucb
from surefoot.estimators import LeastSquares
from surefoot_experiments.baselines import MedianOfMeans
from surefoot_experiments.harness.departures import Departure, departures
from surefoot_experiments.papers.arm_runs import Build
from surefoot_experiments.papers.arm_settings import (
    ATA,
    OWN_NYSTROM,
    OWN_QFF,
    PUBLISHED_NYSTROM,
    PUBLISHED_QFF,
    PUBLISHED_TGP,
    TGP,
)
from surefoot_experiments.problems import ArmProblem

PLAIN, QFF, NYSTROM = "TGP-UCB", "ATA-GP-UCB-QFF", "ATA-GP-UCB-Nyström"
OURS_QFF, OURS_NYSTROM = "surefoot's ATA, quadrature", "surefoot's ATA, Nyström"
ROBUST, GP, MEDIANS = "robust_ucb", "GP-UCB", "median of means"

PAPER: Mapping[str, TGP | ATA] = {
    PLAIN: PUBLISHED_TGP,
    QFF: PUBLISHED_QFF,
    NYSTROM: PUBLISHED_NYSTROM,
    OURS_QFF: OWN_QFF,
    OURS_NYSTROM: OWN_NYSTROM,
}
PER_PULL = "ATA-GP-UCB-Nyström, per pull"
OURS = {OURS_QFF: QFF, OURS_NYSTROM: NYSTROM}  # the row that each is a variant of
VARIANTS = {**OURS, PER_PULL: NYSTROM}


def without_quadrature(rows: Mapping[str, TGP | ATA]) -> dict[str, TGP | ATA]:
    """The rows whose kernel need not be squared exponential."""
    return {name: rows[name] for name in rows if name not in (QFF, OURS_QFF)}


def changed(rows: Mapping[str, TGP | ATA], published: Mapping[str, TGP | ATA]) -> list[Departure]:
    """Where rows depart from the authors' code; surefoot's from the rows that they vary."""
    return [
        one
        for name, settings in rows.items()
        for one in departures(published[VARIANTS.get(name, name)].in_authors_code, {name: settings})
    ]


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
    return Optimizer(
        problem.space, Method(problem.kernel, estimator=estimator(), width=width), seed=seed
    )


def robust(problem: ArmProblem, rounds: int, seed: int) -> Optimizer:
    """The robust default, given the kernel only."""
    return robust_ucb(problem.space, problem.kernel, seed=seed)


def medians(problem: ArmProblem, rounds: int, seed: int) -> Optimizer:
    """The median of means in place of least squares."""
    return gaussian(problem, rounds, seed, estimator=MedianOfMeans)


ALL: Mapping[str, Build] = {
    ROBUST: robust,
    GP: gaussian,
    MEDIANS: medians,
    PLAIN: PUBLISHED_TGP,
    OURS_NYSTROM: OWN_NYSTROM,
}
