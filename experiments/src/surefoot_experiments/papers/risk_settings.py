"""Settings of the value-at-risk experiments; what is compared with the paper builds the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

import numpy as np
import torch

from surefoot import Optimizer
from surefoot.acquisition import By, Lacing
from surefoot.algorithms import v_ucb
from surefoot.estimators import Estimator, LeastSquares
from surefoot.hyperparameters import GAUSSIAN, HyperparameterFit
from surefoot.widths import Width, constant, srinivas
from surefoot_experiments import problems
from surefoot_experiments.baselines import ExpectedRisk, RiskKnowledgeGradient, rho_kg
from surefoot_experiments.harness.departures import Departure, departures, setting, stated
from surefoot_experiments.harness.trial import Trial
from surefoot_experiments.harness.variants import variant
from surefoot_experiments.lnso import SurrogateBound
from surefoot_experiments.problems import RiskProblem
from surefoot_experiments.problems.noise import Noise

NOT_STATED = "not stated"
SQUARED_EXPONENTIAL, MATERN = "squared exponential", "Matérn-5/2"
NO_PRIOR, GAMMA_PRIOR = "none (maximum likelihood)", "Gamma(3, 6) of the lengthscales"
_KERNELS = {SQUARED_EXPONENTIAL: "squared_exponential", MATERN: "matern-5/2"}
_PRIORS = {NO_PRIOR: "flat", GAMMA_PRIOR: "short"}


def _fit(kernel: str, prior: str, every: int, estimator: Estimator) -> HyperparameterFit:
    """The fit of these settings, with Gaussian noise unless the estimator is robust."""
    dof = GAUSSIAN if isinstance(estimator, LeastSquares) else None
    return HyperparameterFit(_KERNELS[kernel], dof=dof, every=every, lengthscales=_PRIORS[prior])  # type: ignore[arg-type]


class Search(Protocol):
    """How V-UCB searches for a design where Z has a density."""

    def __call__(self, lacing: Lacing) -> SurrogateBound | None:
        """The policy in place of V-UCB's own, if there is one."""


@dataclass(frozen=True)
class Quantiles:
    """By the quantile of values that fill the environment evenly."""

    def __call__(self, lacing: Lacing) -> None:
        return None

    def __str__(self) -> str:
        return "quantiles"


@dataclass(frozen=True)
class Surrogates:
    """By local neural surrogates."""

    starts: int = 8

    def __call__(self, lacing: Lacing) -> SurrogateBound:
        return SurrogateBound(lacing, self.starts)

    def __str__(self) -> str:
        net = SurrogateBound().surrogate
        return (
            f"surrogates from {self.starts} starts; {net.fit_steps} steps of the first fit, "
            f"{net.refit_steps} of the others; at most {net.climb_steps} steps in each of "
            f"{net.balls} balls of radius {net.radius:g}"
        )


_AUTHORS_SEARCH = stated(  # scripts and functions of github.com/qphong/BayesOpt-LV
    "surrogates from 50 starts on a grid; 1,000 steps of each fit; 2,000 steps in squares of half "
    "the side 0.1, halved where they are not left"
)


@dataclass(frozen=True)
class VUCB:
    """Settings of V-UCB."""

    lacing: Lacing = setting("lacing value")
    search: Search = setting("search for x")
    width: Width = setting("width")
    kernel: str = setting("kernel", default=SQUARED_EXPONENTIAL)
    prior: str = setting("prior of the hyperparameters", default=NO_PRIOR)
    every: int = setting("rounds between fits", default=3)
    estimator: Estimator = setting("estimator", default=LeastSquares())

    def build(self, problem: RiskProblem, seed: int) -> Optimizer:
        """The optimizer of these settings."""
        optimizer = variant(
            v_ucb(
                problem.joint,
                level=level_of(problem),
                lacing=self.lacing,
                width=self.width,
                initial=0,
                seed=seed,
            ),
            estimator=self.estimator,
            kernel=_fit(self.kernel, self.prior, self.every, self.estimator),
        )
        if (policy := self.search(self.lacing)) is not None:
            optimizer.policy = policy
        return optimizer


@dataclass(frozen=True)
class RhoKG:
    """Settings of rho-KG^apx."""

    values: int | str = setting("values of Z")
    fantasies: int = setting("fantasies")
    samples: int | str = setting("functions of each posterior")
    raw: int | str = setting("random pairs that are screened")
    starts: int | str = setting("starts of the ascent")
    kernel: str = setting("kernel")
    prior: str = setting("prior of the hyperparameters")
    every: int = setting("rounds between fits")
    recommendation: By = setting("recommendation")

    def build(self, problem: RiskProblem, seed: int) -> Optimizer:
        """The optimizer of these settings."""
        return rho_kg(
            problem.joint,
            level=level_of(problem),
            policy=RiskKnowledgeGradient(
                self.fantasies,
                int(self.samples),
                int(self.values),
                raw=int(self.raw),
                starts=int(self.starts),
            ),
            recommendation=self.recommendation,
            hyperparameters=_fit(self.kernel, self.prior, self.every, LeastSquares()),
            initial=0,
            seed=seed,
        )


