"""Time of one ask over a random environment: V-UCB, the paper's surrogate, and rho-KG.

All run in turns in one process, on the same measurements: Hartmann-(1,2) with 64 values of Z, or
with a density for the surrogate. CPU seconds, with the kernel fitted again and without.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import surefoot as sf
from surefoot.acquisition import ScorePolicy
from surefoot_experiments import problems
from surefoot_experiments.baselines import RiskKnowledgeGradient
from surefoot_experiments.benchmarks.fresh_process import in_fresh_process, peak_memory
from surefoot_experiments.harness.tables import TableOutput, benchmark, ran_on, table_from
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.harness.variants import variant
from surefoot_experiments.lnso import SurrogateBound

OBSERVATIONS, REPEATS = 60, 5
DESIGNS = sf.Arms(torch.linspace(0, 1, 100, dtype=torch.float64).unsqueeze(-1))
ENVIRONMENT = sf.FiniteEnvironment(torch.linspace(0, 1, 30, dtype=torch.float64))
GRID = sf.Joint(DESIGNS, ENVIRONMENT)
BOUND, GAIN, AUTHORS, QUANTILES = (
    "V-UCB",
    "rho-KG, V-UCB's search (512 raw points, 6 starts)",
    "rho-KG, its authors' search (500 d raw points, 10 d starts)",
    "V-UCB, continuous Z, quantiles",
)
SURROGATE = "V-UCB, continuous Z, neural surrogate (LNSO)"

TEXT = """# Time of an ask over a random environment

Hartmann-(1,2) after {observations} measurements; 64 values of Z, or a density. Median of {repeats}
asks in turns, CPU seconds of one thread; "with the fit" is the first ask after a reward, which
learns the kernel again, as every third one does. The surrogate's last column is over V-UCB with
quantiles, all others' over V-UCB with a finite Z. The fit is the same for all. rho-KG has K = 10
fantasies and M = 40 functions of each; its second row has the search sizes of its authors' code.

Run {date} on {cores} cores, CPU. {versions}.

{table}

The process took {memory:.0f} MiB at the most.

## Thousands of rounds

V-UCB on 100 designs and 30 values of Z with Student-t(2) noise of scale 0.3, the kernel given:
milliseconds a round of `ask` and `tell`, and the regret of x in R_t / t (of a random design:
{chance:.2f}).

