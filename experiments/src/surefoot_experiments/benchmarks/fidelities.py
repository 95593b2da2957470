"""Cost to reach a regret with several fidelities, under heavy-tailed noise."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

import surefoot as sf
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.problems.noise import kinds_of_noise

COST = (1 / 24, 6 / 24, 1.0)  # as of runs of 5, 30 and 120 s
FIDELITY = sf.Fidelity(COST, COST)
NOISE = 0.3  # standard deviations of the function at the highest fidelity
REACHED = 0.15  # regret, in the same
MARKS = (2.0, 4.0, 8.0, 12.0, 16.0)
_MOST = 110  # measurements of a run
_OTHERS = 2  # runs of qMFKG, whose choice takes most of the time
PACKAGES = ["surefoot", "botorch", "torch"]

INTRODUCTION = """# Fidelities

Three fidelities that cost 1/24, 1/4 and 1, as runs of 5, 30 and 120 s do, and a budget of
{budget:g}. Regret of the recommendation at the highest fidelity, in standard deviations of the
function there, after a cost of {marks}; and the cost until the regret is at most {reached} from
there on, {budget:g} where it never is: means over the runs. Noise at every fidelity is Student-t
with 2 degrees of freedom times {noise}, or Gaussian of {noise} with 5 % spikes of ±30.

- **augmented-branin**, **augmented-hartmann**: BoTorch's functions;
- **worthless**: Branin, whose lower fidelities are another function;
- **step**: Hartmann-3, whose lower fidelities have a step in one variable.

*single* is `robust_ucb` at the highest fidelity, *fidelity* that of a `Problem` with all, *qMFKG*
BoTorch's knowledge gradient per cost with `SingleTaskMultiFidelityGP`, as in its tutorial
({others} runs at most; where it is missing, see notes/beforehand.md: 10 s a choice).

