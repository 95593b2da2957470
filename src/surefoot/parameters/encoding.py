"""Encoding of configurations as points of a box, and back, and the region where rules hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import ROUNDING
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
from surefoot.parameters.parameter import Choice, Float, InvalidConstraint, shared_name
from surefoot.parameters.rules import GRID, TOLD, Rule, explained, rule_of
from surefoot.spaces import Box
from surefoot.spaces.regions import project
from surefoot.spaces.representatives import every_point
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.parameters.space import Space

_TRIED = 64  # configurations on which a rule is tried
_SEARCHED = 2**14  # combinations of a finite space, all of them, or points of any other
_KEPT = 512  # of them, or those nearest to the region
_ENOUGH = 32


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

    def encode(self, params: Mapping[str, Any]) -> Tensor | None:
        """Point (d,) of a configuration, None if it is not in this space.

        Values of inactive parameters are ignored, and so are rules.
        """
        point = torch.zeros(self.unrestricted.dimension, dtype=torch.float64)
        active: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if not self.space.is_active(name, active):
                continue
            own = shared_name(name)
            encoded = parameter.encode(params[own]) if own in params else None
            if encoded is None:
                return None
            point[parameter.columns] = encoded
            active[name] = params[own]
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
            if not self.space.has(name, value):
                raise InvalidInput(
                    f"{name!r} is {checks.shown(value)}, expected "
                    f"{self.space.parameter(name).describe()}."
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
        """Coordinates by their index of the values that their parameters can have, of any names.

        A value that only one of several ranges of its name has goes with the choice of that range.
        """
        found, having = dict[int, float](), dict[str, list[str]]()
        for name, parameter in self.parameters.items():
            own = shared_name(name)
            encoded = parameter.encode(params[own]) if own in params else None
            if encoded is not None:
                found |= zip(parameter.columns, encoded.tolist(), strict=True)
                having.setdefault(own, []).append(name)
        for name in [each[0] for own, each in having.items() if each != [own] and len(each) == 1]:
            needed = self.space.conditions[name].comparisons
            choices = {one.name: one.values[0] for one in needed if one.operator == "=="}
            found |= self.coordinates({n: one for n, one in choices.items() if n not in params})
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
        return _examples_of(self)

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
        return _on_boundary(self, point, given)

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
        return {shared_name(n): params[n] for n in self.space.parameters if n in params}


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


@dataclass(frozen=True, eq=False)
class Rules:
    """The region of an encoding where its rules hold, or some of them.

    Args:
        encoding: The encoding.
        chosen: Positions of the rules; None for all.
    """

    encoding: Encoding
    chosen: tuple[int, ...] | None = None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules as they were written."""
        return tuple(rule.text for rule in self.encoding.rules)

    @property
    def examples(self) -> Tensor:
        """Points (k, d) where all of them hold; none where some were chosen."""
        none = self.encoding.unrestricted.lower[None, :0]
        return self.encoding.examples if self.chosen is None else none

    def margins(self, points: Tensor) -> Tensor:
        """Margins (n, r) of the rules at points (n, d)."""
        margins = self.encoding.margins(points)
        return margins if self.chosen is None else margins[:, list(self.chosen)]

    def holds(self, points: Tensor) -> Tensor:
        """Whether the rules hold (n,) at points (n, d)."""
        if self.chosen is None:
            return self.encoding.holds(points)
        with torch.no_grad():
            return (self.margins(points) >= 0.0).all(-1)

    def on_boundary(self, point: Tensor, given: Collection[int] = ()) -> Tensor:
        """Point (d,) on the boundaries that a point (d,) almost touches."""
        return point if self.chosen is not None else self.encoding.on_boundary(point, given)


def _examples_of(encoding: Encoding) -> Tensor:
    """Points (k, d) of an encoded space where all its rules hold.

    Args:
        encoding: The encoding.

    Raises:
        InvalidConstraint: If there is none, or none was found; it names a smallest set of rules
            that exclude each other.
    """
    box = encoding.unrestricted
    every = every_point(box, _SEARCHED)
    tried = box.sample(_SEARCHED, torch.Generator().manual_seed(0)) if every is None else every
    chosen = tuple(range(len(encoding.rules)))
    found = _satisfying(encoding, chosen, tried, complete=every is not None)
    if len(found):
        return found[:_KEPT]
    for index in chosen:
        fewer = tuple(one for one in chosen if one != index)
        if fewer and not len(_satisfying(encoding, fewer, tried, complete=every is not None)):
            chosen = fewer
    raise InvalidConstraint(chosen, _why(encoding, chosen, complete=every is not None))


