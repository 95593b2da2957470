"""Boxes with continuous, discrete and one-hot encoded categorical coordinates."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.brief import brief
from surefoot._internal.numbers import ROUNDING
from surefoot.spaces.arcs import ALL_ACTIVE, Activity, Arc
from surefoot.spaces.arms import Arms
from surefoot.spaces.finite_environment import NO_ENVIRONMENT, FiniteEnvironment
from surefoot.spaces.locations import (
    EnvironmentValue,
    Listed,
    Location,
    Where,
    check_no_environment,
)
from surefoot.spaces.names import UNNAMED, Names
from surefoot.spaces.regions import (
    ANYWHERE,
    PartOfRegion,
    Region,
    moved_inside,
    project,
    with_fixed,
)
from surefoot.types import InvalidInput

_TRIED = 2048  # points of a part, of which some are where the rules hold
_KEPT = 256  # of them
_DRAWS = 64  # points of a sample that are drawn for each one where the rules hold
_MANY = 16  # variables


@dataclass(frozen=True, eq=False, init=False)
class Box:
    """Box-shaped space of points between two bounds.

    Args:
        lower: Lower bounds (d,).
        upper: Upper bounds (d,), above the lower ones.
        levels: Values that discrete coordinates are restricted to, by the index of the coordinate.
        choices: Groups of coordinates that encode a category one-hot: exactly one of a group is 1
            and the others are 0. Their bounds are 0 and 1.
        arcs: Numbers that may be absent, or have special values. Their bounds are 0 and 1.
        active: Function of points (n, d) that sets the coordinates of variables that are inactive
            there to 0; they belong to `choices` or `arcs`.
        region: Known constraints between coordinates; `parameters.Space` makes one from rules.
        names: Configurations that points stand for; `parameters.Space` makes them.

    Raises:
        InvalidInput: If the bounds are not in order, or a restriction does not fit them.

    Example:
        >>> import torch
        >>> box = Box([0.0, 1.0], [1.0, 10.0], levels={1: [1, 2, 5, 10]})
        >>> box.snap(torch.tensor([[0.3, 6.0]], dtype=torch.float64)).tolist()
        [[0.3, 5.0]]
    """

    lower: Tensor
    """Lower bounds (d,)."""
    upper: Tensor
    """Upper bounds (d,)."""
    levels: Mapping[int, Tensor] = field(default_factory=dict)
    """Sorted values of each discrete coordinate, by its index."""
    choices: tuple[tuple[int, ...], ...] = ()
    """Groups of coordinates that encode a category one-hot."""
    arcs: tuple[Arc, ...] = ()
    """Numbers that may be absent, or have special values."""
    active: Activity = ALL_ACTIVE
    """Sets the coordinates of inactive variables to 0."""
    region: Region = ANYWHERE
    """Known constraints between coordinates."""
    names: Names = UNNAMED
    """Configurations that points stand for."""
    fixed: Mapping[int, float] = field(init=False, default_factory=dict)
    """Coordinates that have one value, by their index; see `given`."""
    observed: ClassVar[bool] = False
    finite: ClassVar[bool] = False
    is_elsewhere: ClassVar[bool] = False
    has_environment: ClassVar[bool] = False
    conditions: ClassVar[tuple[()]] = ()
    environment: ClassVar[FiniteEnvironment] = NO_ENVIRONMENT
    has_coordinates: ClassVar[bool] = True

    __repr__ = brief

    def __init__(
        self,
        lower: Tensor | Sequence,
        upper: Tensor | Sequence,
        *,
        levels: Mapping[int, Tensor | Sequence] | None = None,
        choices: Sequence[Sequence[int]] = (),
        arcs: Sequence[Arc] = (),
        active: Activity = ALL_ACTIVE,
        region: Region = ANYWHERE,
        names: Names = UNNAMED,
    ) -> None:
        low = checks.coordinates("lower", checks.vector("lower", lower))
        high = checks.coordinates("upper", checks.vector("upper", upper, len(low)))
        _check_bounds(low, high)
        levels = {} if levels is None else levels
        if not isinstance(levels, Mapping):
            raise InvalidInput(f"`levels` is {checks.shown(levels)}, expected a dict of lists.")
        values = {c: checks.vector(f"levels[{c}]", v).sort().values for c, v in levels.items()}
        groups, numbers = _groups(choices), _arcs(arcs)
        _check_restrictions(low, high, values, [*groups, *(arc.columns for arc in numbers)])
        if not callable(active) or isinstance(active, type):
            raise InvalidInput(
                f"`active` is {checks.shown(active)}, expected a function of points (n, d)."
            )
        self._set(lower=low, upper=high, levels=values, choices=groups, arcs=numbers)
        self._set(active=active, region=region, names=names, fixed={})

    def _set(self, **values: Any) -> None:
        """Set fields, while the box is made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return len(self.lower)

    def to(self, device: str | torch.device) -> Box:
        """Move to a device.

        Args:
            device: A torch device.

        Returns:
            The same box on that device.

        Raises:
            InvalidInput: If the device cannot be used.
        """
        device = checks.device(device)
        moved = copy.copy(self)
        levels = {coordinate: values.to(device) for coordinate, values in self.levels.items()}
        moved._set(lower=self.lower.to(device), upper=self.upper.to(device), levels=levels)
        return moved

    def given(self, fixed: Mapping[int, float]) -> Box:
        """The part of the box in which some variables have given values.

        Args:
            fixed: Values by the index of a coordinate; all coordinates of a variable.

        Returns:
            A box of as many coordinates, in which these do not vary where they are active.

        Raises:
            InvalidInput: If a coordinate is none of the box, a value is out of its bounds, or no
                point with them was found where the rules of the region hold.

        Example:
            >>> part = Box([0.0, 0.0], [1.0, 1.0]).given({0: 0.3})
            >>> part.snap(torch.tensor([[0.9, 0.5]], dtype=torch.float64)).tolist()
            [[0.3, 0.5]]
        """
        for coordinate, value in fixed.items():
            _check_coordinate(coordinate, self.dimension)
            low, high = float(self.lower[coordinate]), float(self.upper[coordinate])
            if not low <= checks.finite(f"fixed[{coordinate}]", value) <= high:
                raise InvalidInput(
                    f"fixed[{coordinate}] is {value!r}, expected a number from {low} to {high}."
                )
        part = copy.copy(self)
        part._set(fixed={**self.fixed, **fixed})
        if self.region.rules:
            part._set(region=PartOfRegion(self.region, part.fixed, _examples(part)))
        return part

    @property
    def span(self) -> Tensor:
        """Extents (d,), upper less lower bounds."""
        return self.upper - self.lower

    @property
    def continuous(self) -> list[int]:
        """Indices of the coordinates that vary freely between their bounds."""
        others = {*self.levels, *(c for group in self._several for c in group), *self.fixed}
        return [c for c in range(self.dimension) if c not in others]

    def unfilled(self, points: Tensor) -> list[int]:
        """Indices of the coordinates with values between some of these points (n, d)."""
        gaps = []
        for one, values in self.levels.items() if len(points) else ():
            seen = points[:, one].unique()
            within = (values >= seen[0]) & (values <= seen[-1])
            gaps += [one] * (int(within.sum()) > len(seen))
        return [*self.continuous, *gaps]

    @property
    def variables(self) -> list[list[int]]:
        """Columns of each variable that varies: one, or several that encode it together."""
        grouped = {c for group in self._several for c in group}
        single = [[c] for c in range(self.dimension) if c not in grouped]
        several = [list(group) for group in self._several]
        return [one for one in single + several if one[0] not in self.fixed]

    @property
    def has_many_variables(self) -> bool:
        """Whether the search stays close to the data, since no point is near another."""
        return len(self.variables) > _MANY

    @property
    def shared(self) -> list[tuple[int, ...]]:
        """Groups of coordinates of one lengthscale."""
        return [*self.choices, *(group for arc in self.arcs for group in arc.shared)]

    @property
    def discrete(self) -> list[tuple[list[int], Tensor]]:
        """Columns of each variable that a search tries values of, and the values (o, columns)."""
        like = self.lower
        levels = [([c], values.unsqueeze(-1)) for c, values in self.levels.items()]
        units = [(list(g), torch.eye(len(g), dtype=like.dtype).to(like)) for g in self.choices]
        arcs = [(list(arc.columns), arc.options(like)) for arc in self.arcs]
        return [one for one in levels + units + arcs if one[0][0] not in self.fixed]

    @property
    def _several(self) -> list[tuple[int, ...]]:
        return [*self.choices, *(arc.columns for arc in self.arcs)]

    def alike(self, points: Tensor, others: Tensor) -> Tensor:
        """Mask (n,) of points (n, d) that differ from others (n, d) by rounding only."""
        return ((points - others).abs() <= ROUNDING * self.span).all(-1)

    def snap(self, points: Tensor) -> Tensor:
        """Project points on the space.

        Args:
            points: Points (n, d).

        Returns:
            The nearest points (n, d) within the bounds, levels, categories and arcs, with 0 for
            inactive variables; near ones where they violate a rule of the region.
        """
        snapped = self._nearest(points)
        if not self.region.rules:
            return snapped
        return moved_inside(snapped, self.region, self.lower, self.span, self._nearest)

    def on_boundary(self, point: Tensor) -> Tensor:
        """Move a point that a search found beside a boundary onto it.

        Args:
            point: Point (d,) that `snap` has made.

        Returns:
            The point (d,) at which the rules that it almost touches just hold, to the last digit.
        """
        return self.region.on_boundary(point, self.fixed) if self.region.rules else point

    def _nearest(self, points: Tensor) -> Tensor:
        """Project points (n, d) on the space without its rules."""
        snapped = points.clamp(self.lower, self.upper)
        for coordinate, values in self.levels.items():
            halfway = (values[1:] + values[:-1]) / 2.0
            nearest = torch.bucketize(snapped[:, coordinate].contiguous(), halfway)
            snapped[:, coordinate] = values[nearest]
        for group in self.choices:
            columns = list(group)
            chosen = snapped[:, columns].argmax(-1)
            snapped[:, columns] = torch.nn.functional.one_hot(chosen, len(columns)).to(points)
        for arc in self.arcs:
            snapped[:, list(arc.columns)] = arc.nearest(snapped[:, list(arc.columns)])
        return self.active(with_fixed(snapped, self.fixed))

    def brought_inside(self, points: Tensor) -> Tensor:
        """Points (n, d), of which those of a larger box are moved into this part of it."""
        room = ROUNDING * self.span
        outside = ((points < self.lower - room) | (points > self.upper + room)).any(-1)
        outside |= ((points - with_fixed(points, self.fixed)).abs() > room).any(-1)
        if not bool(outside.any()):
            return points
        moved = points.clone()
        moved[outside] = self.snap(points[outside])
        return moved

    def stretched(self, unit: Tensor) -> Tensor:
        """Spread points of the unit cube over the bounds and arcs.

        Args:
            unit: Points (n, d), uniform in the unit cube.

        Returns:
            Points (n, d) that `snap` takes to uniform values of each variable.
        """
        points = self.lower + self.span * unit
        for arc in self.arcs:
            points[:, list(arc.columns)] = arc.placed(unit[:, list(arc.columns)])
        return points

    def activated(self, points: Tensor, generator: torch.Generator) -> Tensor:
        """Give inactive variables random values, which they have if they become active.

        Args:
            points: Points (n, d) of the space.
            generator: Source of the values.

        Returns:
            Points (n, d), which `snap` takes back.
        """
        groups = [list(columns) for columns in self._several]
        inactive = [(points[:, columns] == 0.0).all(-1, keepdim=True) for columns in groups]
        if not any(bool(each.any()) for each in inactive):
            return points
        drawn = torch.rand(points.shape, dtype=torch.float64, generator=generator)
        random, filled = self.stretched(drawn.to(points)), points.clone()
        for columns, where in zip(groups, inactive, strict=True):
            filled[:, columns] = torch.where(where, random[:, columns], points[:, columns])
        return filled

    def contains(self, point: Tensor, slack: float = ROUNDING) -> bool:
        """Whether a point lies between the bounds, or all of several.

        Args:
            point: Point (d,), or points (n, d).
            slack: Tolerance, relative to the extents.

        Returns:
            True if it does, or all do.
        """
        room = slack * self.span
        return bool(((point >= self.lower - room) & (point <= self.upper + room)).all())

    def sample(self, number: int, generator: torch.Generator) -> Tensor:
        """Draw quasi-random points.

        Args:
            number: Number of points n.
            generator: Source of the scrambling.

        Returns:
            Scrambled Sobol points (n, d) of the space.
        """
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        sobol = torch.quasirandom.SobolEngine(self.dimension, scramble=True, seed=seed)

        def draw(more: int) -> Tensor:
            unit = sobol.draw(more, dtype=torch.float64).to(self.lower.device)
            return self._nearest(self.stretched(unit))

        points = draw(number)
        if not self.region.rules:
            return points
        inside = self.allows(points)
        while int(inside.sum()) < number and len(points) < _DRAWS * number:
            points = torch.cat([points, draw(len(points))])
            inside = self.allows(points)
        kept = points[inside][:number]
        return torch.cat([kept, self.snap(points[~inside][: number - len(kept)])])

    def allows(self, points: Tensor) -> Tensor:
        """Whether all rules of the region hold.

        Args:
            points: Points (n, d) of the space.

        Returns:
            Truth values (n,).
        """
        return self.region.holds(points)

    @property
    def design(self) -> Box:
        """Designs to choose from: this box."""
        return self

    @property
    def seen(self) -> Box:
        """Inputs of the model: this box."""
        return self

    def inputs(self, x: Tensor, z: Tensor) -> Tensor:
        """Inputs of the model at designs (n, d), which are the designs."""
        return x

    def lists(self, x: Tensor, z: Tensor) -> bool:
        """Whether designs x are all points of the space: never."""
        return False

    def examples(self, number: int, generator: torch.Generator) -> Tensor:
        """Points (number + 2, d) to try a function at: quasi-random ones, and both ends."""
        ends = torch.stack([self.lower, self.upper])
        return torch.cat([self.sample(number, generator), ends]) if number else ends

    def location(self, design: Tensor, arm: int | None = None) -> Location:
        """The location of a point (d,), negative zeros made positive: equal points are one site."""
        point = self.names.rounded(design) + 0.0
        return Location(point, None, point, None, params=self.names.configuration(point))

    def locate(
        self, where: Where, environment: EnvironmentValue = None, name: str = "point"
    ) -> Location:
        """The location of a point (d,), or of a configuration by its names.

        Raises:
            InvalidInput: If the point is outside the box, its configuration violates a constraint,
                or an environment is given.
        """
        check_no_environment(environment)
        if isinstance(where, Mapping):
            return self.location(self.names.point(where).to(self.lower))
        given = checks.vector(name, where, self.dimension, self.lower.device)  # type: ignore[arg-type]
        point = given if self.contains(given, 0.0) else _unrounded(self, given)
        if point is not given and not self.contains(point):
            raise InvalidInput(
                f"the point {point.tolist()} is outside the box from {self.lower.tolist()} "
                f"to {self.upper.tolist()}, expected one of the space that was given."
            )
        self.names.check(point)
        return self.location(point)

    def listed(self, arms: Tensor | Sequence) -> Sequence[Location]:
        """The locations of points (n, d) or configurations (n,); `InvalidInput` for a wrong one."""
        named = isinstance(arms, Sequence) and any(isinstance(one, Mapping) for one in arms)
        rows = arms if named else checks.matrix("arms", arms, self.lower.device)
        if isinstance(rows, Tensor) and self.names == UNNAMED and _are_inside(self, rows):
            return Listed(_unrounded(self, rows) + 0.0)  # as `location` does
        located = []
        for number, row in enumerate(rows):
            try:
                located.append(self.locate(row))
            except InvalidInput as error:
                raise InvalidInput(f"`arms[{number}]`: {error}") from error
        return located

    def spread(self, number: int, generator: torch.Generator) -> list[Location]:
        """An initial design: scrambled Sobol points."""
        points = self.sample(number, generator) if number else self.lower.new_zeros(0, 1)
        return [self.location(self.on_boundary(point)) for point in points]


