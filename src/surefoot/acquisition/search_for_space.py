"""Where to look next, and what to recommend, on each kind of space."""

from __future__ import annotations

from surefoot import risks
from surefoot.acquisition.arm_search import ArmSearch
from surefoot.acquisition.box_search import BoxSearch
from surefoot.acquisition.joint_search import JointSearch
from surefoot.acquisition.search import Search
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.types import InvalidInput

__all__ = ["Search", "search_of"]


def search_of(space: Arms | Box | Joint, risk: Risk | None) -> Search:
    """The search of a space; `InvalidInput` for a risk without an environment, or the reverse."""
    if isinstance(space, Joint):
        if risk is None:
            raise InvalidInput(
                "a `Joint` space came without a `risk`: pass one, such as `risk=VaR(0.1)`, "
                "`CVaR(0.1)`, `Mean()` or `WorstCase()`; by name, such spaces are for `v_ucb`, "
                "`cvar_ucb`, `stable_opt` and `rho_kg`."
            )
        return JointSearch(space, risks.checked(risk))
    if risk is not None:
        raise InvalidInput(
            f"`risk` is {risk!r}, but the space has no environment: pass "
            "`Joint(design, environment)`."
        )
    return ArmSearch(space) if isinstance(space, Arms) else BoxSearch(space)
