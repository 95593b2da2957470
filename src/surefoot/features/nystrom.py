"""Nyström features, by the rule that chooses their dictionary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from surefoot.features.features import Features
from surefoot.features.pivoted_cholesky import PivotedCholesky
from surefoot.spaces import Space
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.regression import Regression


@dataclass(frozen=True)
class Nystrom:
    r"""Nyström features :math:`\phi(x) = K_S^{-1/2} k_S(x)` of a dictionary S of measured points.

    The posterior variance includes the residual k(x, x) - ||phi(x)||^2 (DTC), so that it is not
    underestimated far from the dictionary (variance starvation, Wang et al. 2018).

    Args:
        dictionary: The rule that chooses the dictionary: `PivotedCholesky(size)`,
            `LeverageSampling(...)` or another rule with the same method `init`.

    Raises:
        InvalidInput: If `dictionary` is no such rule, such as a number or a class.

    References:
        Quinonero-Candela and Rasmussen 2005, "A unifying view of sparse approximate Gaussian
        process regression"; Calandriello et al. 2019 (BKB), Section 3.

    Example:
        >>> import surefoot as sf
        >>> sketched = sf.Nystrom(sf.LeverageSampling(oversampling=5.0))
        >>> greedy = sf.Nystrom(sf.PivotedCholesky(256))
    """

    dictionary: Features = field(default_factory=PivotedCholesky)

    def __post_init__(self) -> None:
        if not hasattr(self.dictionary, "init") or isinstance(self.dictionary, type):
            raise InvalidInput(
                f"`dictionary` is {self.dictionary!r}, expected a rule that chooses it: pass "
                "`PivotedCholesky(50)` or `LeverageSampling(5.0)`."
            )

    def init(
        self,
        kernel: Kernel,
        space: Space,
        ridge: float,
        generator: torch.Generator,
        *,
        lasting: bool = True,
    ) -> Regression:
        """The regression before the first measurement (see `Features.init`)."""
        return self.dictionary.init(kernel, space, ridge, generator, lasting=lasting)