Run {date} on {cores} cores, CPU, one thread a run, the machine shared with other work. {versions}.
"""

Levelled = Callable[[Tensor, int], Tensor]


@dataclass(frozen=True)
class LevelledProblem:
    """A function on the unit cube at three fidelities.

    Args:
        raw: Function of points (n, d) and the index of a fidelity, (n,).
        dimension: Number d of variables.
        optimum: Largest value at the highest fidelity.
    """

    raw: Levelled
    dimension: int
    optimum: float

    def scaled(self) -> LevelledProblem:
        """The same with unit standard deviation at the highest fidelity."""
        cube = torch.quasirandom.SobolEngine(self.dimension).draw(4096, dtype=torch.float64)
        unit = float(self.raw(cube, 2).std())
        return LevelledProblem(
            lambda x, level: self.raw(x, level) / unit, self.dimension, self.optimum / unit
        )

    def regret(self, x: Tensor) -> float:
        """Regret of a point (d,)."""
        return self.optimum - float(self.raw(x.unsqueeze(0), 2))


def problem(name: str) -> LevelledProblem:
    """A problem by name."""
    from botorch.test_functions import AugmentedBranin, AugmentedHartmann, Branin, Hartmann

    low, high = torch.tensor([[-5.0, 0.0], [10.0, 15.0]], dtype=torch.float64)

    def at(level: int, x: Tensor) -> Tensor:
        return torch.cat([x, x.new_full((len(x), 1), COST[level])], -1)

    def other(x: Tensor, level: int) -> Tensor:
        if level == 2:
            return branin(low + (high - low) * x)
        return 50.0 * (
            torch.sin(5.0 * x[:, 0] + 1.0 + level) * torch.cos(4.0 * x[:, 1] + level) - 1
        )

    def stepped(x: Tensor, level: int) -> Tensor:
        step = (x[:, 0] > 0.5).to(x) - 0.3
        return hartmann(x) + (1.0, 0.5, 0.0)[level] * step

    branin, hartmann = Branin(negate=True), Hartmann(3, negate=True)
    if name == "augmented-branin":
        augmented = AugmentedBranin(negate=True)
        found = LevelledProblem(
            lambda x, level: augmented(at(level, low + (high - low) * x)), 2, -0.397887
        )
    elif name == "augmented-hartmann":
        seven = AugmentedHartmann(negate=True)
        found = LevelledProblem(lambda x, level: seven(at(level, x)), 6, 3.32237)
    elif name == "worthless":
        found = LevelledProblem(other, 2, -0.397887)
    else:
        found = LevelledProblem(stepped, 3, 3.86278)
    return found.scaled()


PROBLEMS = ("augmented-branin", "augmented-hartmann", "worthless", "step")


class Single:
    """The default at the highest fidelity."""

    def __init__(self, dimension: int, seed: int) -> None:
        box = sf.Box([0.0] * dimension, [1.0] * dimension)
        self.optimizer = sf.algorithms.robust_ucb(box, seed=seed)

    def ask(self) -> tuple[Tensor, int]:
        self.query = self.optimizer.ask()
        return self.query.point, 2

    def tell(self, y: float) -> None:
        self.optimizer.tell(self.query, y)

    def best(self) -> Tensor:
        return self.optimizer.recommend().point


class Levels(Single):
    """The default with fidelities."""

    def __init__(self, dimension: int, seed: int) -> None:
        box = sf.Box([0.0] * dimension, [1.0] * dimension)
        self.optimizer = sf.algorithms.robust_ucb(sf.Problem(box, fidelity=FIDELITY), seed=seed)

    def ask(self) -> tuple[Tensor, int]:
        self.query = self.optimizer.ask()
        return self.query.point, COST.index(float(self.query.environment))  # type: ignore[arg-type]


class KnowledgeGradient:
    """BoTorch's multi-fidelity knowledge gradient per cost (Wu and Frazier 2018)."""

    def __init__(self, dimension: int, seed: int) -> None:
        torch.manual_seed(seed)
        self.dimension = dimension
        first = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=seed)
        x = first.draw(8, dtype=torch.float64)
        self.left = [(one, 0) for one in x] + [(one, level) for level in (1, 2) for one in x[:3]]
        self.x = torch.zeros(0, dimension + 1, dtype=torch.float64)
        self.y = torch.zeros(0, 1, dtype=torch.float64)

    def ask(self) -> tuple[Tensor, int]:
        point, level = self.left.pop(0) if self.left else self._chosen()
        self.asked = torch.cat([point, point.new_tensor([COST[level]])])
        return point, level

    def tell(self, y: float) -> None:
        self.x = torch.cat([self.x, self.asked.unsqueeze(0)])
        self.y = torch.cat([self.y, self.y.new_tensor([[y]])])

    def best(self) -> Tensor:
        point, _ = self._best(self._model())
        return point[0]

    def _model(self):  # type: ignore[no-untyped-def]
        from botorch import fit_gpytorch_mll
        from botorch.models import SingleTaskMultiFidelityGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = SingleTaskMultiFidelityGP(
            self.x, self.y, data_fidelities=[self.dimension], outcome_transform=Standardize(1)
        )
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _best(self, model):  # type: ignore[no-untyped-def]
        from botorch.acquisition import PosteriorMean
        from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
        from botorch.optim import optimize_acqf

        highest = FixedFeatureAcquisitionFunction(
            PosteriorMean(model), self.dimension + 1, [self.dimension], [1.0]
        )
        bounds = torch.tensor([[0.0] * self.dimension, [1.0] * self.dimension], dtype=torch.float64)
        return optimize_acqf(highest, bounds, q=1, num_restarts=5, raw_samples=128)

    def _chosen(self) -> tuple[Tensor, int]:
        from botorch.acquisition.cost_aware import InverseCostWeightedUtility
        from botorch.acquisition.knowledge_gradient import qMultiFidelityKnowledgeGradient
        from botorch.acquisition.utils import project_to_target_fidelity
        from botorch.models.cost import AffineFidelityCostModel
        from botorch.optim import optimize_acqf_mixed

        model, last = self._model(), self.dimension
        costs = AffineFidelityCostModel(fidelity_weights={last: 1.0}, fixed_cost=0.0)
        gradient = qMultiFidelityKnowledgeGradient(
            model,
            num_fantasies=32,
            current_value=self._best(model)[1],
            cost_aware_utility=InverseCostWeightedUtility(costs),
            project=lambda x: project_to_target_fidelity(x, {last: 1.0}, last + 1),
        )
        bounds = torch.tensor([[0.0] * (last + 1), [1.0] * (last + 1)], dtype=torch.float64)
        found, _ = optimize_acqf_mixed(
            gradient,
            bounds,
            q=1,
            num_restarts=3,
            raw_samples=32,
            fixed_features_list=[{last: one} for one in COST],
            options={"maxiter": 60},
        )
        return found[0, :-1], COST.index(float(found[0, -1]))


