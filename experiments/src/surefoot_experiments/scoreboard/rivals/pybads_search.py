"""PyBADS with noise handling; it calls the objective function, from a thread here."""

from __future__ import annotations

import queue
import threading
from typing import Any

import numpy as np
from pybads import BADS

from surefoot_experiments.scoreboard.space import Point, Space

PACKAGES = ("pybads", "gpyreg")


class Bads:
    """BADS from a random point; recommends its incumbent, or its result once it has ended."""

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        self._space = space
        self._asked: queue.Queue[np.ndarray | None] = queue.Queue()
        self._told: queue.Queue[float] = queue.Queue()
        d = space.width
        options = {
            "max_fun_evals": budget,
            "uncertainty_handling": True,
            "random_seed": seed,
            "display": "off",
            "show_tips": False,
        }
        start = np.random.default_rng(seed).random(d)
        self._search = BADS(
            self._measure, start, np.zeros(d), np.ones(d), np.zeros(d), np.ones(d), options=options
        )
        self._result: Any = None
        self._error: Exception | None = None
        threading.Thread(target=self._run, daemon=True).start()
        self._next = self._await()

    def ask(self) -> Point:
        """The point that the search evaluates next; the result once it has ended."""
        return self.recommend() if self._next is None else self._space.decode(self._next)

    def tell(self, point: Point, value: float) -> None:
        """Return the value to the search, and wait for its next point."""
        if self._next is not None:
            self._told.put(value)
            self._next = self._await()

    def recommend(self) -> Point:
        """The incumbent."""
        if self._result is not None:
            return self._space.decode(np.ravel(self._result.x))
        best = getattr(self._search, "u_best", self._search.u)
        return self._space.decode(np.ravel(self._search.var_transf.inverse_transf(best)))

    def _await(self) -> np.ndarray | None:
        point = self._asked.get()
        if self._error is not None:
            raise self._error
        return point

    def _measure(self, x: np.ndarray) -> float:
        self._asked.put(np.ravel(x).copy())
        return self._told.get()

    def _run(self) -> None:
        try:
            self._result = self._search.optimize()
        except Exception as error:  # raised by the main thread
            self._error = error
        self._asked.put(None)


def create(space: Space, seed: int, budget: int) -> Bads:
    """A run of PyBADS."""
    return Bads(space, seed, budget)
