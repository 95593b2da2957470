"""The compared optimisers as values, and the processes that serve them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from surefoot_experiments.scoreboard.environments import HERE, python_of
from surefoot_experiments.scoreboard.process import JsonProcess, ProcessUnavailable
from surefoot_experiments.scoreboard.space import Point, Space
from surefoot_experiments.scoreboard.task import Task


@dataclass(frozen=True)
class Rival:
    """An optimiser.

    Args:
        name: Name in the tables.
        module: Its module in `rivals`.
        environment: Name of its environment; `HERE` for this one.
        settings: Passed to the module's `create`.
        refit: Whether it is scored a second time, by the best posterior mean of a Gaussian process
            fitted to its measurements.
        boxes_only: Whether it needs a space of real numbers.
    """

    name: str
    module: str
    environment: str = HERE
    settings: Mapping[str, Any] = field(default_factory=dict)
    refit: bool = False
    boxes_only: bool = False


class Recommended(NamedTuple):
    """A recommendation; its point is empty where a rival has none."""

    point: Point
    lower: float = math.nan  # of a 95 % interval of its value, NaN where none is predicted
    upper: float = math.nan


class RivalProcess:
    """A process that serves one optimiser, run after run.

    Args:
        python: Python of its environment.
        module: Its module in `rivals`.
    """

    def __init__(self, python: Path, module: str) -> None:
        self._process = JsonProcess(python, "rivals.serving", module)

    @property
    def versions(self) -> str:
        """Versions of its packages, once it has started."""
        return str(self._process.greeting.get("versions", ""))

    def start(self, task: Task, seed: int, settings: Mapping[str, Any], limit: float) -> None:
        """Begin a run."""
        self.begin(task.space, task.budget, seed, settings, limit)

    def begin(
        self, space: Space, budget: int, seed: int, settings: Mapping[str, Any], limit: float
    ) -> None:
        """Begin a run on a space, of so many measurements."""
        start = {"do": "start", "space": space.to_json(), "seed": seed, "budget": budget}
        self._process.request({**start, "settings": dict(settings)}, limit)

    def ask(self, limit: float) -> dict[str, Any]:
        """The next point, with the processor seconds and the wall time that it took."""
        return self._process.request({"do": "ask"}, limit)

    def tell(
        self,
        point: Point,
        value: float | None,
        limit: float,
        others: Mapping[str, float] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """Pass a measurement, None for a crash, and the values of constraints."""
        request = {"do": "tell", "point": point, "value": value, "others": dict(others)}
        return self._process.request(request, limit)

    def recommend(self, limit: float) -> Recommended:
        """The recommendation."""
        reply = self._process.request({"do": "recommend"}, limit)
        return Recommended(reply["point"], *reply.get("interval", ()))

    def end(self, limit: float) -> float:
        """End the run; its peak memory in MiB."""
        return float(self._process.request({"do": "end"}, limit)["memory"])

    def stop(self) -> None:
        """Kill the process."""
        self._process.stop()


@cache
def process_of(environment: str, module: str) -> RivalProcess:
    """The process of this worker that serves a module."""
    python = python_of(environment)
    if python is None:
        raise ProcessUnavailable(f"the environment {environment} has not been built")
    return RivalProcess(python, module)
