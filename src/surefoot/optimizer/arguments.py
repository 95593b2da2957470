"""Checks of what an optimizer is made of and told, which change nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from surefoot._internal import checks
from surefoot.estimators import Estimator
from surefoot.regression.observations import Conditions
from surefoot.spaces import Arms, Box, Joint, Space
from surefoot.types import Constraint, InvalidInput


def check_parts(space: object, features: object, estimator: object, width: object) -> None:
    """`InvalidInput` for a part that is none, such as its name or its class."""
    if not isinstance(space, Arms | Box | Joint):
        raise InvalidInput(f"`space` is {space!r}, expected `Arms`, `Box` or `Joint`.")
    if width is not None and (not callable(width) or isinstance(width, type)):
        example = f"constant({width!r})" if isinstance(width, int | float) else "srinivas()"
        raise InvalidInput(
            f"`width` is {checks.shown(width)}, expected a width: pass `widths.{example}`."
        )
    if features is not None and (not hasattr(features, "init") or isinstance(features, type)):
        raise InvalidInput(f"`features` must be a feature map such as `Exact()`, got {features!r}.")
    right = all(hasattr(estimator, name) for name in ("init", "update", "estimate"))
    if estimator is not None and (not right or isinstance(estimator, type)):
        raise InvalidInput(f"`estimator` must be one such as `Huber()`, got {estimator!r}.")


def check_rules(hyperparameters: object, interval: object, instability: object) -> None:
    """`InvalidInput` for one that is none, such as its name or its class; None is a default."""
    for name, rule, example in (
        ("interval", interval, "Credible(0.95)"),
        ("instability", instability, "Instability(0.3)"),
    ):
        if rule is not None and (not callable(rule) or isinstance(rule, type)):
            raise InvalidInput(
                f"`{name}` is {checks.shown(rule)}, expected one such as `acquisition.{example}`."
            )
    if hyperparameters is not None and (
        not hasattr(hyperparameters, "uncertainty") or isinstance(hyperparameters, type)
    ):
        raise InvalidInput(
            f"`hyperparameters` is {checks.shown(hyperparameters)}, expected a `HyperparameterFit`."
        )


def check_kernel(space: Space | Joint, kernel: object, hyperparameters: object) -> None:
    """`InvalidInput` if a kernel is missing, or given beside the way to fit one."""
    if kernel is not None and hyperparameters is not None:
        raise InvalidInput("`kernel` and `hyperparameters` cannot both be given: pass one of them.")
    if kernel is None and not space.design.has_coordinates:
        raise InvalidInput(
            "`Arms` without coordinates needs a kernel: pass `kernels.precomputed(K)`, "
            "or `Arms(points)` with their coordinates."
        )


def check_constraints(space: Space | Joint, constraints: object) -> None:
    """`InvalidInput` unless they are `Constraint`s by name, on a space that can be modelled."""
    checks.constraints(constraints)
    if constraints and not space.design.has_coordinates:
        raise InvalidInput(
            "`constraints` came with `Arms` without coordinates, expected inputs of a model: pass "
            "`Arms(points)`."
        )


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
) -> list[Conditions]:
    """The conditions of each reward, if effects of those that are known are looked for.

    Args:
        workers: Workers (n,), some of which may be None; None if all are unknown.
        times: Times (n,), likewise.
        rewards: How many rewards there are.
        effects: Names of the effects that are looked for.
    """
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
    found = [Conditions.validated(*each) for each in zip(*columns.values(), strict=True)]
    for name, effect in (("worker", "worker"), ("time", "drift")):
        if effect not in effects and any(getattr(each, name) is not None for each in found):
            raise InvalidInput(
                f"`{name}` requires a fitted effect of it: pass "
                f"`hyperparameters=HyperparameterFit(effects=[{effect!r}])` and no kernel, or "
                f"tell the reward without its {name}."
            )
    return found


def constraint_values(
    given: Sequence[Mapping[str, float] | None] | None,
    rewards: int,
    limits: Mapping[str, Constraint],
) -> list[dict[str, float]]:
    """Finite values of declared constraints, one dictionary for each reward.

    Args:
        given: Values by name for each reward, some of which may be None; None if all are unknown.
        rewards: How many rewards there are.
        limits: The constraints that are declared.
    """
    rows = [None] * rewards if given is None else given
    if not isinstance(rows, list | tuple) or not all(isinstance(r, Mapping | None) for r in rows):
        raise InvalidInput(
            f"`constraints` is {checks.shown(given)}, expected values by name, such as "
            "`{'memory': 18.5}`; for several rewards a list with one such mapping for each."
        )
    if len(rows) != rewards:
        raise InvalidInput(
            f"{rewards} rewards came with constraints of {len(rows)}, expected as many."
        )
    for name in (name for each in rows if each for name in each):
        if name not in limits:
            known = f"expected {', '.join(map(repr, limits))}" if limits else "none is declared"
            raise InvalidInput(
                f"{name!r} is not a constraint, {known}: declare it by "
                f"`constraints={{{name!r}: Constraint(maximum=...)}}`."
            )
    finite = checks.finite
    return [
        {name: finite(f"constraints[{name!r}]", value) for name, value in (one or {}).items()}
        for one in rows
    ]
