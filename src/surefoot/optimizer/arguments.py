"""Checks of what an optimizer is made of and told, which change nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot.estimators import Estimator
from surefoot.hyperparameters import GivenHyperparameters, HyperparameterFit
from surefoot.models.model import Hyperparameters
from surefoot.spaces import Box, Joint, Space
from surefoot.spaces.locations import Location
from surefoot.types import OBJECTIVE, InvalidInput, Measurement, Outcome


def hyperparameters(given: Any, ridge: float, space: Space | Joint) -> Hyperparameters:
    """The rule for kernel and noise: the one given, or a fit, or a kernel that stays.

    Args:
        given: A kernel, a rule, or None.
        ridge: Noise variance where a kernel is given.
        space: Where the function is defined.

    Raises:
        InvalidInput: If it is none, or a kernel is missing on a space on which none can be fitted.
    """
    rule = _rule(given, ridge, space)
    if not rule.lasting and not space.design.has_coordinates:
        raise InvalidInput(
            "`Arms` without coordinates needs a kernel: pass `kernels.precomputed(K)`, "
            "or `Arms(points)` with their coordinates."
        )
    return rule


def _rule(given: Any, ridge: float, space: Space | Joint) -> Hyperparameters:
    if given is None:
        return HyperparameterFit()
    if isinstance(given, type) or not hasattr(given, "alternative"):
        return GivenHyperparameters(kernels.validated(given, space.seen), ridge)
    if isinstance(given, GivenHyperparameters):
        return replace(given, kernel=kernels.validated(given.kernel, space.seen))
    return given


def part_of(
    space: Space | Joint, within: Box | Mapping[str, Any], name: str = "within"
) -> Space | Joint:
    """The part of a space that is chosen from: a box of as many coordinates within it.

    Args:
        space: The space; of a `Joint` its designs are limited.
        within: A box, or values by parameter name on a `parameters.Space`.
        name: Name of that argument.

    Raises:
        InvalidInput: If it is none of the space.
    """
    design = space.design
    if not isinstance(design, Box):
        also = ": pass `arms` instead" if name == "within" else ""
        raise InvalidInput(f"`{name}` came with `Arms`, expected a `Box`{also}.")
    part = design.names.part(design, within) if isinstance(within, Mapping) else within
    inside = isinstance(part, Box) and part.dimension == design.dimension
    part = part.to(design.lower.device) if inside else part
    if not inside or not (design.contains(part.lower) and design.contains(part.upper)):
        raise InvalidInput(
            f"`{name}` is {checks.shown(within)}, expected a part of the space such as "
            "`box.given({0: 0.3})`, or values by parameter name."
        )
    return replace(space, design=part) if isinstance(space, Joint) else part


def placed_in(part: Space | Joint, location: Location, whole: Space | Joint) -> Location:
    """A location of a space whose design is placed alike in a part of it, by their extents."""
    if part is whole:
        return location
    box: Box = part.design  # type: ignore[assignment]
    share = (location.design - whole.design.lower) / (whole.design.upper - whole.design.lower)
    design = box.on_boundary(box.snap((box.lower + box.span * share).unsqueeze(0))[0])
    if isinstance(part, Joint):
        return part.location(design, None, location.environment)  # type: ignore[arg-type]
    return part.location(design)


def environments_of(
    points: Tensor | Sequence, rewards: Sequence[float], environments: Tensor | Sequence | None
) -> Tensor | Sequence:
    """The environment of each reward, None where none is given; as many as points and rewards.

    Args:
        points: Queries, indices of arms (n,) or points (n, d).
        rewards: The rewards (n,).
        environments: The environments (n, dz); None if there are none.
    """
    if checks.is_single(points) or not hasattr(points, "__len__"):
        raise InvalidInput(f"`points` is {checks.shown(points)}, expected one for each reward.")
    z = [None] * len(points) if environments is None else environments
    if checks.is_single(z) or not hasattr(z, "__len__"):
        raise InvalidInput(
            f"`environments` is {checks.shown(environments)}, expected one for each reward: "
            "(n, dz)."
        )
    if not len(points) == len(rewards) == len(z):
        also = "" if environments is None else f" and {len(z)} environments"
        raise InvalidInput(
            f"{len(points)} points came with {len(rewards)} rewards{also}, expected as many."
        )
    return z


def standard_errors(
    errors: Sequence[float] | Tensor | None, rewards: int, estimator: Estimator
) -> list[float]:
    """Finite standard errors, one for each reward, which the estimator can use or all are 0.

    Args:
        errors: The standard errors (n,); None for 0.
        rewards: How many rewards there are.
        estimator: The estimator in use.
    """
    found = [0.0] * rewards if errors is None else checks.standard_errors(errors, rewards)
    if any(found) and not hasattr(estimator, "update_with_error"):
        raise InvalidInput(
            f"standard errors are not supported by the estimator `{type(estimator).__name__}`: "
            "pass `Huber()`, `StudentT()` or `LeastSquares()` as `estimator`, or leave them out."
        )
    return found


def conditions(
    workers: Sequence[str | int | None] | None,
    times: Sequence[float | None] | Tensor | None,
    rewards: int,
    effects: Sequence[str],
) -> list[tuple[str | None, float | None]]:
    """Worker and time of each reward, if the model includes effects of those that are known.

    Args:
        workers: Workers (n,), some of which may be None; None if all are unknown.
        times: Times (n,), likewise.
        rewards: How many rewards there are.
        effects: Names of the effects that the model includes.
    """
    if _are_unknown(workers) and _are_unknown(times):
        return [(None, None)] * rewards
    columns: dict[str, list] = {}
    for name, value in (("workers", workers), ("times", times)):
        columnar = hasattr(value, "__len__") and not checks.is_single(value)
        if isinstance(value, str | bytes | Mapping) or not (value is None or columnar):
            raise InvalidInput(f"`{name}` is {checks.shown(value)}, expected one for each reward.")
        listed = value.tolist() if isinstance(value, Tensor) else value
        columns[name] = [None] * rewards if listed is None else list(listed)
        if len(columns[name]) != rewards:
            raise InvalidInput(
                f"{rewards} rewards came with {len(columns[name])} `{name}`, expected as many."
            )
    found = [
        (checks.worker(who), checks.time(at)) for who, at in zip(*columns.values(), strict=True)
    ]
    for index, (name, effect) in enumerate((("worker", "worker"), ("time", "drift"))):
        known = [one[index] for one in found]
        if effect not in effects and any(one is not None for one in known):
            raise InvalidInput(
                f"`{name}` requires a fitted effect of it: pass "
                f"`HyperparameterFit(effects=[{effect!r}])` as the kernel, or tell the reward "
                f"without its {name}."
            )
    return found


def _are_unknown(column: Any) -> bool:
    """Whether no worker or time is given, or one that is None, as for a single reward."""
    return column is None or (type(column) is list and column == [None])


def outcome_values(
    given: Sequence[Mapping[str, float] | None] | None,
    rewards: int,
    declared: Mapping[str, Outcome],
) -> list[dict[str, float]]:
    """Finite values of declared outcomes, one dictionary for each reward.

    Args:
        given: Values by name for each reward, some of which may be None; None if all are unknown.
        rewards: How many rewards there are.
        declared: The outcomes that are declared.
    """
    if given is None or given == [None]:
        return [{}] * rewards
    rows = given
    if not isinstance(rows, list | tuple) or not all(isinstance(r, Mapping | None) for r in rows):
        raise InvalidInput(
            f"`outcomes` is {checks.shown(given)}, expected values by name, such as "
            "`{'memory': 18.5}`; for several rewards a list with one such mapping for each."
        )
    if len(rows) != rewards:
        raise InvalidInput(
            f"{rewards} rewards came with outcomes of {len(rows)}, expected as many."
        )
    for name in (name for each in rows if each for name in each):
        if name not in declared:
            known = f"expected {', '.join(map(repr, declared))}" if declared else "none is declared"
            raise InvalidInput(
                f"{name!r} is no outcome, {known}: declare it by "
                f"`outcomes={{{name!r}: Constraint(maximum=...)}}`."
            )
    return [
        {name: checks.outcome_value(name, value) for name, value in (one or {}).items()}
        for one in rows
    ]


def check_measurements(name: str, given: Any) -> None:
    """`InvalidInput` unless an argument is a list of measurements."""
    listed = isinstance(given, list | tuple)
    if not (listed and all(isinstance(one, Measurement) for one in given)):
        raise InvalidInput(
            f"`{name}` is {checks.shown(given)}, expected a list of `Measurement(where, values)`."
        )


def checked_measurement(
    given: Measurement,
    estimator: Estimator,
    effects: Sequence[str],
    declared: Mapping[str, Outcome],
    *,
    undeclared: bool = False,
) -> Measurement:
    """The measurement with finite numbers, a name of its worker, and known outcomes only.

    Args:
        given: The measurement.
        estimator: The estimator in use.
        effects: Names of the effects that the model includes.
        declared: The outcomes that are declared.
        undeclared: Whether values of other outcomes are accepted.
    """
    for name, of in (("values", given.values), ("sems", given.sems)):
        if not isinstance(of, Mapping):
            raise InvalidInput(
                f"`{name}` is {checks.shown(of)}, expected numbers by outcome, such as "
                f"{{{OBJECTIVE!r}: 1.0}}."
            )
    others = {name: one for name, one in given.values.items() if name != OBJECTIVE}
    if undeclared:
        values = others
    else:
        (values,) = outcome_values([others], 1, declared)
    if OBJECTIVE in given.values:
        values = {OBJECTIVE: checks.reward(given.values[OBJECTIVE]), **values}
    error = checks.standard_error(given.sem)
    errors = {name: checks.standard_error(one) for name, one in given.sems.items()}
    known = [one for one in (error, *errors.values()) if one]
    standard_errors(known or None, len(known), estimator)
    worker, time = given.worker, given.time
    if worker is not None or time is not None:
        ((worker, time),) = conditions([worker], [time], 1, effects)
    return replace(given, values=values, sem=error, worker=worker, time=time, sems=errors)
