"""HEBO with its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

from surefoot_experiments.scoreboard.rivals.history import History
from surefoot_experiments.scoreboard.space import Parameter, Point, Space

PACKAGES = ("HEBO", "torch")


class Hebo:
    """HEBO; a crash counts as the largest measurement so far. Recommends the best measurement."""

    def __init__(self, space: Space, seed: int) -> None:
        np.random.seed(seed)
        torch.manual_seed(seed)
        self._history = History(space)
        design = DesignSpace().parse([_described(each) for each in space.parameters])
        self._optimizer = HEBO(design, scramble_seed=seed)

    def ask(self) -> Point:
        """The next suggestion."""
        self._suggestion = self._optimizer.suggest(n_suggestions=1)
        row = self._suggestion.iloc[0].to_dict()
        return {name: getattr(value, "item", lambda v=value: v)() for name, value in row.items()}

    def tell(self, point: Point, value: float) -> None:
        """Observe the suggestion."""
        self._history.add(point, value)
        self._optimizer.observe(self._suggestion, self._history.values[-1:, None])

    def recommend(self) -> Point:
        """The point with the smallest measurement."""
        return self._history.best


def _described(parameter: Parameter) -> dict[str, Any]:
    settings: Any = parameter
    if parameter.kind == "categorical":
        return {"name": parameter.name, "type": "cat", "categories": list(settings.choices)}
    kinds = {("float", False): "num", ("float", True): "pow"}
    kinds |= {("integer", False): "int", ("integer", True): "pow_int"}
    kind = kinds[parameter.kind, settings.log]
    return {"name": parameter.name, "type": kind, "lb": settings.low, "ub": settings.high}


def create(space: Space, seed: int, budget: int) -> Hebo:
    """A run of HEBO."""
    return Hebo(space, seed)
