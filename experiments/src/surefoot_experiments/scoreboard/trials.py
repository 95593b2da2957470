"""One run of a rival on a task, and the key under which it is kept."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from surefoot_experiments.harness.trial import Rows, Trial
from surefoot_experiments.scoreboard.posterior_mean import best_posterior_mean
from surefoot_experiments.scoreboard.process import ProcessFailed
from surefoot_experiments.scoreboard.rival import Recommended, Rival, process_of
from surefoot_experiments.scoreboard.space import Point
from surefoot_experiments.scoreboard.task import COVERED, Objective, Task, median_at, noise

CHECKPOINTS, RUNS = "checkpoints", "runs"
REFIT = "+gp"  # appended to the name of a rival that is scored by `best_posterior_mean`
LIMIT = 600.0  # seconds for a request


@dataclass(frozen=True)
class Run:
    """Runs one rival on one task; a value that can be sent to another process.

    Args:
        tasks: The tasks by key.
        rivals: The rivals by name in the results.
        limit: Seconds that a rival may take for a request.
    """

    tasks: Mapping[str, Task]
    rivals: Mapping[str, Rival]
    limit: float = LIMIT

    def __call__(self, trial: Trial) -> Rows:
        """The rows of a trial, whose case is "TASK RIVAL" and whose number is the seed.

        A rival that fails ends the run: the error is recorded, and the last recommendation stands
        at the checkpoints that were not reached.
        """
        key, name = trial.case.split(" ")
        task, rival = self.tasks[key], self.rivals[name]
        log = _Log(task, name, rival.refit, _objective(key, task))
        process = process_of(rival.environment, rival.module)
        memory, error = math.nan, ""
        try:
            process.start(task, trial.number, rival.settings, self.limit)
            for round_ in range(1, task.budget + 1):
                asked = process.ask(self.limit)
                point = _checked(task, asked["point"])
                value = log.objective.measure(point, noise(task, trial.number, round_))
                told = process.tell(point, None if math.isnan(value) else value, self.limit)
                log.measured(point, value, asked["seconds"] + told["seconds"])
                if round_ in task.checkpoints:
                    found = process.recommend(self.limit)
                    log.recommended(round_, found._replace(point=_checked(task, found.point)))
            memory = process.end(self.limit)
        except ProcessFailed as failure:
            process.stop()
            error = str(failure)
            log.complete()
        except BaseException:
            process.stop()  # it waits for the next request of a run that is over
            raise
        return log.rows(memory, error, process.versions)


def _checked(task: Task, point: Point) -> Point:
    """The point; `ProcessFailed` if it has not the parameters of the task."""
    names = {each.name for each in task.space.parameters}
    if point.keys() != names:
        raise ProcessFailed(f"a point has the parameters {sorted(point)}, not {sorted(names)}")
    return point


class _Log:
    """What is recorded of a run."""

    def __init__(self, task: Task, name: str, refit: bool, objective: Objective) -> None:
        self.objective = objective
        self._task, self._name, self._refit = task, name, refit
        self._points: list[Point] = []
        self._values: list[float] = []
        self._seconds: list[float] = []
        self._rows: list[dict[str, Any]] = []
        self._last = Recommended(task.space.decode([0.5] * task.space.width))

    def measured(self, point: Point, value: float, seconds: float) -> None:
        """A measurement, and the processor time of choosing and telling it."""
        self._points.append(point)
        self._values.append(value)
        self._seconds.append(seconds)

    def recommended(self, evaluations: int, found: Recommended) -> None:
        """Score a recommendation."""
        self._last = found
        self._score(self._name, evaluations, found)
        if self._refit:
            torch.manual_seed(0)
            points = self._points or [found.point]
            fitted = best_posterior_mean(self._task.space, points, self._values)
            self._score(self._name + REFIT, evaluations, Recommended(fitted))

    def complete(self) -> None:
        """Score the last recommendation at the checkpoints that were not reached."""
        reached = {row["evaluations"] for row in self._rows}
        for evaluations in self._task.checkpoints:
            if evaluations not in reached:
                self.recommended(evaluations, self._last)

    def rows(self, memory: float, error: str, versions: str) -> Rows:
        """The rows of both tables."""
        count = max(len(self._seconds), 1)
        run = {
            **self._labels(self._name),
            "measured": len(self._points),
            "crashed": sum(map(math.isnan, self._values)),
            "ask_seconds": sum(self._seconds) / count,
            "ask_seconds_max": max(self._seconds, default=math.nan),
            "memory": memory,
            "error": error,
            "versions": versions,
        }
        return {CHECKPOINTS: self._rows, RUNS: [run]}

    def _labels(self, name: str) -> dict[str, Any]:
        task = self._task
        return {
            "suite": task.suite,
            "task": task.name,
            "kind": task.kind,
            "dimension": task.dimension,
            "half": task.half,
            "budget": task.budget,
            "rival": name,
        }

    def _score(self, name: str, evaluations: int, found: Recommended) -> None:
        scores = dict(self.objective.score(found.point))
        if not math.isnan(found.lower):
            median = median_at(self.objective, found.point)
            scores[COVERED] = float(found.lower <= median <= found.upper)
        row = {"evaluations": evaluations, **scores, "point": json.dumps(found.point)}
        self._rows.append(self._labels(name) | row)


_OBJECTIVES: dict[str, Objective] = {}


def _objective(key: str, task: Task) -> Objective:
    """The objective of a task, built once in each worker."""
    if key not in _OBJECTIVES:
        _OBJECTIVES.clear()
        _OBJECTIVES[key] = task.load()
    return _OBJECTIVES[key]
