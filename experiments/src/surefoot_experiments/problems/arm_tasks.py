"""Arm problems as experiments use them, from a generator or from recorded data."""

from __future__ import annotations

from gpytorch.kernels import Kernel
from torch import Tensor

from surefoot import InvalidInput
from surefoot_experiments.problems.arguments import matrix
from surefoot_experiments.problems.arm_problem import ArmProblem
from surefoot_experiments.problems.kernel_function import interpolant, random_function
from surefoot_experiments.problems.laws import Additive, CorruptedArm, ParetoRewards, ResampledRows
from surefoot_experiments.problems.noise import Generator, StudentT, SymmetricNoise, uniform


def noisy_arms(
    generator: Generator,
    noise: SymmetricNoise = StudentT(3.0, 1.0),
    kernel: Kernel | None = None,
    *,
    alpha: float = 1.0,
    arms: int = 100,
    dimension: int = 1,
) -> ArmProblem:
    """A random function (`random_function`) plus noise.

    With Student-t(3) noise, alpha = 1 and v = max|f|^2 + 3 = 4, figures 1a (squared exponential)
    and 1c (Matérn-5/2) of Chowdhury and Gopalan 2019 (heavy-tailed payoffs). `alpha` must be one
    for which the noise has a moment of order 1 + alpha.
    """
    function = random_function(generator, kernel, arms=arms, dimension=dimension)
    return ArmProblem(f"arms-{dimension}/{noise!r}", function, Additive(noise), alpha)


def pareto_arms(
    generator: Generator,
    kernel: Kernel | None = None,
    *,
    shape: float = 2.0,
    alpha: float = 0.9,
    arms: int = 100,
    dimension: int = 1,
) -> ArmProblem:
    """A random positive function, and rewards that are Pareto with its values as their means.

    As it stands, figure 1b of Chowdhury and Gopalan 2019 (heavy-tailed payoffs): scale f/2 and
    v = max f^(1 + alpha) / (2^alpha (1 - alpha)).
    """
    function = random_function(generator, kernel, arms=arms, dimension=dimension, least=0.0)
    law = ParetoRewards(shape)
    return ArmProblem(f"arms-{dimension}/{law!r}", function, law, alpha)


def corrupted_arms(
    generator: Generator,
    kernel: Kernel | None = None,
    *,
    size: float = 10.0,
    arms: int = 100,
    dimension: int = 1,
) -> ArmProblem:
    """A random function with values in [0, 1] without noise, but for +-size on one random arm.

    Figure 1f of Chowdhury and Gopalan 2019 (heavy-tailed payoffs). The moment is the true one
    (about 101); the paper's threshold t^(1/4) supposes a bound of 1.
    """
    function = random_function(generator, kernel, arms=arms, dimension=dimension, least=0.0)
    law = CorruptedArm(min(int(uniform((1,), generator)[0] * arms), arms - 1), size)
    return ArmProblem(f"arms-{dimension}/{law!r}", function, law, 1.0)


def resampled_arms(
    name: str,
    rows: Tensor,  # (R, A)
    *,
    related: Tensor | None = None,  # (Q, A)
    alpha: float = 1.0,
) -> ArmProblem:
    """Arms without coordinates that pay entries of their columns, a random row at each pull.

    The kernel is the correlation of the columns of `related` (of `rows` themselves unless given),
    the function the column means of `rows`, its norm the exact one and the moment the largest of
    any column. Raises `InvalidInput` for a column that never changes, or where rows are fewer than
    columns so that the correlations cannot carry the means.
    """
    law = ResampledRows(rows)
    others = law.rows if related is None else matrix("related", related)
    centred = others - others.mean(0)
    spread = centred.square().mean(0).sqrt()
    if not bool((spread > 0).all()):
        raise InvalidInput(
            f"column {int(spread.argmin())} never changes, so it has no correlations: leave it out."
        )
    standard = centred / spread
    correlation = standard.T @ standard / len(standard)
    return ArmProblem(name, interpolant(law.rows.mean(0), correlation), law, alpha)
