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
from surefoot import problems
from surefoot.joint_policies import JointPolicy, RiskBound, RiskKnowledgeGradient, SurrogateBound

TARGET = Path(__file__).with_suffix(".md")
OBSERVATIONS, REPEATS = 60, 5
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
quantiles, all others' over V-UCB with a finite Z. The fit is the same for all. K = 10 fantasies and
M = 40 functions for rho-KG, whose search sizes in its authors' code are those of the second row.

Run {date} on {cores} cores, CPU. {versions}.

{table}

The process took {memory:.0f} MiB at the most.
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


def seconds(optimizer: sf.Optimizer, policy: JointPolicy) -> float:
    """CPU seconds of one ask, which is then forgotten."""
    optimizer.policy = policy
    started = time.process_time()
    query = optimizer.ask()
    spent = time.process_time() - started
    optimizer.forget(query, failed=False)
    return spent


def main() -> None:
    """Measure, and write the table."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    torch.set_num_threads(1)
    finite, continuous = told(False), told(True)
    dimensions = 3
    authors = RiskKnowledgeGradient(raw=500 * dimensions, starts=10 * dimensions)
    asks: dict[str, Callable[[], float]] = {
        BOUND: lambda: seconds(finite, RiskBound()),
        GAIN: lambda: seconds(finite, RiskKnowledgeGradient()),
        AUTHORS: lambda: seconds(finite, authors),
        QUANTILES: lambda: seconds(continuous, RiskBound()),
        SURROGATE: lambda: seconds(continuous, SurrogateBound()),
    }
    with_fit = {
        False: seconds(finite, RiskBound()),
        True: seconds(continuous, RiskBound()),
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
    text = TEXT.format(
        observations=OBSERVATIONS,
        repeats=REPEATS,
        table=markdown(table),
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **ran_on(["surefoot", "torch", "gpytorch", "numpy"]),
    )
    TARGET.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
