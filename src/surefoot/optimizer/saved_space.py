"""Spaces as plain values, and whether the one that came is the one that was saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from surefoot.spaces import Arms, Box, FiniteEnvironment, Joint, Space
from surefoot.types import InvalidInput


def to_values(space: Space | Joint, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """A space as values and tensors; of a density or a perturbation, only that there is one."""
    if isinstance(space, Joint):
        finite = isinstance(space.environment, FiniteEnvironment)
        if isinstance(space.environment, FiniteEnvironment):
            tensors["space.z"] = space.environment.points
            tensors["space.weights"] = space.environment.weights
        return {
            "space": "joint",
            "design": to_values(space.design, tensors),
            "observed": space.observed,
            "environment": "finite" if finite else "continuous",
            "environment_dimension": space.environment.dimension,
            "perturbation": space.perturbation is not None,
        }
    if isinstance(space, Arms):
        tensors["space.points"] = space.points
        return {"space": "arms", "has_coordinates": space.has_coordinates}
    tensors["space.lower"], tensors["space.upper"] = space.lower, space.upper
    for coordinate, levels in space.levels.items():
        tensors[f"space.levels.{coordinate}"] = levels
    return {"space": "box", "levels": list(space.levels), "choices": space.choices}


def is_whole(values: dict[str, Any]) -> bool:
    """Whether the space can be made again from its values."""
    joint = values["space"] == "joint"
    return not joint or (values["environment"] == "finite" and not values["perturbation"])


def from_values(values: dict[str, Any], tensors: dict[str, Tensor]) -> Space | Joint:
    """The space again."""
    if values["space"] == "joint":
        environment = FiniteEnvironment(tensors["space.z"], tensors["space.weights"])
        design = from_values(values["design"], tensors)
        return Joint(design, environment, values["observed"])  # type: ignore[arg-type]
    if values["space"] == "arms":
        points = tensors["space.points"]
        return Arms(points) if values["has_coordinates"] else Arms(len(points))
    levels = {c: tensors[f"space.levels.{c}"] for c in values["levels"]}
    return Box(
        tensors["space.lower"], tensors["space.upper"], levels=levels, choices=values["choices"]
    )


def check_same(
    path: Path, values: dict[str, Any], tensors: dict[str, Tensor], space: Space | Joint
) -> None:
    """`InvalidInput` unless the space is the one in the file.

    The weights of an environment may be others: what is known of the world may have changed.
    """
    if not isinstance(space, Arms | Box | Joint):
        raise InvalidInput(f"`space` is {space!r}, expected `Arms`, `Box` or `Joint`.")
    came: dict[str, Tensor] = {}
    plain = json.loads(json.dumps(to_values(space, came)))
    saved = {name: value for name, value in tensors.items() if name.startswith("space.")}
    if plain == values:
        other = [name for name in came if not _equal(came[name].cpu(), saved.get(name))]
        if set(other) <= {"space.weights"}:
            return
        what = ", ".join(name.removeprefix("space.") for name in other)
    else:
        what = ", ".join(_differing(plain, values))
    raise InvalidInput(
        f"{path} was saved with another `space` than the one that came (its {what} differ): pass "
        "the one it was saved with."
    )


def _equal(came: Tensor, saved: Tensor | None) -> bool:
    return saved is not None and torch.equal(came, saved)


def _differing(came: dict[str, Any], saved: dict[str, Any]) -> list[str]:
    """The names of what differs, those of the design first."""
    if came["space"] != saved["space"]:
        return [f"kinds, {saved['space']} and {came['space']},"]
    if came["space"] == "joint" and came["design"] != saved["design"]:
        return [f"design's {name}" for name in _differing(came["design"], saved["design"])]
    return [name.replace("_", " ") for name in came if came[name] != saved[name]]
