"""Robot pushing obeys the physics that can be told without simulating, and refuses bad input."""

import math
import pickle

import numpy as np
import pytest
import torch

from surefoot import InvalidInput
from surefoot_experiments.problems.robot_pushing import CONTACT, RobotPushing, push, trajectory

pytest.importorskip("pymunk", reason="robot pushing needs pymunk, the extra `physics`")


def test_a_push_from_the_left_moves_the_disc_right():
    x, y = push(-3.0, 0.0, 20.0)
    assert x > 3.0
    assert y == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("turn", [0.3, math.pi / 2, 2.0, math.pi, -1.1])
def test_turning_the_start_turns_the_outcome(turn):
    straight, _ = push(-4.0, 0.0, 18.0)
    x, y = push(-4.0 * math.cos(turn), -4.0 * math.sin(turn), 18.0)
    assert x == pytest.approx(straight * math.cos(turn), abs=1e-6)
    assert y == pytest.approx(straight * math.sin(turn), abs=1e-6)


def test_mirrored_pushes_give_mirrored_places():
    x, y = push(-3.2, -2.1, 15.0)
    for sign_x, sign_y in ((-1, 1), (1, -1), (-1, -1)):
        mirrored = push(-3.2 * sign_x, -2.1 * sign_y, 15.0)
        assert mirrored == pytest.approx((x * sign_x, y * sign_y), abs=1e-6)


def test_longer_pushes_move_the_disc_further():
    travelled = [math.hypot(*push(-2.5, 1.5, duration)) for duration in range(5, 31, 5)]
    assert (np.diff(travelled) > 1.0).all()


def test_a_hand_that_starts_nearer_pushes_further():
    travelled = [push(-away, 0.0, 20.0)[0] for away in (1.5, 2.5, 3.5, 4.5)]
    assert (np.diff(travelled) < -0.5).all()


def test_a_hand_that_does_not_reach_the_disc_leaves_it():
    assert push(-5.0, -5.0, 2.0) == (0.0, 0.0)


def test_the_same_push_ends_at_the_same_place():
    assert push(-3.3, 1.7, 21.3) == push(-3.3, 1.7, 21.3)
    course = trajectory(-3.3, 1.7, 21.3)
    assert tuple(course.disc[-1].tolist()) == push(-3.3, 1.7, 21.3)


@pytest.mark.long
def test_small_changes_of_the_start_change_little():
    starts = np.linspace(2.0, 5.0, 301)
    places = np.array([push(-start, -0.5 * start, 22.0) for start in starts])
    assert np.abs(np.diff(places, axis=0)).max() < 0.05


def test_small_changes_of_the_duration_change_little():
    places = [push(-3.0, 0.0, duration)[0] for duration in np.linspace(10, 14, 201)]
    assert np.abs(np.diff(places)).max() < 0.05


@pytest.mark.parametrize("start", [(-0.4, 0.3), (-1.0, 0.75), (1e-12, 0.0)])
def test_a_hand_inside_the_disc_begins_where_it_touches(start):
    away = math.hypot(*start)
    touching = [CONTACT * coordinate / away for coordinate in start]
    assert push(*start, 10.0) == pytest.approx(push(*touching, 10.0), abs=1e-3)
    begin = trajectory(*start, 10.0).hand[0].tolist()
    assert begin == pytest.approx(touching, abs=1e-5)


def test_a_hand_at_the_origin_faces_along_the_first_axis():
    x, y = push(0.0, 0.0, 10.0)
    assert x > 1.0
    assert y == 0.0


def test_a_pushing_hand_moves_at_the_speed_its_forces_allow():
    course = trajectory(-1.3, 0.0, 30.0)
    middle = slice(100, 250)
    speed = course.disc[middle, 0].diff() / course.seconds
    # The drive gives 3.6 for each unit of speed below 5; friction takes 5 + 2.
    assert speed.numpy() == pytest.approx(5 - 7 / 3.6, abs=0.3)


def test_the_disc_slides_on_and_stops_by_coulomb_friction():
    course = trajectory(-3.0, 0.0, 20.0)
    after = course.disc[course.released :, 0]
    speeds = after.diff() / course.seconds
    slowing = -speeds.diff() / course.seconds
    mass = 0.05 * math.pi + 0.12
    # Constant deceleration of hand and disc together by 5 + 2, unlike that of a viscous table.
    assert slowing[1:-2].numpy() == pytest.approx(7 / mass, rel=0.1)
    assert 0.1 < after[-1] - after[0] < 0.4


def test_hand_and_disc_do_not_overlap():
    course = trajectory(-3.1, 2.2, 25.0)
    apart = (course.hand - course.disc).norm(dim=1)
    assert apart.min() > CONTACT - 0.05


def test_the_objective_is_minus_the_distance_to_the_goal():
    points = torch.tensor([[-3.0, -4.0, 20.0], [2.0, -3.0, 12.5], [-4.0, 1.0, 30.0]])
    values = RobotPushing(goal=(2.0, 1.0))(points)
    expected = [-math.dist(push(*row), (2.0, 1.0)) for row in points.tolist()]
    assert values.dtype == torch.float64
    assert values.tolist() == expected


@pytest.mark.long
@pytest.mark.parametrize("goal", [(3.0, 4.0), (-5.0, 5.0), (0.5, -0.2)])
def test_a_goal_can_be_reached(goal):
    away = math.hypot(*goal)
    start = [-2.0 * coordinate / away for coordinate in goal]
    durations = torch.linspace(1, 30, 300, dtype=torch.float64)
    points = torch.cat([torch.tensor(start).expand(300, 2), durations.unsqueeze(1)], dim=1)
    assert RobotPushing(goal)(points).max() > -0.1


def test_the_problem_can_be_pickled():
    problem = pickle.loads(pickle.dumps(RobotPushing(goal=(1.0, 2.0))))
    assert problem == RobotPushing(goal=(1.0, 2.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((math.nan, 0.0, 5.0), "NaN or infinite"),
        ((math.inf, 0.0, 5.0), "NaN or infinite"),
        ((1e308, 1e308, 5.0), "at most"),
        ((1.0, 0.0, 0.0), "above 0"),
        ((1.0, 0.0, -1.0), "above 0"),
        ((1.0, 0.0, math.nan), "above 0"),
        ((1.0, 0.0, 1e9), "at most 1000"),
        (("left", 0.0, 5.0), "rx, ry"),
    ],
)
def test_push_refuses_bad_input(arguments, message):
    for function in (push, trajectory):
        with pytest.raises(InvalidInput, match=message):
            function(*arguments)


def test_the_objective_refuses_bad_input():
    for points in (torch.zeros(3), torch.zeros(2, 5), torch.full((1, 3), math.nan)):
        with pytest.raises(InvalidInput, match="points"):
            RobotPushing()(points)
    with pytest.raises(InvalidInput, match="goal"):
        RobotPushing(goal=(1.0, 2.0, 3.0))
