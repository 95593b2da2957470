"""Test problems: known functions under known noise, for tests, benchmarks and experiments."""

from surefoot.problems.functions import ackley, branin, hartmann, rosenbrock
from surefoot.problems.noise import CenteredPareto, Gaussian, Noise, Spikes, StudentT
from surefoot.problems.problem import Problem
from surefoot.problems.tasks import robust_tasks

__all__ = [
    "CenteredPareto",
    "Gaussian",
    "Noise",
    "Problem",
    "Spikes",
    "StudentT",
    "ackley",
    "branin",
    "hartmann",
    "robust_tasks",
    "rosenbrock",
]
