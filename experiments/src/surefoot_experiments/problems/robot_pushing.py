"""Robot pushing (Wang and Jegelka 2017): a hand pushes a disc over a table towards a goal.

The scene, seen from above: a disc of radius 1 lies at the origin, a flat hand stands at (rx, ry)
and faces it. For the duration of the push the hand is drawn towards the disc's place: at 4.5 units
a second while free, at 3.3 while it pushes. Then it is let go, and Coulomb friction with the table
brings hand and disc to rest. Sizes, masses, forces and speed are those of the paper's simulation;
its random error of the hand's velocity is left out, so a push has one outcome.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pymunk
import torch
from scipy.interpolate import RegularGridInterpolator
from torch import Tensor

from surefoot import InvalidInput
from surefoot_experiments.problems.arguments import matrix, vector

RADIUS = 1.0  # of the disc
HAND = (0.6, 2.0)  # depth and width
CONTACT = RADIUS + HAND[0] / 2  # between the centres
SPEED = 5.0  # units a second that the hand strives for; friction keeps it below
SECONDS = 0.1  # of one unit of duration
FURTHEST = 1e6  # rx and ry: far beyond, the engine's numbers overflow
LONGEST = 1000.0  # duration: a push is simulated step by step

_DISC_MASS = 0.05 * math.pi * RADIUS**2
_HAND_MASS = 0.1 * HAND[0] * HAND[1]
_DRIVE = 30.0 * _HAND_MASS  # force on the hand for each unit of speed that it lacks
_DISC_FRICTION, _DISC_TORQUE = 5.0, 2.0  # the most that the table exerts
_HAND_FRICTION = 2.0
_CONTACT_FRICTION = 0.03  # coefficient
_STEP = 0.01  # seconds, at most
_HAIR = 1e-6  # how deep a hand that begins at the disc is pressed into it
_AT_REST = 1e-6  # speed

_AWAY = (CONTACT - _HAIR, math.hypot(6.0, 6.0))  # from contact to a hand moved beyond its corner
_DURATION = (1.0, 30.0)
_NODES = (37, 59)


@dataclass(frozen=True)
class RobotPushing:
    """How near a push brings the disc to a goal: f0(rx, ry, t) = -|place - goal|, to be maximised.

    Called with points (n, 3) of rx, ry and duration it gives (n,). The usual ranges are [-5, 5]
    for rx and ry and [1, 30] for the duration. Where the hand is not placed exactly, the objective
    is f(rx, ry, t, wx, wy) = f0(rx + wx, ry + wy, t) (Nguyen et al. 2021, Section 4.2). Every
    goal in [-5, 5]^2 can be reached from within these ranges.
    """

    goal: tuple[float, float] = (3.0, 4.0)

    def __post_init__(self) -> None:
        vector("goal", self.goal, 2)

    def __call__(
        self,
        points: Tensor,  # (n, 3)
    ) -> Tensor:  # (n,)
        """The objective, exactly. Raises as `push` does, and `InvalidInput` for a wrong shape."""
        rows = matrix("points", points)
        if rows.shape[1] != 3:
            raise InvalidInput(
                f"`points` has shape {tuple(rows.shape)}, expected (n, 3): rx, ry and duration."
            )
        ends = [push(*row) for row in rows.tolist()]
        distances = [math.dist(end, self.goal) for end in ends]
        return -torch.tensor(distances, dtype=rows.dtype, device=points.device)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One push from the start until rest: the centres of hand and disc (n, 2), step by step.

    `heading` is the angle in which the hand faces and moves, `released` the index at which it is
    let go, `seconds` the time between two steps.
    """

    hand: Tensor
    disc: Tensor
    heading: float
    released: int
    seconds: float


def push(
    rx: float,
    ry: float,
    duration: float,
) -> tuple[float, float]:
    """Where the disc comes to rest after a push of `duration` tenths of a second from (rx, ry).

    Deterministic. A hand that would stand in the disc begins where it touches it, on the same
    side; at (0, 0), where there is no side, it faces along the first axis. Time runs in steps of a
    hundredth of a second: where in a step the hand meets the disc moves the outcome by up to 0.03,
    so it is smooth only to that.

    Raises `InvalidInput` for coordinates that are not finite or beyond 1e6 and for a duration
    outside (0, 1000], `NotReady` without pymunk.
    """
    scene = _Scene.of(rx, ry, duration)
    for _ in scene.steps():
        pass
    x, y = scene.disc.position
    return float(x), float(y)


def trajectory(
    rx: float,
    ry: float,
    duration: float,
) -> Trajectory:
    """The trajectory of a `push`; raises as it does."""
    scene = _Scene.of(rx, ry, duration)
    hand, disc = [tuple(scene.hand.position)], [tuple(scene.disc.position)]
    for _ in scene.steps():
        hand.append(tuple(scene.hand.position))
        disc.append(tuple(scene.disc.position))
    return Trajectory(
        torch.tensor(hand, dtype=torch.float64),
        torch.tensor(disc, dtype=torch.float64),
        scene.heading,
        scene.driven,
        scene.seconds,
    )


