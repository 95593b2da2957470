"""Time of one ask over a random environment: V-UCB, the paper's surrogate, and rho-KG.

    python benchmarks/risk_ask_time.py    # writes benchmarks/risk_ask_time.md

All take their turn in one process, on the same measurements: Hartmann-(1,2) with 64 values of Z, or
with a density for the surrogate. CPU seconds, with the kernel learnt again and without.
"""

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import surefoot as sf
from robust_table import markdown, ran_on
from surefoot.acquisition import Policy, RiskKnowledgeGradient, ScorePolicy, SurrogateBound
from surefoot_experiments import problems

TARGET = Path(__file__).with_suffix(".md")
OBSERVATIONS, REPEATS, ROUNDS = 60, 5, 3_000
GRID = sf.Joint(
    sf.Arms(torch.linspace(0, 1, 100, dtype=torch.float64).unsqueeze(-1)),
    sf.FiniteEnvironment(torch.linspace(0, 1, 30, dtype=torch.float64)),
)
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


def told(continuous: bool) -> sf.Optimizer:
    """V-UCB after its first measurements."""
    problem = problems.hartmann_12(continuous=continuous)
    optimizer = sf.algorithms.v_ucb(problem.joint, level=0.1, initial=OBSERVATIONS, seed=0)
    noise = np.random.default_rng(0)
    for _ in range(OBSERVATIONS):
        query = optimizer.ask()
        optimizer.tell(query, problem.measure(query.point, query.environment, noise))
    return optimizer


def seconds(optimizer: sf.Optimizer, policy: Policy) -> float:
    """CPU seconds of one ask, which is then forgotten."""
    optimizer.policy = policy
    started = time.process_time()
    query = optimizer.ask()
    spent = time.process_time() - started
    optimizer.forget(query, failed=False)
    return spent


def long_run(features: sf.Nystrom | sf.Exact, estimator: object) -> dict[str, str]:
    """V-UCB on arms for `ROUNDS` rounds: milliseconds early and late, regret, and features."""
    values, regret = surface(GRID)
    optimizer = sf.algorithms.v_ucb(
        GRID,
        sf.kernels.squared_exponential([0.2, 0.2]),
        level=0.1,
        features=features,
        estimator=estimator,
        ridge=0.25,
        scale=0.3,
    )
    noise = np.random.default_rng(0)
    marks, lost, features_used = [time.process_time()], 0.0, 0
    for round_ in range(1, ROUNDS + 1):
        query = optimizer.ask()
        z = GRID.environment.index(query.environment)
        info = optimizer.tell(query, float(values[query.arm, z]) + 0.3 * noise.standard_t(2))
        lost, features_used = lost + float(regret[query.arm]), info.dimension
        if round_ in (ROUNDS // 3, 2 * ROUNDS // 3, ROUNDS):
            marks.append(time.process_time())
    early, _, late = (3e3 * part / ROUNDS for part in np.diff(marks))
    return {
        "first third, ms": f"{early:.1f}",
        "last third, ms": f"{late:.1f}",
        "regret": f"{lost / ROUNDS:.3f}",
        "features": f"{features_used}",
    }


def surface(space: sf.Joint) -> tuple[torch.Tensor, torch.Tensor]:
    """f at every pair (100, 30), and the regret of every design in its value at risk."""
    points = space.points(space.design.points, space.environment.points)
    x, z = points[..., 0], points[..., 1]
    values = torch.sin(6 * x) * torch.cos(4 * z) + x * z
    risk = sf.VaR(0.1)(values, space.environment.weights)
    return values, risk.max() - risk


def main() -> None:
    """Measure, and write the table."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    torch.set_num_threads(1)
    finite, continuous = told(False), told(True)
    dimensions = 3
    authors = RiskKnowledgeGradient(raw=500 * dimensions, starts=10 * dimensions)
    asks: dict[str, Callable[[], float]] = {
        BOUND: lambda: seconds(finite, ScorePolicy()),
        GAIN: lambda: seconds(finite, RiskKnowledgeGradient()),
        AUTHORS: lambda: seconds(finite, authors),
        QUANTILES: lambda: seconds(continuous, ScorePolicy()),
        SURROGATE: lambda: seconds(continuous, SurrogateBound()),
    }
    with_fit = {
        False: seconds(finite, ScorePolicy()),
        True: seconds(continuous, ScorePolicy()),
    }
    taken: dict[str, list[float]] = {name: [] for name in asks}
    for _ in range(REPEATS):
        for name, ask in asks.items():
            taken[name].append(ask())
    medians = {name: float(np.median(each)) for name, each in taken.items()}
    fits = {False: with_fit[False] - medians[BOUND], True: with_fit[True] - medians[QUANTILES]}
    rows = {
        name: {
            "seconds": f"{median:.2f}",
            "with the fit": f"{median + fits[name in (QUANTILES, SURROGATE)]:.2f}",
            "over V-UCB": f"{median / medians[QUANTILES if name == SURROGATE else BOUND]:.1f}",
        }
        for name, median in medians.items()
    }
    table = pd.DataFrame(rows).T
    table.index.name = "method"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    runs = {
        "exact, least squares": long_run(sf.Exact(), sf.LeastSquares()),
        "exact, Huber": long_run(sf.Exact(), sf.Huber()),
        "sketch (q̄ = 5), least squares": long_run(sf.Nystrom(5.0, "adaptive"), sf.LeastSquares()),
        "sketch (q̄ = 5), Huber": long_run(sf.Nystrom(5.0, "adaptive"), sf.Huber()),
    }
    rounds = pd.DataFrame(runs).T
    rounds.index.name = "features, estimator"
    text = TEXT.format(
        rounds=markdown(rounds),
        chance=float(surface(GRID)[1].mean()),
        observations=OBSERVATIONS,
        repeats=REPEATS,
        table=markdown(table),
        memory=memory,
        **ran_on(["surefoot", "torch", "gpytorch", "numpy"]),
    )
    TARGET.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
