"""Rewards that a rising threshold may still cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from surefoot.estimators.log import Terms

_COLUMNS = ("site", "reward", "order", "far")
FAR = 1e6  # times the threshold: there the rounding of a sum would show in what is left of it
_LOOK = 8  # rewards between looks at which are above the threshold


class Columns:
    """Sites, rewards and numbers of rewards, and which are far, as arrays that grow."""

    def __init__(self) -> None:
        self.number = 0
        self.site = np.zeros(64, dtype=np.int64)
        self.reward = np.zeros(64)
        self.order = np.zeros(64, dtype=np.int64)
        self.far = np.zeros(64, dtype=bool)
        self.any_far = False

    def append(self, site: int, reward: float, order: int, far: bool) -> None:
        place = self.number
        if place == len(self.site):
            for name in _COLUMNS:
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.zeros_like(column)]))
        self.site[place] = site
        self.reward[place] = reward
        self.order[place] = order
        self.far[place] = far
        self.any_far |= far
        self.number = place + 1

    @classmethod
    def of(
        cls, site: np.ndarray, reward: np.ndarray, order: np.ndarray, far: np.ndarray
    ) -> Columns:
        """Of whole arrays (n,)."""
        columns = cls()
        columns.fill({"site": site, "reward": reward, "order": order, "far": far})
        return columns

    def filled(self) -> dict[str, np.ndarray]:
        """Copies of what there is, by name."""
        return {name: getattr(self, name)[: self.number].copy() for name in _COLUMNS}

    def fill(self, columns: dict[str, np.ndarray]) -> None:
        """Hold these and no others."""
        self.number = len(columns["site"])
        for name in _COLUMNS:
            spare = np.zeros(64, dtype=columns[name].dtype)
            setattr(self, name, np.concatenate([columns[name], spare]))
        self.any_far = bool(self.far[: self.number].any())

    def keep(self, source: Columns, chosen: np.ndarray) -> None:
        """Hold the chosen entries of a source, which may be these columns themselves."""
        if len(self.site) < chosen.size:
            for name in _COLUMNS:
                column = getattr(self, name)
                setattr(self, name, np.zeros(2 * chosen.size, dtype=column.dtype))
        for name in _COLUMNS:
            getattr(self, name)[: chosen.size] = getattr(source, name)[chosen]
        self.number, self.any_far = chosen.size, source.any_far


class Rising(Protocol):
    """A threshold after t rewards in m features; larger for more rewards, smaller for more m."""

    def threshold(self, round_: int, dimension: int) -> float: ...


class LiveRewards:
    """Sites and rewards with |y| h > b, h the root of the leverage phi' V^{-1} phi.

    n pulls of a site leave h^2 <= 1 / (n + ridge / k(x, x)), in whatever features. This bound only
    falls, so while thresholds rise a reward once below is let go; what stays is few. When the
    threshold falls (a horizon is guessed anew), all rewards are looked at again.

    Leverages themselves fall as long as the features last: those above at the last look, and the
    rewards since, are all that can be above now.

    Rewards a million thresholds away never enter the sums, which would keep their rounding when
    they are cut; they stay live for good.
    """

    def __init__(self, terms: Terms, rule: Rising) -> None:
        self._rule = rule
        self._dimension = terms.dimension
        self.least = 0.0
        self._offset = terms.ridge / terms.prior
        self._told = 0
        self._pulls = np.zeros(64)
        self._live = Columns()
        self.above = Columns()  # at the last look, all that are far, and all since
        self._looked_at = 0
        self._threshold = np.inf

    def limit(self, number: int) -> float:
        """The threshold after so many rewards, in as many features as there can be."""
        return self._rule.threshold(number, self._dimension)

    def append(self, site: int, reward: float) -> float:
        while site >= len(self._pulls):
            self._pulls = np.concatenate([self._pulls, np.zeros_like(self._pulls)])
        far = abs(reward) > FAR * self.limit(self._told + 1)
        self._live.append(site, reward, self._told, far)
        self.above.append(site, reward, self._told, far)
        self._pulls[site] += 1.0
        self._told += 1
        return 0.0 if far else reward

    def redrawn(self) -> None:
        self._threshold = np.inf

    def take_back(self, site: Tensor, rewards: Tensor) -> None:
        """Take all rewards (t,) back in, since thresholds will be lower than was said."""
        live, order = self._live, np.arange(len(rewards))
        far = np.isin(order, live.order[: live.number][live.far[: live.number]])
        columns = (site.cpu().numpy(), rewards.cpu().numpy(), order, far)
        self._live.fill(dict(zip(_COLUMNS, columns, strict=True)))

    def is_due(self, threshold: float) -> bool:
        """Whether `above` must be looked up again for a threshold."""
        return threshold < self._threshold or self._told >= self._looked_at + _LOOK

    def look(
        self, threshold: float, least: float, leverage: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        """Find those above a threshold now; no later one is below `least`.

        `leverage` gives at least that of sites (k,).
        """
        live, n = self._live, self._live.number
        size, far = np.abs(live.reward[:n]), live.far[:n]
        height = 1.0 / np.sqrt(self._pulls[live.site[:n]] + self._offset)
        stays = ((size * height > least) | far).nonzero()[0]
        size, far = size[stays], far[stays]
        live.keep(live, stays)
        height = np.sqrt(leverage(live.site[: stays.size]))
        self.above.keep(live, ((size * height > threshold) | far).nonzero()[0])
        self.least, self._threshold, self._looked_at = least, threshold, self._told

    def state(self) -> dict[str, Tensor]:
        tensors = {
            f"{part}.{name}": torch.from_numpy(column)
            for part, columns in (("live", self._live), ("above", self.above))
            for name, column in columns.filled().items()
        }
        tensors["pulls"] = torch.from_numpy(self._pulls.copy())
        looked = [self.least, self._threshold, self._looked_at]
        tensors["looked"] = torch.tensor(looked, dtype=torch.float64)
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        for part, columns in (("live", self._live), ("above", self.above)):
            columns.fill({name: tensors[f"{part}.{name}"].numpy() for name in _COLUMNS})
        self._pulls = tensors["pulls"].numpy().copy()
        self._told = int(self._pulls.sum())
        self.least, self._threshold, looked_at = tensors["looked"].tolist()
        self._looked_at = int(looked_at)
