"""What a risk measure is to the rest of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from surefoot.types import InvalidInput

RowRisk = Callable[[Tensor], Tensor]  # values (..., n) -> (...)


class Risk(Protocol):
    """A monotone risk measure over the environment, batched over leading dimensions.

    Any object with these two methods can be passed as a `risk`. Weights are assumed to be
    probabilities; `FiniteEnvironment` checks them once.

    A risk may have further members, which make searches faster or more accurate; the function of
    the same name describes each, and says what holds for a risk without it:

    - `translation_equivariant`: whether risk(values + c) = risk(values) + c;
    - `support_only`: whether it depends on which values are possible, not on how likely they are;
    - `batched(weights)` and `differentiable(weights)`: faster ways to compute it for many rows.
    """

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        """Risk of values over the environment, differentiable in the values.

        Args:
            values: Values (..., n) of f(x, z) at n environments, in reward units.
            weights: Probabilities (n,) of the environments, which sum to 1; (..., n) where they
                depend on the design.

        Returns:
            Risks (...), in reward units.

        Raises:
            InvalidInput: If the shapes do not match.
        """
        ...

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """Environments in which a measurement narrows the interval of the risk.

        In each of them upper - lower is at least risk(upper) - risk(lower), so that the
        instantaneous regret is at most twice the width times the standard deviation there.

        Args:
            lower: Lower bounds (..., n) of f(x, z), in reward units.
            upper: Upper bounds (..., n).
            weights: Probabilities (n,) or (..., n) of the environments, which sum to 1.

        Returns:
            Boolean mask (..., n) with at least one entry true, and none where the weight is 0.
        """
        ...


def checked(risk: object) -> Risk:
    """Check that an object is a risk measure.

    Args:
        risk: The object.

    Returns:
        The same object.

    Raises:
        InvalidInput: If it is a class, or lacks `__call__` or `lacing`.

    Example:
        >>> from surefoot.risks import VaR
        >>> checked(VaR(0.1))
        VaR(level=0.1)
    """
    if isinstance(risk, type) or not callable(risk) or not hasattr(risk, "lacing"):
        raise InvalidInput(
            f"`risk` is {risk!r}, expected a risk such as `VaR(0.1)`, `CVaR(0.1)`, `Mean()` or "
            "`WorstCase()`."
        )
    return risk


def translation_equivariant(risk: Risk) -> bool:
    """Whether risk(values + c) = risk(values) + c for any number c, as for all risks here.

    Knowledge gradients then bound by how much a measurement can raise the risk of a design, and
    evaluate few designs. Of a risk without this member it is not assumed.

    Args:
        risk: The risk.

    Returns:
        Its member `translation_equivariant`.
    """
    return bool(getattr(risk, "translation_equivariant", False))


def support_only(risk: Risk) -> bool:
    """Whether a risk depends on the support of Z only, as the worst case does.

    Values that stand for a continuous environment then fill its support, and lacing values are
    not chosen by their probability. Of a risk without this member it is not assumed.

    Args:
        risk: The risk.

    Returns:
        Its member `support_only`.

    Example:
        >>> from surefoot import CVaR, WorstCase
        >>> support_only(WorstCase()), support_only(CVaR(0.1))
        (True, False)
    """
    return bool(getattr(risk, "support_only", False))


def batched(risk: Risk, weights: Tensor) -> RowRisk:
    """A function that computes a risk of many rows of values, without gradients.

    It is `risk.batched(weights)`, where there is that method and the weights are in the memory of
    the processor, and the risk itself otherwise.

    Args:
        risk: The risk.
        weights: Probabilities (n,) of the values.

    Returns:
        A function of values (..., n) to (...), which may overwrite the values.

    Example:
        >>> import torch
        >>> from surefoot.risks import VaR
        >>> worst_half = batched(VaR(0.5), torch.full((4,), 0.25, dtype=torch.float64))
        >>> worst_half(torch.tensor([[4.0, 3.0, 1.0, 2.0]], dtype=torch.float64))
        tensor([2.], dtype=torch.float64)
    """
    faster = getattr(risk, "batched", None)
    if faster is None or weights.device.type != "cpu":
        return lambda values: risk(values, weights)
    function: RowRisk = faster(weights)
    return function


def differentiable(risk: Risk, weights: Tensor) -> RowRisk:
    """A function that computes a risk of many rows of values, with gradients.

    It is `risk.differentiable(weights)`, where there is that method and the weights are float64
    in the memory of the processor, and the risk itself otherwise.

    Args:
        risk: The risk.
        weights: Probabilities (n,) of the values.

    Returns:
        A function of values (..., n) to (...), which leaves the values as they are.

    Example:
        >>> import torch
        >>> from surefoot.risks import VaR
        >>> worst_half = differentiable(VaR(0.5), torch.tensor([0.2, 0.2, 0.6]).double())
        >>> worst_half(torch.tensor([[4.0, 3.0, 1.0]], dtype=torch.float64))
        tensor([1.], dtype=torch.float64)
    """
    faster = getattr(risk, "differentiable", None)
    if faster is None or weights.device.type != "cpu" or weights.dtype != torch.float64:
        return lambda values: risk(values, weights)
    function: RowRisk = faster(weights)
    return function
