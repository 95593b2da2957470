"""Test problems: known functions under known noise, for tests, benchmarks and experiments."""

from surefoot_experiments.problems.arm_problem import ArmProblem
from surefoot_experiments.problems.arm_tasks import (
    corrupted_arms,
    noisy_arms,
    pareto_arms,
    resampled_arms,
)
from surefoot_experiments.problems.functions import (
    ackley,
    branin,
    hartmann,
    robust_tasks,
    rosenbrock,
    synthetic,
)
from surefoot_experiments.problems.hard_instances import HardFamily, RareRewards, hard_family
from surefoot_experiments.problems.kernel_function import (
    KernelFunction,
    interpolant,
    random_function,
)
from surefoot_experiments.problems.laws import (
    Additive,
    CorruptedArm,
    Law,
    ParetoRewards,
    ResampledRows,
)
from surefoot_experiments.problems.noise import (
    CenteredPareto,
    Gaussian,
    Noise,
    Spikes,
    Stable,
    StudentT,
    SymmetricNoise,
    WideSpikes,
)
from surefoot_experiments.problems.problem import Problem
from surefoot_experiments.problems.risk_problem import RiskProblem
from surefoot_experiments.problems.risk_tasks import (
    branin_11,
    goldstein_price_11,
    hartmann_12,
    hartmann_21,
    portfolio,
    portfolio_of,
    robot_pushing,
)
from surefoot_experiments.problems.robot_pushing import RobotPushing

__all__ = [
    "Additive",
    "ArmProblem",
    "CenteredPareto",
    "CorruptedArm",
    "Gaussian",
    "HardFamily",
    "KernelFunction",
    "Law",
    "Noise",
    "ParetoRewards",
    "Problem",
    "RareRewards",
    "ResampledRows",
    "RiskProblem",
    "RobotPushing",
    "Spikes",
    "Stable",
    "StudentT",
    "SymmetricNoise",
    "WideSpikes",
    "ackley",
    "branin",
    "branin_11",
    "corrupted_arms",
    "goldstein_price_11",
    "hard_family",
    "hartmann",
    "hartmann_12",
    "hartmann_21",
    "interpolant",
    "noisy_arms",
    "pareto_arms",
    "portfolio",
    "portfolio_of",
    "random_function",
    "resampled_arms",
    "robot_pushing",
    "robust_tasks",
    "rosenbrock",
    "synthetic",
]
