"""Serves SimOpt's problems from an environment that has SimOpt.

A request names a problem, a point, a number of replications and a stream of random numbers; the
reply has the mean objective, of which less is better.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mrg32k3a.mrg32k3a import MRG32k3a
from simopt.base import Solution
from simopt.directory import problem_directory

from surefoot_experiments.scoreboard.pipes import connected, described, send


def main() -> None:
    """Answer requests until standard input is closed."""
    requests, replies = connected()
    send(replies, {})
    for request in requests:
        try:
            send(replies, {"value": measured(**request)})
        except Exception as error:
            send(replies, {"error": described(error)})


def measured(problem: str, x: list[float], replications: int, stream: int, first: int) -> float:
    """The mean of replications, whose random numbers `stream` and `first` say.

    Args:
        problem: SimOpt's name of the problem.
        x: The point.
        replications: Number of replications.
        stream: Number of the stream.
        first: Number of the first substream.
    """
    model = problem_of(problem)
    solution = Solution(tuple(x), model)
    count = model.model.n_rngs + getattr(model, "n_rngs", 0)
    solution.attach_rngs(
        [MRG32k3a(s_ss_sss_index=[stream, first * count + i, 0]) for i in range(count)], copy=False
    )
    model.simulate(solution, replications)
    return -float(model.minmax[0]) * float(solution.objectives_mean[0])


@cache
def problem_of(name: str) -> Any:
    """A problem with its default factors."""
    return problem_directory[name]()