Space = Arms | Box
"""A search space without an environment."""


def as_space(space: Any) -> Any:
    """The encoded space of named parameters, any other space as it is."""
    return getattr(space, "box", space)


def no_space(name: str, given: object, kinds: str) -> InvalidInput:
    """The error for anything but a space of some kinds, as they are listed."""
    hint = ': for named parameters pass `parameters.Space({"x": parameters.Float(0, 1)})`'
    hint = hint if isinstance(given, Mapping) else ""
    return InvalidInput(f"`{name}` is {checks.shown(given)}, expected {kinds}{hint}.")


def _groups(choices: object) -> tuple[tuple[int, ...], ...]:
    if not isinstance(choices, list | tuple) or not all(hasattr(g, "__len__") for g in choices):
        raise InvalidInput(
            f"`choices` is {checks.shown(choices)}, expected a list of lists of coordinates."
        )
    return tuple(tuple(group) for group in choices)


def _arcs(arcs: object) -> tuple[Arc, ...]:
    if not isinstance(arcs, list | tuple) or not all(isinstance(one, Arc) for one in arcs):
        raise InvalidInput(
            f"`arcs` is {checks.shown(arcs)}, expected a list of arcs such as "
            "`Arc(0, 1, positions)`."
        )
    return tuple(arcs)


