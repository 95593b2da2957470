"""A problem: what is optimised, and the one table of what does not go together in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from surefoot._internal import checks
from surefoot._internal.estimands import ESTIMANDS, Estimand
from surefoot.types import Assumptions, Constraint, InvalidInput, Objective, Outcome

# Modules that load torch are imported where they are used: a program that declares a problem
# starts at once.
if TYPE_CHECKING:
    import torch

    from surefoot.risks import Risk
    from surefoot.spaces import Box, Fidelity, Joint, Space


__all__ = ["CONFLICTS", "Problem"]


class Conflict(NamedTuple):
    """Two options of a problem that do not go together, and why."""

    option: str
    other: str
    why: str


_ONE_OF = "expected one of the two"
_ALIKE = "where no two measurements of a configuration are alike"
_CHANCE = "where a limit is broken by chance"
_ONE_VALUE = "expected a single objective"
_OF_VALUES = "whose risk is that of the values"

CONFLICTS = (
    Conflict("environment", "fidelity", _ONE_OF),
    Conflict("given", "fidelity", _ONE_OF),
    Conflict("risk", "fidelity", "where the value at the highest level counts"),
    Conflict("risk", "given", "which is known before the choice and has no risk"),
    Conflict("log", "environment", _OF_VALUES),
    Conflict("prior", "environment", _ONE_OF),
    Conflict("prior", "fidelity", _ONE_OF),
    *(
        Conflict(option, under, why)
        for under in ("environment", "given", "fidelity")
        for option, why in (
            ("confirm", _ALIKE),
            ("repeats", _ALIKE),
            ("unstable", _ALIKE),
            ("stop", _ALIKE),
            ("safe", _CHANCE),
        )
    ),
    *(
        Conflict(option, "objectives", _ONE_VALUE)
        for option in [
            "environment",
            "given",
            "fidelity",
            "confirm",
            "repeats",
            "prior",
            "stop",
        ]
    ),
    Conflict("assume", "objectives", _ONE_VALUE),
    Conflict("assume", "constraints", "which nothing is proved of"),
    Conflict("assume", "fidelity", "whose levels differ by more than noise"),
    Conflict("assume", "given", "where the best is another one under each value"),
    Conflict("assume", "log", "whose norm and noise are of logarithms"),
    Conflict("assume", "arms without coordinates", "expected distances between them"),
    Conflict("initial", "safe", "where the search begins around the defaults"),
    Conflict("prior", "kernel", "which is not learned"),
    Conflict("prior", "noisy improvement", "which draws functions of its own"),
    Conflict("prior", "arms", "expected a `Box`"),
    Conflict("guess", "arms", "expected a `Box`"),
    Conflict("safe", "arms without coordinates", "where no measurement says what is safe nearby"),
    Conflict("outcomes", "arms without coordinates", "expected inputs of a model"),
    Conflict("fidelity", "arms without coordinates", "expected inputs of a model"),
)
"""All that does not go together: in a study file, in `SurefootSampler`, in an `Optimizer`."""


def conflicts_of(options: Collection[str]) -> list[Conflict]:
    """What does not go together of some options, by their names in `CONFLICTS`."""
    return [one for one in CONFLICTS if one.option in options and one.other in options]


def check_together(written: Mapping[str, str]) -> None:
    """Refuse options that do not go together.

    Args:
        written: How each option that is there was written, such as "`safe`", by its name.

    Raises:
        InvalidInput: With the first two.
    """
    for one in conflicts_of(written):
        raise InvalidInput(
            f"{written[one.option]} came with {written[one.other]}, {one.why}: leave one of them "
            "out."
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """What is optimised: where, what is measured beside the reward, and what is known before.

    Args:
        space: `Arms`, `Box`, a `parameters.Space` of named parameters, or `Joint` for designs in a
            random environment; None where the trials of a study show it.
        outcomes: Other quantities that are measured with the reward, by name: a `Constraint`, an
            `Objective` or one that is only `Watched`.
        risk: Risk measure over the environment that is maximised, on a `Joint` space, or over
            `environment`.
        fidelity: Levels of accuracy, and their costs: each query has one as its `environment`, and
            what is recommended and reported is of the last level.
        guess: Where the optimum is thought to be, as values of some parameters by name, or
            `box.given({0: 0.3})`.
        prior: Belief of an earlier run on a related system, in the same space; of a study, an
            older one.
        safe: Whether no point is asked for whose measurement may fail, from a point that was told
            first outward, with a probability of 0.95.
        assume: What certificates rest on, see `Assumptions`; the search does not use it.
        environment: Names and distribution of what varies between the trials of a study, a
            `StudyEnvironment`; elsewhere the space is a `Joint`.
        estimand: What is reported of the measurements at a point. "location" is the value of the
            function that the estimator fits, which is their mean for an unbiased one such as
            `LeastSquares()`. "median" and "mean" are those of the measurements, estimated from the
            residuals. Which point is recommended does not depend on it.

    Raises:
        InvalidInput: If something is none of these, or two do not go together (`CONFLICTS`).

    Example:
        >>> import surefoot as sf
        >>> problem = sf.Problem(sf.Box([0.0], [1.0]), {"memory": sf.Constraint(maximum=8.0)})
        >>> optimizer = sf.Optimizer(problem, sf.algorithms.robust(problem), seed=0)
        >>> info = optimizer.tell(optimizer.ask(), 1.0, outcomes={"memory": 6.5})
    """

    space: Any = None
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    risk: Risk | None = None
    fidelity: Fidelity | None = None
    guess: Box | Mapping[str, Any] | None = None
    prior: Any = None
    safe: bool = False
    assume: Assumptions | None = None
    environment: Any = None
    estimand: Estimand = "location"

    def __post_init__(self) -> None:
        checks.outcomes(self.outcomes)
        for name in ("outcomes", "guess"):  # which their owner may change
            object.__setattr__(self, name, copy(getattr(self, name)))
        checks.choice("estimand", self.estimand, *ESTIMANDS)
        if self.assume is not None:
            checks.instance("assume", self.assume, Assumptions)
        checks.truth("safe", self.safe)
        if self.fidelity is not None:
            from surefoot.spaces import Fidelity

            checks.instance("fidelity", self.fidelity, Fidelity)
        if self.space is not None:
            from surefoot.spaces.joint import checked_space

            object.__setattr__(self, "space", checked_space(self.space))
            if self.environment is not None:
                raise InvalidInput(
                    "`environment` came with a `space`, expected `Joint(space, environment)` as "
                    "the space: it is of the trials of a study."
                )
        check_together(self.options)

    @classmethod
    def of(cls, given: Problem | Space | Joint) -> Problem:
        """A problem, also from its space alone."""
        return given if isinstance(given, Problem) else cls(given)

    @property
    def options(self) -> dict[str, str]:
        """How each option that is there is written, by its name in `CONFLICTS`."""
        space, safe = self.space, [n for n, one in self.outcomes.items() if is_safe(one)]
        written = {
            "outcomes": self.outcomes,
            "objectives": self.objectives,
            "constraints": self.constraints,
            "assume": self.assume is not None,
            "environment": self.environment is not None,
            "risk": self.risk is not None,
            "fidelity": self.fidelity is not None,
            "guess": self.guess is not None,
            "prior": self.prior is not None,
            "safe": self.safe or safe,
        }
        found = {name: f"`{name}`" for name, is_there in written.items() if is_there}
        if self.objectives:
            found["objectives"] = "several objectives"
        if safe and not self.safe:
            found["safe"] = f"`outcomes[{safe[0]!r}].safe`"
        if space is None:
            return found
        kinds = {
            "environment": space.has_environment,
            "arms": not space.has_environment and space.finite,
            "arms without coordinates": not space.design.has_coordinates,
        }
        words = {"environment": "an environment (`Joint`)", "arms": "`Arms`"}
        return found | {
            name: words.get(name, f"`{name.capitalize()}`")
            for name, is_so in kinds.items()
            if is_so
        }

    @cached_property
    def domain(self) -> Space | Joint:
        """Where measurements are taken: designs, each at a level where there are some."""
        from surefoot.spaces.joint import checked_space

        space = checked_space(self.space)
        return space if self.fidelity is None else self.fidelity.of(space)  # type: ignore[arg-type]

    @property
    def risk_of_domain(self) -> Risk | None:
        """The risk that is maximised there: with levels, the value at the highest."""
        from surefoot.risks import Mean

        return self.risk if self.fidelity is None else Mean()

    @property
    def is_safe(self) -> bool:
        """Whether no point is asked for at which something may fail, or break some limit."""
        return self.safe or any(is_safe(one) for one in self.outcomes.values())

    @property
    def objectives(self) -> dict[str, Objective]:
        """The further objectives by name."""
        return {name: one for name, one in self.outcomes.items() if isinstance(one, Objective)}

    @property
    def constraints(self) -> dict[str, Constraint]:
        """The limits by name."""
        return {name: one for name, one in self.outcomes.items() if isinstance(one, Constraint)}

    def to(self, device: str | torch.device) -> Self:
        """The problem with its tensors on a device."""
        from surefoot.spaces.joint import checked_space

        return replace(self, space=checked_space(self.space).to(checks.device(device)))


def is_safe(outcome: Outcome) -> bool:
    """Whether an outcome has a limit that no measurement may break."""
    return getattr(outcome, "safe", False)