@dataclass(frozen=True)
class Row:
    """An algorithm of a figure: its settings, and those that the paper has for it."""

    name: str
    settings: VUCB | RhoKG
    published: VUCB | RhoKG


@dataclass(frozen=True)
class Task:
    """A problem: what is compared with the paper, and how to make it."""

    make: Callable[..., RiskProblem]
    continuous: bool
    function: str = setting("function")
    scaling: str = setting("scaling of f")
    distribution: str = setting("distribution of Z")
    values: int | str = setting("values of Z")
    first_z: str = setting("first z")
    initial: int = setting("initial points")
    noise: Noise = setting("noise", default=problems.Gaussian(0.1))
    level: float = setting("risk level", default=0.1)
    evaluations: int | str = setting("evaluations", default=60)
    trials: int = setting("trials", default=10)
    optimum: str = setting("optimum in the regret", default="searched with f known")

    def problem(self, trial: Trial) -> RiskProblem:
        """The problem, solved once a process."""
        return _made(self) if trial.data is None else _fitted(self, *_rows_of(trial))


def level_of(problem: RiskProblem) -> float:
    """The level of a problem under value at risk."""
    level: float = problem.risk.level  # type: ignore[attr-defined]
    return level


def compared(published: Task, task: Task, rows: Sequence[Row]) -> list[Departure]:
    """Where the problem and the rows that are run are not the published ones."""
    found = departures(published, {"problem": task})
    for row in rows:
        found += departures(row.published, {row.name: row.settings})
    return found


@cache
def _made(task: Task) -> RiskProblem:
    options = {"continuous": True} if task.continuous else {}
    return replace(task.make(task.noise, level=task.level, **options), initial=task.initial)


@cache
def _fitted(task: Task, points: bytes, returns: bytes) -> RiskProblem:
    rewards = torch.from_numpy(np.frombuffer(returns).copy())
    inputs = torch.from_numpy(np.frombuffer(points).copy()).reshape(len(rewards), -1)
    made = task.make(inputs, rewards, task.noise, level=task.level)
    return replace(made, initial=task.initial)


def _rows_of(trial: Trial) -> tuple[bytes, bytes]:
    return trial.array("points").tobytes(), trial.array("returns").tobytes()


PROB, UNIF, CODE = "V-UCB Prob", "V-UCB Unif", "V-UCB Prob, width 3"
QUANTILES, OWN = "V-UCB Prob, quantiles", "surefoot's V-UCB"
KG, OWN_KG, RANDOM = "rho-KG as in BoRisk", "surefoot's rho-KG", "random"
_BORISK_PRIORS = "Gamma(3, 6), Gamma(2, 0.15), noise Gamma(1.1, 0.5)"
_QUANTILES = Quantiles()


def v_ucb_rows(initial: int, *, continuous: bool) -> dict[str, Row]:
    """V-UCB as in Section 4 and Appendix I, and as surefoot has it.

    Ties of the probability are broken as in the authors' code with its option for it, and the width
    of 3 is that of its script for finite Z.
    """
    search = Surrogates() if continuous else _QUANTILES
    prob = VUCB("prob-random", search, srinivas(delta=0.1, initial=initial))
    unif, code = replace(prob, lacing="unif"), replace(prob, width=constant(3.0))
    published = replace(prob, search=_AUTHORS_SEARCH) if continuous else prob
    rows = [
        Row(PROB, prob, published),
        Row(UNIF, unif, replace(published, lacing="unif")),
        Row(CODE, code, replace(published, width=constant(3.0))),
        Row(QUANTILES, replace(prob, search=_QUANTILES), published),
        Row(OWN, surefoot_v_ucb(), published),
    ]
    return {row.name: row for row in rows}


def surefoot_v_ucb(estimator: Estimator = LeastSquares()) -> VUCB:
    """The library's default."""
    return VUCB("prob", _QUANTILES, srinivas(), prior=GAMMA_PRIOR, estimator=estimator)


def rho_kg_rows(values: int, *, continuous: bool) -> dict[str, Row]:
    """rho-KG^apx as its authors' code has it, and with the fit and recommendation of V-UCB."""
    rule = ExpectedRisk(max(values, 2), 10)
    borisk = RhoKG(values, 10, 10, 512, 6, MATERN, GAMMA_PRIOR, 1, rule)
    paper = replace(
        borisk,
        values=values if continuous else NOT_STATED,
        samples="40, later 10",
        raw="250 d to 500 d",
        starts="10 d",
        prior=_BORISK_PRIORS,
    )
    own = replace(
        borisk,
        values=40 if continuous else values,
        kernel=SQUARED_EXPONENTIAL,
        every=3,
        recommendation="mean",
    )
    return {KG: Row(KG, borisk, paper), OWN_KG: Row(OWN_KG, own, paper)}
