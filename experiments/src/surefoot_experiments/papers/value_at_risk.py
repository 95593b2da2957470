"""Figures 3 to 5 of Nguyen et al. 2021, and the same under heavy-tailed noise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from surefoot import InvalidInput
from surefoot_experiments import problems
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.figures import curves
from surefoot_experiments.harness.page import FigureOutput
from surefoot_experiments.harness.trial import Scale, Trial
from surefoot_experiments.papers.risk_runs import (
    HALF,
    HUBER,
    KG,
    LEAST,
    MEASURE,
    NETS,
    PROB,
    RANDOM,
    STUDENT,
    UNIF,
    Make,
    order,
    run_risk,
)
from surefoot_experiments.problems import RiskProblem, portfolio_returns
from surefoot_experiments.problems.recorded_data import Data

PAPER_NAME = "Nguyen et al. 2021, Value-at-Risk Optimization with Gaussian Processes"
_SYNTHETIC = {
    "a": ("Branin-Hoo-(1,1)", problems.branin_11),
    "b": ("Goldstein-Price-(1,1)", problems.goldstein_price_11),
    "c": ("Hartmann-(1,2)", problems.hartmann_12),
    "d": ("Hartmann-(2,1)", problems.hartmann_21),
}
_HEAVY = problems.StudentT(2.0, 0.3)


@cache
def _made(make: Callable[..., RiskProblem], **options: Any) -> RiskProblem:
    """A problem, solved once a process."""
    return make(**options)


def synthetic(trial: Trial, *, make: Callable[..., RiskProblem], options: tuple) -> RiskProblem:
    """A test function of x and z."""
    return _made(make, **dict(options))


def portfolio(trial: Trial) -> RiskProblem:
    """Figure 5a: the return of a trading strategy."""
    points, returns = (torch.from_numpy(trial.array(name)) for name in ("points", "returns"))
    return _fitted(points.numpy().tobytes(), returns.numpy().tobytes())


@cache
def _fitted(points: bytes, returns: bytes) -> RiskProblem:
    rewards = torch.from_numpy(np.frombuffer(returns).copy())
    inputs = torch.from_numpy(np.frombuffer(points).copy()).reshape(len(rewards), -1)
    return problems.portfolio_of(inputs, rewards)


def load_portfolio(folder: Path | None) -> Data:
    """The rows of portfolio.csv; `InvalidInput` without a folder, since nobody ships them."""
    if folder is None:
        raise InvalidInput(
            f"value-at-risk-5a needs {portfolio_returns.FILE}: give --data the folder that holds it"
        )
    points, returns = portfolio_returns.read(folder)
    source = f"{portfolio_returns.FILE}: {len(points)} simulated strategies (Cakmak et al. 2020)"
    return Data(source, {"points": points.numpy(), "returns": returns.numpy()})


_METRIC = (
    "Regret is that of the design recommended, the one of those measured with the largest value at "
    f"risk of the mean; below {LEAST:g} it counts as {LEAST:g}. Kernel (squared exponential) and "
    "noise are fitted every 3 rounds, lengthscales with a Gamma(3, 6) prior where the paper has "
    "none, and the width is √(2 ln(t²π²/0.6)), or half of it where named. rho-KG has 10 fantasies "
    "and 10 functions of each, and its recommendation is made in the same way, where the paper "
    "takes argmax E[VaR] over all x. The paper's text does not say how many evaluations it made."
)


def _experiment(
    name: str,
    figure: str,
    title: str,
    make: Make,
    rounds: int,
    says: str,
    setting: str,
    *,
    methods: tuple[str, ...] = (PROB, UNIF, HALF, KG, RANDOM),
    claims: tuple[tuple[str, str], ...] = ((PROB, UNIF), (PROB, KG), (HALF, KG), (PROB, RANDOM)),
    paper: str = PAPER_NAME,
    load: Callable[[Path | None], Data] | None = None,
    needs_data: bool = False,
) -> Experiment:
    return Experiment(
        name=name,
        paper=paper,
        figure=figure,
        title=title,
        published=Scale(10, rounds),
        quick=Scale(1, 4),
        run=partial(run_risk, make=make, methods=methods),
        says=says,
        setting=f"{setting} {_METRIC}",
        output=FigureOutput(partial(order, claims=claims), curves, MEASURE),
        load=load,
        needs_data=needs_data,
    )


def _figure(number: int, letter: str, continuous: bool) -> Experiment:
    title, make = _SYNTHETIC[letter]
    options = (("continuous", True),) if continuous else ()
    finite = (
        "Z has 64 values" if letter == "c" else "Z has 100 values"
    ) + ", equally spaced, of mass proportional to exp(−(z − 0.5)² / 0.1²)."
    density = "Z is normal about 0.5 with deviation 0.125, cut off at two deviations."
    return _experiment(
        f"value-at-risk-{number}{letter}",
        f"Figure {number}{letter}",
        f"{title}, {'continuous' if continuous else 'finite'} environment",
        partial(synthetic, make=make, options=options),
        60,
        (
            "V-UCB Prob outperforms ρKG^apx."
            if continuous
            else "V-UCB Unif is on par with ρKG^apx on (a) and (b) and outperforms it on (c) and "
            "(d); V-UCB Prob outperforms V-UCB Unif."
        ),
        f"The function is scaled to unit deviation, noise has variance 0.01, the level is 0.1. "
        f"{density if continuous else finite} Under this noise it takes some 200 evaluations to "
        "tell apart two designs that differ by 0.01, so below −2 the order is mostly chance.",
    )


def _heavy(letter: str) -> Experiment:
    title, make = _SYNTHETIC[letter]
    return _experiment(
        f"own-risk-heavy-tails-{letter}",
        title,
        f"V-UCB under Student-t(2) noise, {title}",
        partial(synthetic, make=make, options=(("noise", _HEAVY),)),
        60,
        "No paper has it: value at risk where measurements have no variance.",
        "As figure 3, with Student-t(2) noise of scale 0.3.",
        methods=(PROB, HUBER, STUDENT, RANDOM),
        claims=((HUBER, PROB), (STUDENT, PROB)),
        paper="surefoot's own",
    )


EXPERIMENTS = [
    *(_figure(3, letter, continuous=False) for letter in _SYNTHETIC),
    *(_figure(4, letter, continuous=True) for letter in _SYNTHETIC),
    _experiment(
        "value-at-risk-5a",
        "Figure 5a",
        "Portfolio optimisation-(3,2)",
        portfolio,
        80,
        "V-UCB outperforms ρKG^apx. All z are equally likely, so Prob and Unif are one.",
        "f is the posterior mean given 3,000 simulated strategies, in %; Z has 10 × 10 equally "
        "likely values; noise has variance 0.01, the level is 0.2. The best x is on two faces of "
        "the cube, where a method that goes there has no regret at all; a width of 4.7 deviations "
        "explores five coordinates for longer than these rounds.",
        methods=(PROB, HALF, KG, RANDOM),
        claims=((PROB, KG), (HALF, KG), (PROB, RANDOM)),
        load=load_portfolio,
        needs_data=True,
    ),
    _experiment(
        "value-at-risk-5b",
        "Figure 5b",
        "Robot pushing-(3,2)",
        partial(synthetic, make=problems.robot_pushing, options=()),
        100,
        "V-UCB outperforms ρKG^apx; Prob and Unif do not differ by much.",
        "A simulated hand pushes a disc towards a goal from a place that is uncertain by z, on "
        "8 × 8 points of [−1, 1]² of mass proportional to exp(−|z|² / 0.4²); noise has variance "
        "0.01, the level is 0.1. Regrets are exact to about 0.01.",
    ),
    _heavy("a"),
    _heavy("c"),
    _experiment(
        "own-risk-continuous",
        "section 3.5",
        "A density's quantiles, or a local neural surrogate?",
        partial(synthetic, make=problems.hartmann_12, options=(("continuous", True),)),
        20,
        "The paper has the surrogate alone, since ordered samples may need too many.",
        "Hartmann-(1,2) with normal Z about 0.5 of deviation 0.125, cut off at two deviations; "
        "quantiles are of 256 values that fill the density evenly.",
        methods=(PROB, NETS),
        claims=((PROB, NETS),),
        paper="surefoot's own",
    ),
]
