"""Boxes with continuous, discrete and one-hot encoded categorical coordinates."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.spaces.arcs import ALL_ACTIVE, Activity, Arc
from surefoot.spaces.arms import Arms
from surefoot.spaces.finite_environment import NO_ENVIRONMENT, FiniteEnvironment
from surefoot.spaces.locations import EnvironmentValue, Location, Where, check_no_environment
from surefoot.spaces.names import UNNAMED, Names
from surefoot.spaces.regions import ANYWHERE, Region, holds, moved_inside
from surefoot.types import InvalidInput

_DRAWS = 64  # points of a sample that are drawn for each one where the rules hold
_MANY = 16  # variables
_ROUNDING = 1e-9  # of the extents


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
    observed: ClassVar[bool] = False
    finite: ClassVar[bool] = False
    has_environment: ClassVar[bool] = False
    environment: ClassVar[FiniteEnvironment] = NO_ENVIRONMENT
    has_coordinates: ClassVar[bool] = True

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
        if not bool((low < high).all()):
            worst = int((high - low).argmin())
            raise InvalidInput(
                f"`lower` is {float(low[worst])} and `upper` {float(high[worst])} in coordinate "
                f"{worst}, expected lower < upper: leave out coordinates that cannot vary."
            )
        if bool((high - low < 1.0 / checks.LARGEST).any()):
            raise InvalidInput(
                f"`upper` - `lower` is {float((high - low).min()):.3g} in a coordinate, expected "
                f"at least {1.0 / checks.LARGEST:.0e}: rescale the coordinate."
            )
        levels = {} if levels is None else levels
        if not isinstance(levels, Mapping):
            raise InvalidInput(f"`levels` is {checks.shown(levels)}, expected a dict of lists.")
        values = {c: checks.vector(f"levels[{c}]", v).sort().values for c, v in levels.items()}
        groups = _groups(choices)
        numbers = _arcs(arcs)
        _check_restrictions(low, high, values, [*groups, *(arc.columns for arc in numbers)])
        if not callable(active) or isinstance(active, type):
            raise InvalidInput(
                f"`active` is {checks.shown(active)}, expected a function of points (n, d)."
            )
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "levels", values)
        object.__setattr__(self, "choices", groups)
        object.__setattr__(self, "arcs", numbers)
        object.__setattr__(self, "active", active)
        object.__setattr__(self, "region", region)
        object.__setattr__(self, "names", names)

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
        object.__setattr__(moved, "lower", self.lower.to(device))
        object.__setattr__(moved, "upper", self.upper.to(device))
        levels = {coordinate: values.to(device) for coordinate, values in self.levels.items()}
        object.__setattr__(moved, "levels", levels)
        return moved

    @property
    def span(self) -> Tensor:
        """Extents (d,), upper less lower bounds."""
        return self.upper - self.lower

    @property
    def continuous(self) -> list[int]:
        """Indices of the coordinates that vary freely between their bounds."""
        fixed = {*self.levels, *(c for group in self._several for c in group)}
        return [c for c in range(self.dimension) if c not in fixed]

    @property
    def variables(self) -> list[list[int]]:
        """Columns of each variable: one, or several that encode it together."""
        grouped = {c for group in self._several for c in group}
        single = [[c] for c in range(self.dimension) if c not in grouped]
        return single + [list(group) for group in self._several]

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
        return levels + units + [(list(arc.columns), arc.options(like)) for arc in self.arcs]

    @property
    def _several(self) -> list[tuple[int, ...]]:
        return [*self.choices, *(arc.columns for arc in self.arcs)]

    def alike(self, points: Tensor, others: Tensor) -> Tensor:
        """Mask (n,) of points (n, d) that differ from others (n, d) by rounding only."""
        return ((points - others).abs() <= _ROUNDING * self.span).all(-1)

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
        return self.active(snapped)

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

    def contains(self, point: Tensor, slack: float = 1e-9) -> bool:
        """Whether a point lies between the bounds.

        Args:
            point: Point (d,).
            slack: Tolerance, relative to the extents.

        Returns:
            True if it does.
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
        return holds(self.region, points)

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
        point = self._unrounded(given)
        if not self.contains(point):
            raise InvalidInput(
                f"the point {point.tolist()} is outside the box from {self.lower.tolist()} "
                f"to {self.upper.tolist()}: tell points of the space that was given."
            )
        self.names.check(point)
        return self.location(point)

    def _unrounded(self, point: Tensor) -> Tensor:
        """A point (d,), where float32 has rounded a bound beyond itself the bound."""
        low, high = (bound.to(torch.float32).to(bound) for bound in (self.lower, self.upper))
        point = torch.where((point < self.lower) & (point >= low), self.lower, point)
        return torch.where((point > self.upper) & (point <= high), self.upper, point)

    def listed(self, arms: Tensor | Sequence) -> list[Location]:
        """The locations of points (n, d) or configurations (n,); `InvalidInput` for a wrong one."""
        named = isinstance(arms, Sequence) and any(isinstance(one, Mapping) for one in arms)
        rows = arms if named else checks.matrix("arms", arms, self.lower.device)
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
        return [self.location(point) for point in points]


Space = Arms | Box
"""A search space without an environment."""


def as_space(space: Any) -> Any:
    """The encoded space of named parameters, any other space as it is."""
    return getattr(space, "box", space)


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


def _check_restrictions(
    lower: Tensor, upper: Tensor, levels: Mapping[int, Tensor], choices: Sequence[Sequence[int]]
) -> None:
    """Raise `InvalidInput` unless levels are within bounds and choices are disjoint unit cubes."""
    restricted = [*levels, *(c for group in choices for c in group)]
    for coordinate in restricted:
        if checks.integer(coordinate) is None or not 0 <= coordinate < len(lower):
            raise InvalidInput(f"coordinate {coordinate!r} is not one of 0 to {len(lower) - 1}.")
        if restricted.count(coordinate) > 1:
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
