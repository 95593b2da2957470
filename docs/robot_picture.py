"""Draw the picture of a robot's push: hand and disc seen from above, at the start and at rest."""

import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Polygon
from torch import Tensor

from surefoot_experiments.problems.robot_pushing import (
    HAND,
    RADIUS,
    RobotPushing,
    Trajectory,
    trajectory,
)

IMAGES = Path(__file__).parent / "images"
PUSH = (-4.4, -3.4, 24.0)  # rx, ry, duration
BLUE, ORANGE, GREY = "#3f86c8", "#d9541e", "#8a8f98"


def draw_hand(axes: Axes, centre: Tensor, heading: float, **style: object) -> None:
    forward, aside = HAND[0] / 2, HAND[1] / 2
    cos, sin = math.cos(heading), math.sin(heading)
    x, y = centre.tolist()
    corners = [(forward, aside), (-forward, aside), (-forward, -aside), (forward, -aside)]
    turned = [(x + cos * a - sin * b, y + sin * a + cos * b) for a, b in corners]
    axes.add_patch(Polygon(turned, **style))


def draw_push(axes: Axes, course: Trajectory, goal: tuple[float, float]) -> None:
    before = {"facecolor": "white", "linestyle": "--", "linewidth": 1.2, "zorder": 0.5}
    draw_hand(axes, course.hand[0], course.heading, edgecolor=ORANGE, **before)
    axes.add_patch(Circle(course.disc[0].tolist(), RADIUS, edgecolor=BLUE, **before))
    draw_hand(axes, course.hand[-1], course.heading, facecolor=ORANGE, alpha=0.85, label="hand")
    axes.add_patch(
        Circle(course.disc[-1].tolist(), RADIUS, facecolor=BLUE, alpha=0.85, label="disc")
    )
    axes.plot([], [], "--", color=GREY, linewidth=1.2, label="at the start")
    axes.plot(*course.hand.T, color=ORANGE, linewidth=1.2, label="path of the hand", zorder=0.9)
    axes.plot(*course.disc.T, color="black", linewidth=1.5, label="path of the disc")
    axes.plot(*course.disc[-1], "o", color="black", markersize=4)
    axes.plot(*goal, "*", color="black", markersize=13, label="goal")
    x, y = course.disc[-1].tolist()
    axes.plot([x, goal[0]], [y, goal[1]], ":", color="black", label="distance to the goal")


def main() -> None:
    plt.rcParams.update(
        {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 130}
    )
    IMAGES.mkdir(exist_ok=True)
    goal = RobotPushing().goal
    course = trajectory(*PUSH)
    figure, axes = plt.subplots(figsize=(6.4, 5.2))
    draw_push(axes, course, goal)
    axes.set(xlim=(-6, 6), ylim=(-5.5, 6), aspect="equal", xlabel="$x$", ylabel="$y$")
    axes.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(IMAGES / "robot_push.png")


if __name__ == "__main__":
    main()