{rounds}
"""


def after(observations: int, continuous: bool) -> sf.Optimizer:
    """V-UCB after its first measurements."""
    problem = problems.hartmann_12(continuous=continuous)
    optimizer = sf.algorithms.v_ucb(problem.joint, level=0.1, initial=observations, seed=0)
    noise = np.random.default_rng(0)
    for _ in range(observations):
        query: Any = optimizer.ask()
        optimizer.tell(query, problem.measure(query.point, query.environment, noise))
    return optimizer


def seconds(optimizer: sf.Optimizer, policy: sf.acquisition.Policy) -> float:
    """CPU seconds of one ask, which is then forgotten."""
    optimizer.policy = policy
    started = time.process_time()
    query = optimizer.ask()
    spent = time.process_time() - started
    optimizer.forget(query, failed=False)
    return spent


def long_run(features: Any, estimator: Any, rounds: int) -> dict[str, str]:
    """V-UCB on arms: milliseconds early and late, regret, and features."""
    values, regret = surface()
    kernel, width = sf.kernels.squared_exponential([0.2, 0.2]), sf.widths.srinivas(scale=0.3)
    optimizer = variant(
        sf.algorithms.v_ucb(GRID, kernel, level=0.1, width=width, ridge=0.25),
        features=features,
        estimator=estimator,
    )
    noise = np.random.default_rng(0)
    marks, lost, features_used = [time.process_time()], 0.0, 0
    for round_ in range(1, rounds + 1):
        query: Any = optimizer.ask()
        z = ENVIRONMENT.index(query.environment)
        info = optimizer.tell(query, float(values[query.arm, z]) + 0.3 * noise.standard_t(2))
        lost, features_used = lost + float(regret[query.arm]), info.dimension
        if round_ in (rounds // 3, 2 * rounds // 3, rounds):
            marks.append(time.process_time())
    early, _, late = (3e3 * part / rounds for part in np.diff(marks))
    return {
        "first third, ms": f"{early:.1f}",
        "last third, ms": f"{late:.1f}",
        "regret": f"{lost / rounds:.3f}",
        "features": f"{features_used}",
    }


def surface() -> tuple[torch.Tensor, torch.Tensor]:
    """f at every pair (100, 30), and the regret of every design in its value at risk."""
    points = GRID.points(DESIGNS.points, ENVIRONMENT.points)
    x, z = points[..., 0], points[..., 1]
    values = torch.sin(6 * x) * torch.cos(4 * z) + x * z
    risk = sf.VaR(0.1)(values, ENVIRONMENT.weights_at(DESIGNS.points))
    return values, risk.max() - risk


def asks(observations: int) -> tuple[list[dict[str, str]], float]:
    """Seconds of an ask of each method, and the most memory of this process in MiB."""
    finite, continuous = after(observations, False), after(observations, True)
    dimensions = 3
    authors = RiskKnowledgeGradient(raw=500 * dimensions, starts=10 * dimensions)
    methods: dict[str, Callable[[], float]] = {
        BOUND: lambda: seconds(finite, ScorePolicy()),
        GAIN: lambda: seconds(finite, RiskKnowledgeGradient()),
        AUTHORS: lambda: seconds(finite, authors),
        QUANTILES: lambda: seconds(continuous, ScorePolicy()),
        SURROGATE: lambda: seconds(continuous, SurrogateBound()),
    }
    first = {name: methods[name]() for name in (BOUND, QUANTILES)}  # which fit the kernel
    taken: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(REPEATS):
        for name, ask in methods.items():
            taken[name].append(ask())
    medians = {name: float(np.median(each)) for name, each in taken.items()}
    rows = []
    for name, median in medians.items():
        fit = QUANTILES if name in (QUANTILES, SURROGATE) else BOUND
        over = QUANTILES if name == SURROGATE else BOUND
        rows.append(
            {
                "method": name,
                "seconds": f"{median:.2f}",
                "with the fit": f"{median + first[fit] - medians[fit]:.2f}",
                "over V-UCB": f"{median / medians[over]:.1f}",
            }
        )
    return rows, peak_memory()


def run(trial: Trial) -> Rows:
    """The asks, or thousands of rounds."""
    if trial.case == "asks":
        observations = min(OBSERVATIONS, trial.rounds)
        rows, memory = in_fresh_process(asks, observations)
        return {"asks": rows, "process": [{"memory": memory, "observations": observations}]}
    sketch = sf.Nystrom(sf.LeverageSampling(5.0, "adaptive"))
    runs = {
        "exact, least squares": (sf.Exact(), sf.LeastSquares()),
        "exact, Huber": (sf.Exact(), sf.Huber()),
        "sketch (q̄ = 5), least squares": (sketch, sf.LeastSquares()),
        "sketch (q̄ = 5), Huber": (sketch, sf.Huber()),
    }
    return {
        "rounds": [
            {"features, estimator": name, **long_run(*parts, trial.rounds)}
            for name, parts in runs.items()
        ]
    }


def report(tables: Tables) -> str:
    """Both tables."""
    texts = {
        name: table_from(
            tables[name].drop(columns=["experiment", "case", "trial"]).to_dict("records")
        )
        for name in ("asks", "rounds")
    }
    process = tables["process"].iloc[0]
    return TEXT.format(
        rounds=texts["rounds"],
        chance=float(surface()[1].mean()),
        observations=int(process["observations"]),
        repeats=REPEATS,
        table=texts["asks"],
        memory=process["memory"],
        **ran_on(["surefoot", "torch", "gpytorch", "numpy"]),
    )


EXPERIMENTS = [
    benchmark(
        "risk-ask-time",
        "Time of an ask over a random environment",
        published=Scale(1, 3_000),
        quick=Scale(1, 12),
        run=run,
        output=TableOutput(report),
        cases=[Case("asks"), Case("rounds")],
        timed=True,
    )
]
