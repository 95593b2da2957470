"""Protocol of risk measures."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from surefoot.types import InvalidInput


class Risk(Protocol):
    """A monotone risk measure over the environment, batched over leading dimensions.

    Any object with these two methods can be passed as a `risk`. Weights are assumed to be
    probabilities; `FiniteEnvironment` checks them once.

    A risk may have a further member `support_only`; see the function of that name.
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