@dataclass(frozen=True, eq=False)
class _Scene:
    """A table with hand and disc, ready to move; used once."""

    space: pymunk.Space
    hand: pymunk.Body
    disc: pymunk.Body
    drive: pymunk.DampedSpring
    heading: float
    driven: int  # steps until the hand is let go
    seconds: float  # of a step

    @classmethod
    def of(cls, rx: float, ry: float, duration: float) -> _Scene:
        rx, ry = vector("(rx, ry)", [rx, ry], 2).tolist()
        if max(abs(rx), abs(ry)) > FURTHEST:
            raise InvalidInput(f"(rx, ry) is ({rx}, {ry}), expected at most {FURTHEST:g} each way.")
        if not duration > 0:
            raise InvalidInput(f"`duration` is {duration!r}, expected a finite number above 0.")
        if duration > LONGEST:
            raise InvalidInput(f"`duration` is {duration!r}, expected at most {LONGEST:g}.")
        away = max(math.hypot(rx, ry), CONTACT - _HAIR)
        heading = math.atan2(-ry, -rx) if rx or ry else 0.0
        forward = (math.cos(heading), math.sin(heading))

        space = pymunk.Space()
        space.collision_slop = 1e-4  # pymunk's own is a tenth of the radius
        disc = pymunk.Body(_DISC_MASS, pymunk.moment_for_circle(_DISC_MASS, 0, RADIUS))
        rim = pymunk.Circle(disc, RADIUS)
        hand = pymunk.Body(_HAND_MASS, math.inf)  # the arm holds the hand's direction
        hand.position = (-away * forward[0], -away * forward[1])
        hand.angle = heading
        palm = pymunk.Poly.create_box(hand, HAND)
        rim.friction, palm.friction = 1.0, _CONTACT_FRICTION  # pymunk multiplies the two

        # A dashpot to a point that runs ahead at full speed: the force is _DRIVE times the speed
        # that the hand lacks.
        ahead = pymunk.Body(body_type=pymunk.Body.KINEMATIC)
        ahead.position = (hand.position[0] + forward[0], hand.position[1] + forward[1])
        ahead.velocity = (SPEED * forward[0], SPEED * forward[1])
        drive = pymunk.DampedSpring(ahead, hand, (0, 0), (0, 0), 0, 0, _DRIVE)
        space.add(disc, rim, hand, palm, ahead, drive)

        # Coulomb friction: joints that oppose any velocity with at most this force or torque.
        resist = [
            pymunk.PivotJoint(space.static_body, disc, (0, 0), (0, 0)),
            pymunk.GearJoint(space.static_body, disc, 0, 1),
            pymunk.PivotJoint(space.static_body, hand, (0, 0), (0, 0)),
        ]
        for joint, most in zip(resist, (_DISC_FRICTION, _DISC_TORQUE, _HAND_FRICTION), strict=True):
            joint.max_bias = 0
            joint.max_force = most
            space.add(joint)

        # The steps make up the duration exactly, else it would act in jumps.
        seconds = SECONDS * duration
        driven = math.ceil(seconds / _STEP)
        return cls(space, hand, disc, drive, heading, driven, seconds / driven)

    def steps(self) -> Iterator[None]:
        """Move on by one step at a time until everything rests."""
        for _ in range(self.driven):
            self.space.step(self.seconds)
            yield
        self.space.remove(self.drive)
        while self._moving():
            self.space.step(self.seconds)
            yield

    def _moving(self) -> bool:
        return self.hand.velocity.length > _AT_REST or self.disc.velocity.length > _AT_REST


@dataclass(frozen=True)
class TabulatedPush:
    """`RobotPushing`, for goal (gx, gy), interpolated between pushes of a grid.

    A push moves the disc straight away from the hand, by a distance that depends on the hand's
    distance and the duration alone, of which 37 x 59 are simulated (once a process, in about two
    seconds). Between them it is linear. A place is off by 0.005 (root mean square), less than the
    simulation's time steps move it. For hands up to (6, 6) away and durations from 1 to 30.
    """

    goal: tuple[float, float]

    def __call__(
        self,
        points: Tensor,  # (n, 3)
    ) -> Tensor:  # (n,)
        """Minus the distance to the goal, for rx, ry and duration."""
        hand, duration = points[:, :2], points[:, 2]
        away = hand.norm(dim=-1)
        where = torch.stack([away.clamp(*_AWAY), duration.clamp(*_DURATION)], -1)
        distance = torch.from_numpy(_table()(where.numpy()))
        backward = hand / away.clamp_min(1e-12).unsqueeze(-1)
        place = -backward * distance.unsqueeze(-1)
        return -(place - place.new_tensor(self.goal)).norm(dim=-1)


@cache
def _table() -> RegularGridInterpolator:
    """How far the disc goes, for the hand's distance and the duration."""
    axes = [np.linspace(*ends, n) for ends, n in zip((_AWAY, _DURATION), _NODES, strict=True)]
    distances = [[push(-away, 0.0, duration)[0] for duration in axes[1]] for away in axes[0]]
    return RegularGridInterpolator(tuple(axes), np.array(distances))
