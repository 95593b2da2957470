"""Test problems: known functions under known noise, for tests, benchmarks and experiments."""

from surefoot.problems.arm_problem import ArmProblem
from surefoot.problems.arm_tasks import corrupted_arms, noisy_arms, pareto_arms, resampled_arms
from surefoot.problems.functions import ackley, branin, hartmann, rosenbrock
from surefoot.problems.kernel_function import KernelFunction, interpolant, random_function
from surefoot.problems.laws import Additive, CorruptedArm, Law, ParetoRewards, ResampledRows
from surefoot.problems.noise import (
    CenteredPareto,
    Gaussian,
    Noise,
    Spikes,
    Stable,
    StudentT,
    SymmetricNoise,
)
from surefoot.problems.problem import Problem
from surefoot.problems.tasks import robust_tasks

__all__ = [
    "Additive",
    "ArmProblem",
    "CenteredPareto",
    "CorruptedArm",
    "Gaussian",
    "KernelFunction",
    "Law",
    "Noise",
    "ParetoRewards",
    "Problem",
    "ResampledRows",
    "Spikes",
    "Stable",
    "StudentT",
    "SymmetricNoise",
    "ackley",
    "branin",
    "corrupted_arms",
    "hartmann",
    "interpolant",
    "noisy_arms",
    "pareto_arms",
    "random_function",
    "resampled_arms",
    "robust_tasks",
    "rosenbrock",
]
