"""The risk that is maximised on a space."""

from __future__ import annotations

from typing import Protocol

from surefoot.risks.functionals import Mean
from surefoot.risks.risk import Risk, checked
from surefoot.types import InvalidInput


class _Space(Protocol):
    @property
    def has_environment(self) -> bool: ...


def on_space(space: _Space, risk: object) -> Risk:
    """The risk to maximise, `Mean()` on a space without an environment.

    Raises:
        InvalidInput: If there is an environment and no risk, or the reverse.
    """
    if space.has_environment:
        if risk is None:
            raise InvalidInput(
                "a `Joint` space requires a `risk`: pass one, such as `risk=VaR(0.1)`, "
                "`CVaR(0.1)`, `Mean()` or `WorstCase()`, or use `algorithms.v_ucb`, `cvar_ucb`, "
                "`cvar_ts` or `stable_opt`."
            )
        return checked(risk)
    if risk is not None:
        raise InvalidInput(
            f"`risk` is {risk!r}, but the space has no environment: pass "
            "`Joint(design, environment)`."
        )
    return Mean()
