"""Settings of the heavy-tails paper's problems, which build them and are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch

from surefoot import Arms, InvalidInput, Moment, kernels
from surefoot_experiments.harness.departures import setting
from surefoot_experiments.harness.trial import Purpose, Trial
from surefoot_experiments.problems import (
    Additive,
    ArmProblem,
    KernelFunction,
    Law,
    ParetoRewards,
    StudentT,
    random_function,
    resampled_arms,
)
from surefoot_experiments.problems.kernel_function import Scaling
from surefoot_experiments.problems.noise import Generator

_SCALES: dict[str, Scaling] = {
    "max|f| = 1": "largest",
    "[0, 1], by minimum and maximum": "range",
}
_EVEN, _ON_ARMS = "0, 1/(n - 1), ..., 1", "arms, drawn with replacement"
_LAWS: dict[str, Law] = {
    "f + Student-t(3) noise": Additive(StudentT(3.0, 1.0)),
    "Pareto of shape 2 and scale f / 2": ParetoRewards(2.0),
}


@dataclass(frozen=True)
class Synthetic:
    """A random function on even arms of [0, 1]; v is that of the law, B is max|f|."""

    kernel: Literal["squared exponential", "Matérn-5/2"] = setting(
        "kernel", default="squared exponential"
    )
    lengthscale: float = setting("lengthscale", default=0.2)
    arms: int = setting("arms", default=100)
    places: str = setting("places of the arms", default=_EVEN)
    supports: int = setting("support points", default=100)
    drawn: str = setting("support points are", default=_ON_ARMS)
    least: float = setting("least coefficient (the largest is 1)", default=-1.0)
    scaling: str = setting("scale of f", default="max|f| = 1")
    rewards: str = setting("rewards", default="f + Student-t(3) noise")
    alpha: float = setting("α", default=1.0)

    def __call__(self, trial: Trial) -> ArmProblem:
        """The problem of a trial, with a function of its own."""
        function = self.function(trial.generator(Purpose.PROBLEM))
        return ArmProblem(self.rewards, function, _LAWS[self.rewards], self.alpha)

    def function(self, generator: Generator) -> KernelFunction:
        """A random function."""
        if (self.places, self.drawn) != (_EVEN, _ON_ARMS):
            raise InvalidInput(f"{self} is not built here: it is only compared with.")
        made = {
            "squared exponential": kernels.squared_exponential(self.lengthscale),
            "Matérn-5/2": kernels.matern(2.5, self.lengthscale),
        }
        return random_function(
            generator,
            made[self.kernel],
            arms=self.arms,
            supports=self.supports,
            least=self.least,
            scaling=_SCALES[self.scaling],
        )


STUDENT_T = Synthetic()
PARETO = Synthetic(least=0.0, rewards="Pareto of shape 2 and scale f / 2", alpha=0.9)
STUDENT_T_MATERN = Synthetic(kernel="Matérn-5/2")


@dataclass(frozen=True)
class Recorded:
    """Arms that pay entries of recorded columns; f is the mean of each."""

    data: str = setting("data")
    related: str = setting("data of the covariance")
    rewards: str = setting("a pull pays", default="the arm's entry in a random row")
    alpha: float = setting("α", default=1.0)
    moment: str = setting("v", default="mean square of all entries")
    bound: Literal["largest mean"] = setting("B of all algorithms", default="largest mean")
    rounds: int = setting("rounds", default=10_000)
    regret: str = setting("regret is divided by", default="max f")
    locations: str = setting("locations of the arms", default="none")

    def __call__(self, trial: Trial) -> ArmProblem:
        """The problem, the same in every trial."""
        make = {"the arm's entry in a random row": resampled_arms}[self.rewards]
        rows, related = (torch.from_numpy(trial.array(one)) for one in (self.data, self.related))
        problem = make(self.data, rows, related=related, alpha=self.alpha)
        return replace(problem, unit={"max f": problem.optimum, "1": 1.0}[self.regret])

    def moment_of(self, trial: Trial) -> Moment:
        """The moment that algorithms are given, here smaller than that of the best arm."""
        powers = np.abs(trial.array(self.data)) ** (1.0 + self.alpha)
        return Moment(self.alpha, {"mean square of all entries": float(powers.mean())}[self.moment])

    def on_locations(self, problem: ArmProblem, trial: Trial, lengthscale: float) -> ArmProblem:
        """The arms with a squared exponential kernel of their locations for the covariance."""
        places = {"scaled to [0, 1]²": "places"}[self.locations]
        space = Arms(torch.from_numpy(trial.array(places)))
        kernel = kernels.squared_exponential(lengthscale)
        function = KernelFunction(space, kernel, problem.values, problem.norm_bound)
        return replace(problem, function=function)


STOCKS = Recorded("prices", "prices")
SENSORS = Recorded("test", "train", locations="scaled to [0, 1]²")