def _examples(part: Box) -> Tensor:
    """Points (k, d) of a part, at least one, where all rules of the region hold."""
    generator = torch.Generator().manual_seed(0)
    unit = torch.rand(_TRIED, part.dimension, dtype=torch.float64, generator=generator)
    drawn = part._nearest(part.stretched(unit.to(part.lower)))
    points = torch.cat([part._nearest(part.region.examples.to(drawn)), drawn])
    found = points[part.allows(points)]
    if not len(found):
        region = PartOfRegion(part.region, part.fixed, found)
        points, right = project(points, region, part.lower, part.span, part._nearest)
        found = points[right]
    if not len(found):
        margins = part.region.margins(points)
        never = (margins < 0.0).all(0).nonzero()[:, 0].tolist() or range(margins.shape[1])
        rules = "` and `".join(part.region.rules[index] for index in never)
        raise InvalidInput(f"no point with the given values was found that satisfies `{rules}`.")
    return found[:_KEPT]


def _are_inside(box: Box, points: Tensor) -> bool:
    """Whether all points (n, d), at least one, lie between the bounds."""
    known = len(points) and points.shape[1] == box.dimension
    return bool(known and box.contains(_unrounded(box, points)))


def _unrounded(box: Box, point: Tensor) -> Tensor:
    """A point (d,), where float32 has rounded a bound beyond itself the bound."""
    low, high = (bound.to(torch.float32).to(bound) for bound in (box.lower, box.upper))
    point = torch.where((point < box.lower) & (point >= low), box.lower, point)
    return torch.where((point > box.upper) & (point <= high), box.upper, point)


