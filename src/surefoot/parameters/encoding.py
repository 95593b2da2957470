"""Encoding of configurations as points of a box, and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.parameters.columns import Column, Labels
from surefoot.parameters.conditions import Comparison
from surefoot.parameters.decimal_grid import floats_near
from surefoot.parameters.encoded_parameters import (
    EncodedCategory,
    EncodedNumber,
    EncodedOptional,
    EncodedParameter,
    encoded_parameter,
)
from surefoot.parameters.parameter import Choice, InvalidConstraint
from surefoot.parameters.region import Rules, examples_of, on_boundary
from surefoot.parameters.rules import GRID, TOLD, Rule, explained, rule_of
from surefoot.spaces import Box
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.parameters.space import Space

_TRIED = 64  # configurations on which a rule is tried


@dataclass(frozen=True, eq=False)
class Encoding:
    """Configurations of a space as points of the unit cube.

    A number is encoded by one coordinate, on a log scale if it has one, and so are ordered choices;
    other choices are one-hot; a number or an ordered choice that may be inactive, or has special
    values, is an `Arc`. The coordinates of inactive parameters are 0.

    Args:
        space: The space.
    """

    space: Space

    def __getstate__(self) -> dict[str, Any]:
        return {"space": self.space}  # what is derived holds functions, which cannot be pickled

    def __deepcopy__(self, memo: dict[int, Any]) -> Encoding:
        return self  # nothing of it changes

    @cached_property
    def parameters(self) -> Mapping[str, EncodedParameter]:
        """Encoded parameters by name, each after those that decide whether it is active."""
        found: dict[str, EncodedParameter] = {}
        width = 0
        for name, parameter in self.space.parameters.items():
            found[name] = encoded_parameter(parameter, width)
            width += len(found[name].columns)
        return {name: found[name] for name in self.space.order}

    @cached_property
    def box(self) -> Box:
        """The encoded space, [0, 1]^d."""
        box = self.unrestricted
        return replace(box, region=Rules(self)) if self.space.constraints else box

    @cached_property
    def unrestricted(self) -> Box:
        """The encoded space without its rules."""
        every = self.parameters.values()
        width = sum(len(one.columns) for one in every)
        numbers = [one for one in every if isinstance(one, EncodedNumber)]
        return Box(
            torch.zeros(width),
            torch.ones(width),
            levels={one.first: one.levels for one in numbers if len(one.levels)},
            choices=[one.columns for one in every if isinstance(one, EncodedCategory)],
            arcs=[one.arc for one in every if isinstance(one, EncodedOptional)],
            active=self.activity,
        )

    @cached_property
    def activity(self) -> Activity:
        """Which parameters are active at points."""
        return Activity(self)

    def named_box(self) -> Box:
        """The encoded space, whose points have configurations as names."""
        return replace(self.box, names=self)

    def encode(self, params: Mapping[str, Any]) -> Tensor | None:
        """Point (d,) of a configuration, None if it is not in this space.

        Values of inactive parameters are ignored, and so are rules.
        """
        point = torch.zeros(self.unrestricted.dimension, dtype=torch.float64)
        active: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if not self.space.is_active(name, active):
                continue
            encoded = parameter.encode(params[name]) if name in params else None
            if encoded is None:
                return None
            point[parameter.columns] = encoded
            active[name] = params[name]
        return point

    def decode(self, point: Tensor) -> dict[str, Any]:
        """Configuration nearest to a point (d,), of the parameters that are active in it."""
        return self._decoded(point, lambda parameter, encoded: parameter.decode(encoded))

    def configuration(self, point: Tensor) -> dict[str, Any]:
        """Configuration that is encoded as a point (d,), in short decimal numbers.

        It is the nearest one where there is none.
        """
        return self._decoded(point.cpu(), _shortest)

    def rounded(self, point: Tensor) -> Tensor:
        """Point (d,) of the configuration nearest to a point (d,)."""
        nearest = self.encode(self.configuration(point))
        return point if nearest is None else nearest.to(point)

    def point(self, params: Mapping[str, Any]) -> Tensor:
        """Point (d,) of a configuration that satisfies the constraints.

        Raises:
            InvalidInput: If it is not in the space, or violates one of them.
        """
        known = self.space.checked(params)
        self._check_rules(known)
        point = self.encode(known)
        if point is None:
            raise InvalidInput(f"the configuration {checks.shown(known)} cannot be encoded.")
        return point

    def part(self, box: Box, params: Mapping[str, Any]) -> Box:
        """The part of the encoded space in which some parameters have given values.

        Args:
            box: The encoded space, with or without names.
            params: Values by parameter name.

        Returns:
            The part, in which they have them where they are active.

        Raises:
            InvalidInput: If a name is unknown, a value none of its parameter, a parameter inactive
                beside the others, or no configuration with these values satisfies the constraints.
        """
        for name, value in params.items():
            if not self.space.parameter(name).contains(value):
                raise InvalidInput(
                    f"{name!r} is {checks.shown(value)}, expected "
                    f"{self.space.parameters[name].describe()}."
                )
        for name in self.space.excluded(params):
            if name in params:
                raise InvalidInput(
                    f"{name!r} is {checks.shown(params[name])} in {checks.shown(dict(params))}, "
                    f"but it is active only when {self.space.conditions[name].text}: leave it out."
                )
        try:
            return box.given(self.coordinates(params))
        except InvalidInput as error:
            raise InvalidInput(
                f"{checks.shown(dict(params))} came as given: {error} Choose other values."
            ) from error

    def coordinates(self, params: Mapping[str, Any]) -> dict[int, float]:
        """Coordinates by their index of the values that their parameters can have, of any names."""
        found: dict[int, float] = {}
        for name, parameter in self.parameters.items():
            encoded = parameter.encode(params[name]) if name in params else None
            if encoded is not None:
                found |= zip(parameter.columns, encoded.tolist(), strict=True)
        return found

    def check(self, point: Tensor) -> None:
        """Raise `InvalidInput` if the configuration of a point (d,) violates a constraint."""
        self._check_rules(self.configuration(point))

    def _check_rules(self, params: Mapping[str, Any]) -> None:
        if violated := self.violated(params):
            raise InvalidInput(
                f"the configuration {checks.shown(dict(params))} violates `{violated[0]}`, "
                "expected one that satisfies the constraints of the space."
            )

    def violated(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Rules that a configuration of the space violates, as they were written."""
        if not self.rules:
            return ()
        fails = (self.margins_of([params], TOLD)[0] < 0.0).tolist()
        return tuple(rule.text for rule, one in zip(self.rules, fails, strict=True) if one)

    def margins_of(self, configurations: Sequence[Mapping[str, Any]], tolerance: float) -> Tensor:
        """Margins (n, r) of the rules for configurations of the space."""
        columns, active = self.columns_of(configurations)
        return torch.stack([rule.margins(columns, active, tolerance) for rule in self.rules], -1)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The constraints, as they are evaluated on columns."""
        tried = self.unrestricted.sample(_TRIED, torch.Generator().manual_seed(0))
        columns, found = self._columns(tried), []
        for index, written in enumerate(self.space.constraints):
            try:
                found.append(rule_of(written, self.space.parameters, columns))
            except Exception as error:  # of a function of the user, too
                raise InvalidConstraint([index], explained(written, error)) from error
        return tuple(found)

    @cached_property
    def examples(self) -> Tensor:
        """Points (k, d) of the space that satisfy the constraints, at least one.

        Raises:
            InvalidConstraint: If one cannot be read, or no configuration satisfies all of them.
        """
        return examples_of(self)

    def margins(self, points: Tensor, tolerance: float | None = None) -> Tensor:
        """Margins (n, r) of the rules at points (n, d), for the values that they stand for."""
        columns, active = self._columns(points), self.activity.masks(points)
        return torch.stack([rule.margins(columns, active, tolerance) for rule in self.rules], -1)

    def holds(self, points: Tensor) -> Tensor:
        """Whether all rules hold (n,) at points (n, d), on their boundaries too."""
        with torch.no_grad():
            return (self.margins(points, GRID) >= 0.0).all(-1)

    def on_boundary(self, point: Tensor, given: Collection[int]) -> Tensor:
        """Point (d,) on the boundaries that a point (d,) almost touches; see `boundary`."""
        return on_boundary(self, point, given)

    def _columns(self, points: Tensor) -> dict[str, Column]:
        return {name: one.values(points[:, one.columns]) for name, one in self.parameters.items()}

    def columns_of(
        self, configurations: Sequence[Mapping[str, Any]]
    ) -> tuple[dict[str, Column], dict[str, Tensor]]:
        """Values (n,) of configurations and whether they are active (n,), by parameter name."""
        columns: dict[str, Column] = {}
        for name in self.parameters:
            parameter = self.space.parameters[name]
            # Of an inactive parameter any value.
            first = parameter.choices[0] if isinstance(parameter, Choice) else parameter.low
            values = [params.get(name, first) for params in configurations]
            if isinstance(parameter, Choice) and not parameter.numeric:
                index = torch.tensor([parameter.index(one) for one in values])
                columns[name] = Labels(index, tuple(parameter.choices))
            else:
                columns[name] = torch.tensor([*map(float, values)], dtype=torch.float64)
        active = {n: torch.tensor([n in one for one in configurations]) for n in self.parameters}
        return columns, active

    def _decoded(
        self, point: Tensor, value_of: Callable[[EncodedParameter, Tensor], Any]
    ) -> dict[str, Any]:
        params: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if self.space.is_active(name, params):
                params[name] = value_of(parameter, point[parameter.columns])
        return {name: params[name] for name in self.space.parameters if name in params}


def _shortest(parameter: EncodedParameter, encoded: Tensor) -> Any:
    """A value that is encoded as just these coordinates, in few digits; else the nearest one."""
    nearest = parameter.decode(encoded)
    if not isinstance(nearest, float):
        return nearest
    for value in floats_near(nearest):
        known = parameter.encode(value)
        if known is not None and torch.equal(known, encoded):
            return value
    return nearest


@dataclass(frozen=True, eq=False)
class Activity:
    """Sets the coordinates of inactive parameters to 0, parents before their children.

    Args:
        encoding: The encoding.
    """

    encoding: Encoding

    def __call__(self, points: Tensor) -> Tensor:  # (n, d) -> (n, d)
        """The points (n, d), with 0 for inactive parameters."""
        return self._applied(points)[0]

    def masks(self, points: Tensor) -> dict[str, Tensor]:
        """Whether each parameter that may be inactive is active (n,) at points (n, d), by name."""
        return self._applied(points.detach())[1]

    def _applied(self, points: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        active: dict[str, Tensor] = {}
        points = points.clone() if self._tests else points
        for name, columns, comparisons in self._tests:
            each = [parent.holds(points[:, parent.columns], one) for parent, one in comparisons]
            active[name] = torch.stack(each).all(0)
            points[:, columns] = points[:, columns] * active[name][:, None]
        return points, active

    @cached_property
    def _tests(self) -> list[tuple[str, list[int], list[tuple[EncodedParameter, Comparison]]]]:
        parameters, conditions = self.encoding.parameters, self.encoding.space.conditions
        return [
            (
                name,
                parameters[name].columns,
                [(parameters[one.name], one) for one in conditions[name].comparisons],
            )
            for name in self.encoding.space.order
            if name in conditions
        ]