METHODS: dict[str, type] = {"single": Single, "fidelity": Levels, "qMFKG": KnowledgeGradient}


def run(trial: Trial) -> Rows:
    """One method on one problem."""
    torch.set_num_threads(1)
    if trial.case.endswith("qMFKG") and trial.index >= _OTHERS:
        return {"runs": []}
    with warnings.catch_warnings(action="ignore"):
        return {"runs": [_run(trial)]}


def _run(trial: Trial) -> dict[str, object]:
    name, kind, method = trial.case.split()
    found, noise = problem(name), kinds_of_noise(NOISE)[kind]
    drawn = np.random.default_rng([trial.index, zlib.crc32(f"{name} {kind}".encode())])
    searcher = METHODS[method](found.dimension, trial.index)
    spent, counts, start = 0.0, [0, 0, 0], time.process_time()
    regrets: list[float] = []
    marks = [one for one in MARKS if one <= trial.rounds]
    for error in noise.sample(_MOST, drawn).tolist():
        x, level = searcher.ask()
        searcher.tell(float(found.raw(x.unsqueeze(0), level)) + error)
        spent, counts[level] = spent + COST[level], counts[level] + 1
        while len(regrets) < len(marks) and spent >= marks[len(regrets)] - 1e-9:
            regrets.append(found.regret(searcher.best()))
        if len(regrets) == len(marks):
            break
    regrets += [found.regret(searcher.best())] * (len(marks) - len(regrets))
    return {
        "problem": name,
        "noise": kind,
        "method": method,
        **{f"cost {mark:g}": one for mark, one in zip(marks, regrets, strict=True)},
        "reached": _reached(marks, regrets),
        "measurements": " + ".join(map(str, counts)),
        "seconds": time.process_time() - start,
    }


def _reached(marks: list[float], regrets: list[float]) -> float:
    """The first mark from which on the regret is small, the last one where it never is."""
    for mark, later in zip(marks, (regrets[i:] for i in range(len(marks))), strict=True):
        if max(later) <= REACHED:
            return mark
    return marks[-1]


def report(tables: Tables) -> str:
    """Regret by cost, for each problem and over all."""
    rows = tables["runs"]
    every = rows.assign(problem="all", noise="both")
    marks = [name for name in rows.columns if name.startswith("cost ")]
    parts = []
    for part in (rows, every):
        groups = part.groupby(["problem", "noise", "method"], sort=False)
        table = pd.DataFrame({"runs": groups.size().map(str)})
        for name in marks:
            table[name] = groups[name].mean().map("{:.2f}".format)
        table[f"cost to {REACHED}"] = groups["reached"].mean().map("{:.1f}".format)
        table["measurements"] = groups["measurements"].first() if part is rows else ""
        table["seconds"] = groups["seconds"].mean().map("{:.0f}".format)
        parts.append(table.reset_index(["noise", "method"]))
    introduction = INTRODUCTION.format(
        budget=max(float(name[5:]) for name in marks),
        marks=", ".join(name[5:] for name in marks),
        reached=REACHED,
        noise=NOISE,
        others=_OTHERS,
        **ran_on(PACKAGES),
    )
    return f"{introduction}\n{markdown(pd.concat(parts))}"


EXPERIMENTS = [
    benchmark(
        "fidelities",
        "Fidelities",
        published=Scale(4, 16),
        quick=Scale(1, 2),
        run=run,
        output=TableOutput(report),
        cases=[
            Case(f"{name} {kind} {method}")
            for method in METHODS
            for name in PROBLEMS
            for kind in ("student-t", "spikes")
        ],
    )
]