def _satisfying(
    encoding: Encoding, chosen: Sequence[int], tried: Tensor, *, complete: bool
) -> Tensor:
    """Points (k, d) where some of the rules hold, of those tried or near them."""
    region, box = Rules(encoding, tuple(chosen)), encoding.unrestricted
    inside = tried[region.holds(tried)]
    if complete or len(inside) >= _ENOUGH:
        return inside
    with torch.no_grad():
        worst = region.margins(tried).amin(-1)
    nearest = tried[worst.argsort(descending=True)[:_KEPT]]
    spread = tried[:_KEPT]
    moved, right = project(torch.cat([nearest, spread]), region, box.lower, box.span, box.snap)
    return torch.cat([inside, moved[right]])


def _why(encoding: Encoding, chosen: Sequence[int], *, complete: bool) -> str:
    """Why no configuration is left, and what to do."""
    texts = [f"`{encoding.rules[index].text}`" for index in chosen]
    listed = " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
    which = f"both {listed}" if len(texts) == 2 else listed
    if complete:
        return f"no configuration satisfies {which}; widen the ranges or relax a rule"
    hint = ""
    margins = encoding.margins(encoding.unrestricted.sample(8, torch.Generator().manual_seed(0)))
    if not bool(margins[:, list(chosen)].isfinite().any(0).all()):
        hint = (
            "; a function that returns numbers, at least 0 where it holds, shows the way to a "
            "small region"
        )
    return (
        f"no configuration was found that satisfies {which}; widen the ranges or relax a rule{hint}"
    )


_NEAR = 1e-5  # of the range of a parameter: a search stops that close to a boundary


def _on_boundary(encoding: Encoding, point: Tensor, given: Collection[int]) -> Tensor:
    """Point (d,) on the boundaries of rules that a point (d,) almost touches.

    A search stops before a boundary by more than its rounding errors, at 3.999999998996 for
    `a <= 4`. For each such rule a continuous parameter moves to the last value, as it is shown, for
    which all rules hold. Where there is none, such as for `a < 4`, the point stays.

    Args:
        encoding: The encoding.
        point: The point.
        given: Coordinates that do not move.
    """
    found = point.cpu()[: encoding.unrestricted.dimension]
    params = encoding.configuration(found)
    free = [
        name
        for name, value in params.items()
        if isinstance(one := encoding.space.parameters[name], Float)
        and one.step is None
        and one.low < value < one.high
        and value not in one.special
        and not {*given} & {*encoding.parameters[name].columns}
    ]
    # Those with the fewest parameters to move come first.
    for index in sorted(range(len(encoding.rules)), key=lambda at: len(encoding.rules[at].names)):
        moved = _moved(encoding, encoding.rules[index], params, free)
        if moved is None:
            continue
        name, value = moved
        tried = [encoding.encode(params | {name: near}) for near in floats_near(value)]
        points = torch.stack([found, *(one for one in tried if one is not None)])
        shown = [encoding.configuration(one) for one in points]
        margins = encoding.margins_of(shown, tolerance=0.0)
        least = margins[0].clamp_max(0.0)  # of a grid, whose values add up to a bit more
        right = (margins >= least).all(-1) & (margins[:, index] >= 0.0) & encoding.holds(points)
        right &= torch.tensor([one.keys() == params.keys() for one in shown])  # the same active
        if bool(right.any()):
            best = int(torch.where(right, margins[:, index], math.inf).argmin())
            found, params = points[best], shown[best]
            free.remove(name)
    return torch.cat([found.to(point), point[len(found) :]])


def _moved(
    encoding: Encoding, rule: Rule, params: Mapping[str, Any], free: Sequence[str]
) -> tuple[str, float] | None:
    """The parameter that contributes most to a rule, and its value on a boundary, if that is close.

    So a floating-point number more or less of the parameter is about one more or less of the rule.
    """
    columns, active = encoding.columns_of([params])
    values = {name: columns[name].requires_grad_() for name in rule.names if name in free}  # type: ignore[union-attr]
    with torch.enable_grad():
        margin = rule.margins(columns, active, 0.0)
    if not values or not margin.requires_grad or not bool(margin.isfinite()):
        return None
    slopes = torch.autograd.grad(margin.sum(), [*values.values()], allow_unused=True)
    found = [
        (abs(params[name] * float(slope)), name, params[name] - float(margin.detach() / slope))
        for name, slope in zip(values, slopes, strict=True)
        if slope is not None and float(slope) != 0.0
    ]
    near = [
        each
        for each in found
        if abs(each[2] - params[each[1]]) <= _reach(encoding, each[1], params[each[1]])
    ]
    return max(near)[1:] if near else None


def _reach(encoding: Encoding, name: str, value: float) -> float:
    """How far a number may move: as little of its range as of itself."""
    number = encoding.space.parameters[name]
    low, high = float(number.low), float(number.high)  # type: ignore[union-attr]
    extent = value * math.log(high / low) if number.log else high - low  # type: ignore[union-attr]
    return min(_NEAR * extent, max(_NEAR * abs(value), ROUNDING * extent))
