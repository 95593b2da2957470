"""How often the 95 % interval of a recommendation contains the true value, round by round."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import torch

import surefoot as sf
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

ROUNDS = (1, 3, 5, 10, 15, 20, 30, 40)
SUPPORT = 300  # points at which a function is drawn
ELSEWHERE = 20  # random points whose intervals are checked too
PACKAGES = ["surefoot", "torch", "gpytorch", "numpy"]

INTRODUCTION = """# Coverage of the intervals of recommendations

`robust_ucb(Box(...))` with nothing set, on functions drawn from a Gaussian process (Matérn-5/2,
variance 1, one lengthscale between 0.15 and 0.6 times the root of the dimension) in one, two and
three dimensions; {trials} functions for each dimension and noise. The noise has a scale of 0.1 or
0.3: Gaussian, Student-t with 2 degrees of freedom, or Gaussian with an outlier of standard
deviation 10 in one measurement of twenty.

**covered** is how often the 95 % interval of `recommend()` contains the value of the function
there; with the width that steers the search, mean ± width deviations at the
maximum a posteriori hyperparameters (`ConfidenceBounds()`), it would be **by the width**.
**elsewhere** is how often the interval of `assess` does at {elsewhere} random points. **length** is
its median length. A proportion near 95 % of {total} has a standard error of {error:.1f} %.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""

Function = Callable[[torch.Tensor], torch.Tensor]  # points (n, d) -> (n,)
Noise = Callable[[np.random.Generator, float], float]
NOISES: dict[str, Noise] = {
    "gaussian": lambda g, scale: scale * g.standard_normal(),
    "student-t-2": lambda g, scale: scale * g.standard_t(2),
    "outliers": lambda g, scale: (
        scale * g.standard_normal() + (10.0 * g.standard_normal() if g.random() < 0.05 else 0.0)
    ),
}


def drawn_function(
    dimension: int, generator: np.random.Generator
) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function of the unit cube, points (n, d) -> (n,), drawn from a Gaussian process."""
    lengthscale = generator.uniform(0.15, 0.6) * dimension**0.5
    kernel = sf.kernels.matern(2.5, [lengthscale] * dimension)
    support = torch.from_numpy(generator.uniform(size=(SUPPORT, dimension)))
    with torch.no_grad():
        gram = sf.kernels.block(kernel, support, support) + 1e-8 * torch.eye(SUPPORT)
        root = torch.linalg.cholesky(gram)
        values = root @ torch.from_numpy(generator.standard_normal(SUPPORT))
        coefficients = torch.cholesky_solve(values[:, None], root)[:, 0]

    def function(points: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return sf.kernels.block(kernel, points, support) @ coefficients

    return function


def run(trial: Trial) -> Rows:
    """One run: at some rounds, whether the intervals contain the true values."""
    number, noise = trial.case.split()
    dimension = int(number)
    generator = np.random.default_rng([trial.index, dimension])
    function = drawn_function(dimension, generator)
    scale = (0.1, 0.3)[trial.index % 2]
    space = sf.Box([0.0] * dimension, [1.0] * dimension)
    optimizer = sf.algorithms.robust_ucb(space, seed=trial.index)
    rows = []
    for round_ in range(1, trial.rounds + 1):
        query = optimizer.ask()
        value = float(function(query.point[None]))
        optimizer.tell(query, value + NOISES[noise](generator, scale))
        if round_ not in ROUNDS:
            continue
        best = optimizer.recommend()
        truth = float(function(best.point[None]))
        with torch.no_grad():
            mean, deviation = optimizer.belief().posterior.mean_and_deviation(best.point[None])
        hyperparameters = optimizer.belief().outcome.fitted
        inverse = hyperparameters.warp.inverse if hyperparameters else torch.clone
        lower, upper = (
            float(inverse(mean + sign * optimizer.width * deviation)) for sign in (-1.0, 1.0)
        )
        others = torch.from_numpy(generator.uniform(size=(ELSEWHERE, dimension)))
        _, low, high = optimizer.belief().predict(others)
        true = function(others)
        rows.append(
            {
                "dimension": dimension,
                "noise": noise,
                "round": round_,
                "covered": best.lower <= truth <= best.upper,
                "by_width": lower <= truth <= upper,
                "elsewhere": float(((low <= true) & (true <= high)).double().mean()),
                "length": best.upper - best.lower,
            }
        )
    return {"runs": rows}


def report(tables: Tables) -> str:
    """Coverage by round, and by noise."""
    rows = tables["runs"]
    table = _summary(rows, "round")
    late = markdown(_summary(rows[rows["round"] >= ROUNDS[2]], "noise"))
    total = int(rows.groupby("round").size().max())
    introduction = INTRODUCTION.format(
        trials=rows["trial"].nunique(),
        elsewhere=ELSEWHERE,
        total=total,
        error=100.0 * (0.95 * 0.05 / total) ** 0.5,
        **ran_on(PACKAGES),
    )
    return f"{introduction}\n{markdown(table)}\n\nFrom round {ROUNDS[2]} on:\n\n{late}"


def _summary(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    groups = rows.groupby(by, sort=False)
    percent = "{:.1%}".format
    return pd.DataFrame(
        {
            "covered": groups["covered"].mean().map(percent),
            "by the width": groups["by_width"].mean().map(percent),
            "elsewhere": groups["elsewhere"].mean().map(percent),
            "length": groups["length"].median().map("{:.2f}".format),
        }
    )


EXPERIMENTS = [
    benchmark(
        "recommendation-coverage",
        "Coverage of the intervals of recommendations",
        published=Scale(20, 40),
        quick=Scale(1, 5),
        run=run,
        output=TableOutput(report),
        cases=[Case(f"{dimension} {noise}") for dimension in (1, 2, 3) for noise in NOISES],
    )
]
