"""Figures 3 to 5 of Nguyen et al. 2021, and the same under heavy-tailed noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from surefoot import InvalidInput
from surefoot.estimators import Huber, StudentT
from surefoot_experiments import problems
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.figures import curves
from surefoot_experiments.harness.page import FigureOutput
from surefoot_experiments.harness.trial import Scale
from surefoot_experiments.papers.risk_runs import LEAST, MEASURE, order, run_risk
from surefoot_experiments.papers.risk_settings import (
    CODE,
    KG,
    NOT_STATED,
    OWN,
    OWN_KG,
    PROB,
    QUANTILES,
    RANDOM,
    UNIF,
    Row,
    Task,
    compared,
    rho_kg_rows,
    surefoot_v_ucb,
    v_ucb_rows,
)
from surefoot_experiments.problems import RiskProblem, portfolio_returns
from surefoot_experiments.recorded_data import Data

PAPER_NAME = "Nguyen et al. 2021, Value-at-Risk Optimization with Gaussian Processes"
HUBER, STUDENT = "surefoot's V-UCB, Huber", "surefoot's V-UCB, Student-t"
_UNIT = "zero mean, unit deviation"
_SYNTHETIC: dict[str, tuple[str, Callable[..., RiskProblem], dict[str, Any]]] = {
    "a": (
        "Branin-Hoo-(1,1)",
        problems.branin_11,
        {"scaling": _UNIT, "values": 100, "initial": 3},
    ),
    "b": (
        "Goldstein-Price-(1,1)",
        problems.goldstein_price_11,
        {"scaling": "8.693 - ln f", "values": 100, "initial": 3},
    ),
    "c": (
        "Hartmann-(1,2)",
        problems.hartmann_12,
        {"scaling": _UNIT, "values": 64, "initial": 10},
    ),
    "d": (
        "Hartmann-(2,1)",
        problems.hartmann_21,
        {"scaling": _UNIT, "values": 100, "initial": 10},
    ),
}
_CONTINUOUS_VALUES = 10  # of Z in each search, by Appendix I
_MASS = "on a grid, proportional to exp(-(z - 0.5)²/0.1²)"
_DENSITY = "normal(0.5, 0.125), cut off at two deviations"


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
    "V-UCB's regret is that of the design recommended, the one of those measured with the largest "
    "value at risk of the mean; rho-KG as in BoRisk recommends the design of largest expected "
    f"value at risk, of all. Below {LEAST:g} it counts as {LEAST:g}. The width is "
    "√(2 ln(t²π²/0.6)), with t counted from the first chosen query; that of surefoot's V-UCB "
    "counts the initial points too. The prior mean is a constant that is fitted, as in the "
    "authors' code."
)


def _task(letter: str, *, continuous: bool) -> tuple[Task, Task]:
    """A synthetic problem as it is run, and as it is published."""
    title, make, options = _SYNTHETIC[letter]
    values = NOT_STATED if continuous else options["values"]
    distribution = _DENSITY if continuous else _MASS
    first = "uniform on the support" if continuous else "uniform among the values"
    task = Task(
        make,
        continuous,
        title,
        options["scaling"],
        distribution,
        "density" if continuous else values,
        first,
        options["initial"],
    )
    published = replace(
        task,
        scaling=task.scaling if letter in "ab" else NOT_STATED,
        first_z="uniform on [0, 1] (authors' code)" if continuous else first,
        evaluations=60 if letter == "a" else NOT_STATED,
    )
    return task, published


def _experiment(
    name: str,
    figure: str,
    title: str,
    tasks: tuple[Task, Task | None],
    rows: Sequence[Row],
    says: str,
    setting: str,
    *,
    claims: tuple[tuple[str, str], ...],
    par: tuple[tuple[str, str], ...] = (),
    paper: str = PAPER_NAME,
    load: Callable[[Path | None], Data] | None = None,
) -> Experiment:
    task, published = tasks
    return Experiment(
        name=name,
        paper=paper,
        figure=figure,
        title=title,
        published=Scale(task.trials, int(task.evaluations)),
        quick=Scale(1, 4),
        run=partial(run_risk, task=task, rows=tuple(rows), model=surefoot_v_ucb()),
        says=says,
        setting=setting,
        departures=None if published is None else compared(published, task, rows),
        output=FigureOutput(partial(order, claims=claims, par=par), curves, MEASURE),
        load=load,
        needs_data=load is not None,
    )


def _finite(letter: str) -> Experiment:
    title, task = _SYNTHETIC[letter][0], _task(letter, continuous=False)
    v_ucb = v_ucb_rows(task[0].initial, continuous=False)
    rho_kg = rho_kg_rows(int(task[0].values), continuous=False)
    rows = [*(v_ucb[name] for name in (PROB, UNIF, CODE, OWN)), *rho_kg.values()]
    even = letter in "ab"
    claims = ((PROB, UNIF), (PROB, KG), *(() if even else ((UNIF, KG),)))
    return _experiment(
        f"value-at-risk-3{letter}",
        f"Figure 3{letter}",
        f"{title}, finite environment",
        task,
        rows,
        f"V-UCB Unif {'is on par with' if even else 'outperforms'} ρKG^apx; V-UCB Prob outperforms "
        "V-UCB Unif.",
        f"Under this noise it takes some 200 evaluations to tell apart two designs that differ by "
        f"0.01, so below −2 the order is mostly chance. {_METRIC}",
        claims=(*claims, (PROB, OWN_KG), (OWN, OWN_KG), (PROB, RANDOM)),
        par=((UNIF, KG),) if even else (),
    )


def _continuous(letter: str) -> Experiment:
    title, task = _SYNTHETIC[letter][0], _task(letter, continuous=True)
    v_ucb = v_ucb_rows(task[0].initial, continuous=True)
    rho_kg = rho_kg_rows(_CONTINUOUS_VALUES, continuous=True)
    return _experiment(
        f"value-at-risk-4{letter}",
        f"Figure 4{letter}",
        f"{title}, continuous environment",
        task,
        [*(v_ucb[name] for name in (PROB, QUANTILES, OWN)), *rho_kg.values()],
        "V-UCB Prob outperforms ρKG^apx.",
        "V-UCB Prob is maximised by local neural surrogates with 10 samples of Z in each step of a "
        f"fit; with quantiles, on 256 values of Z. {_METRIC}",
        claims=((PROB, KG), (PROB, OWN_KG), (OWN, OWN_KG), (PROB, QUANTILES), (PROB, RANDOM)),
    )


def _simulated(
    letter: str,
    title: str,
    task: Task,
    published: Task,
    names: tuple[str, ...],
    says: str,
    setting: str,
    **more: Any,
) -> Experiment:
    v_ucb = v_ucb_rows(task.initial, continuous=False)
    rho_kg = rho_kg_rows(int(task.values), continuous=False)
    return _experiment(
        f"value-at-risk-5{letter}",
        f"Figure 5{letter}",
        title,
        (task, published),
        [*(v_ucb[name] for name in names), *rho_kg.values()],
        says,
        f"{setting} {_METRIC}",
        **more,
    )


def _heavy(letter: str) -> Experiment:
    title = _SYNTHETIC[letter][0]
    task, _ = _task(letter, continuous=False)
    methods = {OWN: surefoot_v_ucb(), HUBER: surefoot_v_ucb(Huber())}
    methods[STUDENT] = surefoot_v_ucb(StudentT())
    return _experiment(
        f"own-risk-heavy-tails-{letter}",
        title,
        f"V-UCB under Student-t(2) noise, {title}",
        (replace(task, noise=problems.StudentT(2.0, 0.3)), None),
        [Row(name, settings, settings) for name, settings in methods.items()],
        "No paper has it: value at risk where measurements have no variance.",
        "As figure 3, with Student-t(2) noise of scale 0.3 and the library's defaults.",
        claims=((HUBER, OWN), (STUDENT, OWN)),
        paper="surefoot's own",
    )


_PORTFOLIO = Task(
    problems.portfolio_of,
    continuous=False,
    function="posterior mean given 3,000 simulated strategies, in %",
    scaling="none",
    distribution="uniform on a 10 × 10 grid",
    values=100,
    first_z="uniform among the values",
    initial=20,
    level=0.2,
    evaluations=80,
)
_ROBOT = Task(
    problems.robot_pushing,
    continuous=False,
    function="simulated in pymunk",
    scaling="none",
    distribution="on a grid in [-1, 1]², proportional to exp(-|z|²/0.4²)",
    values=64,
    first_z="uniform among the values",
    initial=30,
    evaluations=100,
)

EXPERIMENTS = [
    *(_finite(letter) for letter in _SYNTHETIC),
    *(_continuous(letter) for letter in _SYNTHETIC),
    _simulated(
        "a",
        "Portfolio optimisation-(3,2)",
        _PORTFOLIO,
        replace(_PORTFOLIO, scaling=NOT_STATED, evaluations=NOT_STATED),
        (PROB, CODE, OWN),
        "V-UCB outperforms ρKG^apx. All z are equally likely, so Prob and Unif are one.",
        "The best x is on two faces of the cube, where a method that goes there has no regret.",
        claims=((PROB, KG), (CODE, KG), (PROB, OWN_KG), (OWN, OWN_KG), (PROB, RANDOM)),
        load=load_portfolio,
    ),
    _simulated(
        "b",
        "Robot pushing-(3,2)",
        _ROBOT,
        replace(
            _ROBOT,
            function="simulated by Wang and Jegelka (2017), in Box2D",
            scaling=NOT_STATED,
            evaluations=NOT_STATED,
            optimum="largest among the queries of all runs, + 0.01",
        ),
        (PROB, UNIF, CODE, OWN),
        "V-UCB outperforms ρKG^apx; Prob and Unif do not differ by much.",
        "A simulated hand pushes a disc towards a goal from a place that is uncertain by z. "
        "Regrets are exact to about 0.01.",
        claims=((PROB, KG), (UNIF, KG), (PROB, OWN_KG), (OWN, OWN_KG), (PROB, RANDOM)),
        par=((PROB, UNIF),),
    ),
    _heavy("a"),
    _heavy("c"),
]
