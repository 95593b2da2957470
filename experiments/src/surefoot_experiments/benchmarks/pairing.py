"""Single measurements and pairs, at equal numbers of measurements, on machines that change."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch

import surefoot as sf
from surefoot.tune.study.pairing import PILOTS, Repeats
from surefoot_experiments.benchmarks.recommendation_coverage import drawn_function
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

SPREAD = 0.3  # standard deviation of the logarithm of the latency over configurations
NOISE = 0.05  # scale of Student-t noise with 3 degrees of freedom, of the logarithm
EVERY = {"single": 20, "often": 4}  # measurements from one of the defaults to the next
METHODS = ("single", "often", "pairs", "auto")
CONDITIONS = ("steady", "steps", "drift", "bursts", "long bursts")
PACKAGES = ["surefoot", "torch", "gpytorch", "numpy"]

INTRODUCTION = """# Pairs on a machine that changes

The logarithm of a latency is modelled over two parameters after {rounds} measurements of a Sobol
design, {trials} runs a row, and its best configuration recommended. It is a function drawn from a
Gaussian process (standard deviation {spread}), with Student-t noise of 3 degrees of freedom and
scale {noise}, and

- **steady**: nothing else;
- **steps**: a new level (standard deviation 0.5) at three times;
- **drift**: a random walk, 0.1 from one measurement to the next;
- **bursts**: a neighbour that slows it down 1.5 to 4 times, for four measurements in the mean, a
  third of the time;
- **long bursts**: likewise, for twelve measurements.

**single** measures each configuration once, and the defaults every 20 measurements, **often** every
four, with the effect of a drift; **pairs** measures each beside the defaults; **auto** decides
after {pilots} pairs. **regret** is by how much the recommendation is slower than the best, median
and mean;
**better** how often it is better than the defaults; **covered** how often the 95 % interval of the
change contains the true one, and **length** the median length of that interval.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


def levels(conditions: str, number: int, generator: np.random.Generator) -> np.ndarray:
    """Logarithms of how much slower the machine is, by measurement."""
    found = np.zeros(number)
    if conditions == "steps":
        for cut in np.sort(generator.choice(number, 3, replace=False)):
            found[cut:] = 0.5 * generator.standard_normal()
    elif conditions == "drift":
        found = 0.1 * generator.standard_normal(number).cumsum()
    elif "bursts" in conditions:
        stay, size = (12.0 if "long" in conditions else 4.0), 0.0
        for index in range(number):
            ends = generator.random() < 1.0 / (stay if size else 2.0 * stay)
            if ends:
                size = 0.0 if size else float(np.log(generator.uniform(1.5, 4.0)))
            found[index] = size
    return found


class _Machine:
    """Measures the logarithm of the latency, again and again."""

    def __init__(self, conditions: str, number: int, index: int) -> None:
        self.function = drawn_function(2, np.random.default_rng(index))
        generator = np.random.default_rng([2, index])
        self._levels = levels(conditions, 2 * number, generator)
        self._noise = NOISE * generator.standard_t(3, 2 * number)
        self.count = 0

    def truth(self, point: torch.Tensor) -> float:
        return SPREAD * float(self.function(point[None]))

    def measure(self, point: torch.Tensor) -> float:
        index, self.count = self.count, self.count + 1
        return self.truth(point) + float(self._levels[index] + self._noise[index])


def run(trial: Trial) -> Rows:
    """The same task by each method."""
    return {"runs": list(_runs(trial))}


def _runs(trial: Trial) -> Iterator[dict[str, object]]:
    grid = torch.rand(10_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    defaults = torch.tensor([0.5, 0.5], dtype=torch.float64)
    sobol = torch.quasirandom.SobolEngine(2, scramble=True, seed=trial.index)
    design = sobol.draw(trial.rounds).double()
    for method in METHODS:
        machine = _Machine(trial.case, trial.rounds, trial.index)
        order = np.random.default_rng([3, trial.index])
        reference = machine.measure(defaults)
        rows, beside = [(defaults, reference, 0.0)], list[list[float]]()
        for point in design:
            if machine.count >= trial.rounds:
                break
            time = float(machine.count)
            if method in EVERY:
                if machine.count % EVERY[method] == 0:
                    rows.append((defaults, machine.measure(defaults), time))
                    time += 1.0
                rows.append((point, machine.measure(point), time))
                continue
            value, repeats = 0.0, Repeats.of([np.exp(one).tolist() for one in beside])
            if method == "auto" and repeats is not None and not repeats.favour_pairs:
                value = machine.measure(point) - float(np.mean(np.concatenate(beside)))
            else:
                turns = [False] + [True] * (1 + (method == "auto" and repeats is None))
                turns = turns[::-1] if order.integers(2) else turns
                values = [machine.measure(defaults if one else point) for one in turns]
                own = values.pop(turns.index(False))
                beside.append(values)
                value = own - float(np.mean(values))
            rows.append((point, value + reference, time))
        points, rewards, times = zip(*rows, strict=True)
        optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), seed=trial.index)
        optimizer.tell_all(
            torch.stack(points), -torch.tensor(rewards, dtype=torch.float64), times=times
        )
        yield _row(trial.case, method, machine, optimizer, -reference, grid, defaults)


def _row(
    conditions: str,
    method: str,
    machine: _Machine,
    optimizer: sf.Optimizer,
    reference: float,
    grid: torch.Tensor,
    defaults: torch.Tensor,
) -> dict[str, object]:
    found, best = optimizer.recommend(), SPREAD * float(machine.function(grid).min())
    change = machine.truth(defaults) - machine.truth(found.point)
    lower, upper = found.lower - reference, found.upper - reference
    if method in EVERY:
        _, lower, upper = map(float, optimizer.belief().difference(found.point, defaults))
    return {
        "conditions": conditions,
        "method": method,
        "regret": float(np.expm1(max(machine.truth(found.point) - best, 0.0))),
        "better": change > 0.0,
        "covered": lower <= change <= upper,
        "length": upper - lower,
        "measurements": machine.count,
    }


def report(tables: Tables) -> str:
    """Regret and intervals by condition and method."""
    rows = tables["runs"]
    groups = rows.groupby(["conditions", "method"], sort=False)
    percent = "{:.1%}".format
    table = pd.DataFrame(
        {
            "regret": groups["regret"].median().map(percent),
            "mean regret": groups["regret"].mean().map(percent),
            "better": groups["better"].mean().map("{:.0%}".format),
            "covered": groups["covered"].mean().map("{:.0%}".format),
            "length": groups["length"].median().map(percent),
        }
    ).reset_index("method")
    introduction = INTRODUCTION.format(
        rounds=PUBLISHED.rounds,
        trials=rows["trial"].nunique(),
        spread=SPREAD,
        noise=NOISE,
        pilots=PILOTS,
        **ran_on(PACKAGES),
    )
    return f"{introduction}\n{markdown(table)}"


PUBLISHED = Scale(10, 60)
EXPERIMENTS = [
    benchmark(
        "pairing",
        "Pairs on a machine that changes",
        published=PUBLISHED,
        quick=Scale(1, 14),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in CONDITIONS],
    )
]