def _check_bounds(lower: Tensor, upper: Tensor) -> None:
    """Raise `InvalidInput` unless bounds are in order, and apart."""
    if not bool((lower < upper).all()):
        worst = int((upper - lower).argmin())
        raise InvalidInput(
            f"`lower` is {float(lower[worst])} and `upper` {float(upper[worst])} in coordinate "
            f"{worst}, expected lower < upper: leave out coordinates that cannot vary."
        )
    if bool((upper - lower < 1.0 / checks.LARGEST).any()):
        raise InvalidInput(
            f"`upper` - `lower` is {float((upper - lower).min()):.3g} in a coordinate, expected "
            f"at least {1.0 / checks.LARGEST:.0e}: rescale the coordinate."
        )


def _check_coordinate(coordinate: object, dimension: int) -> None:
    number = checks.integer(coordinate)
    if number is None or not 0 <= number < dimension:
        raise InvalidInput(f"coordinate {coordinate!r} is not one of 0 to {dimension - 1}.")


def _check_restrictions(
    lower: Tensor, upper: Tensor, levels: Mapping[int, Tensor], choices: Sequence[Sequence[int]]
) -> None:
    """Raise `InvalidInput` unless levels are within bounds and choices are disjoint unit cubes."""
    restricted = [*levels, *(c for group in choices for c in group)]
    times = Counter(restricted)
    for coordinate in restricted:
        _check_coordinate(coordinate, len(lower))
        if times[coordinate] > 1:
            raise InvalidInput(
                f"coordinate {coordinate} is restricted twice in `levels`, `choices`."
            )
    for coordinate, values in levels.items():
        if float(values[0]) < float(lower[coordinate]) or values[-1] > float(upper[coordinate]):
            raise InvalidInput(
                f"levels[{coordinate}] go from {float(values[0])} to {float(values[-1])}, expected "
                f"values from {float(lower[coordinate])} to {float(upper[coordinate])}."
            )
    for group in choices:
        columns = list(group)
        unit = bool((lower[columns] == 0.0).all() and (upper[columns] == 1.0).all())
        if not columns or not unit:
            raise InvalidInput(
                f"the choice {tuple(group)} is expected to name coordinates with bounds 0 and 1."
            )
