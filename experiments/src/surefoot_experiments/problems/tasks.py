"""Named collections of problems on which optimisers are compared."""

from dataclasses import replace

from surefoot_experiments.problems.functions import ackley, hartmann, rosenbrock
from surefoot_experiments.problems.noise import CenteredPareto, Gaussian, Noise, Spikes, StudentT
from surefoot_experiments.problems.problem import Problem


def robust_tasks() -> list[Problem]:
    """Twelve tasks: three functions, each under four kinds of noise from light to heavy tails.

    Ackley-2, Rosenbrock-3 and Hartmann-6, each of unit standard deviation, with Gaussian noise of
    0.3, Student-t(2) noise times 0.3, Gaussian noise of 0.3 with 5 % spikes of ±30, and centred
    Pareto(1.5) noise times 0.3. Names read "ackley-2/spikes".
    """
    noises: dict[str, Noise] = {
        "gaussian": Gaussian(0.3),
        "student-t": StudentT(2.0, 0.3),
        "spikes": Spikes(0.05, 30.0, 0.3),
        "pareto": CenteredPareto(1.5, 0.3),
    }
    problems = [ackley(), rosenbrock(), hartmann()]
    return [
        replace(problem, name=f"{problem.name}/{label}", noise=noise)
        for problem in problems
        for label, noise in noises.items()
    ]
