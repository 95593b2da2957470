"""Rewards by site as weighted values: each of them while they are few, their quantiles after."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

WHOLE = 1024  # rewards in all up to which each is kept
_LEAST = 16  # values at a site
_GROWTH = 4.0  # times the fourth root of a site's rewards: the values that there may be


class Digest:
    """The n rewards of each site as at most max(16, 4 n^(1/4)) values with masses.

    The first 1024 rewards in all are kept one by one. Then a site that has too many merges
    neighbours into their means, half as many of equal mass. Of K values, only those that straddle
    a clip make the clipped mean differ from that of the rewards, by about 1.5 / K^2 of the scale:
    with K growing as the fourth root, that stays a small part of the standard error.

    `fitted` and `scale` are what the last estimate leaves for the next to start from.
    """

    def __init__(self) -> None:
        self.fitted: np.ndarray | None = None  # (S,) or fewer
        self.scale = 0.0
        self.scaled_at = 0  # rewards
        self.number = 0
        self._number = 0
        self._site = np.zeros(256, dtype=np.int64)
        self._value = np.zeros(256)
        self._mass = np.zeros(256)
        self._held: list[int] = []  # values at each site
        self._told: list[int] = []  # rewards at each site

    def append(self, site: int, reward: float) -> float:
        while site >= len(self._held):
            self._held.append(0)
            self._told.append(0)
        if self.number >= WHOLE:
            room = max(_LEAST, int(_GROWTH * self._told[site] ** 0.25))
            if self._held[site] >= room:
                self._merge(site, room // 2)
        if self._number == len(self._site):
            self._site, self._value, self._mass = (
                np.concatenate([column, np.zeros(256 + len(column), dtype=column.dtype)])
                for column in (self._site, self._value, self._mass)
            )
        self._site[self._number] = site
        self._value[self._number] = reward
        self._mass[self._number] = 1.0
        self._held[site] += 1
        self._told[site] += 1
        self._number += 1
        self.number += 1
        return reward

    def redrawn(self) -> None:
        """Nothing here depends on the features."""

    @property
    def columns(self) -> tuple[Tensor, Tensor, Tensor]:
        """Sites, values and masses (n,), the last reward last."""
        site, value, mass = (
            torch.from_numpy(column[: self._number].copy())
            for column in (self._site, self._value, self._mass)
        )
        return site, value, mass

    def state(self) -> dict[str, Tensor]:
        tensors = dict(zip(("site", "value", "mass"), self.columns, strict=True))
        tensors["scale"] = torch.tensor([self.scale, self.scaled_at], dtype=torch.float64)
        if self.fitted is not None:
            tensors["fitted"] = torch.from_numpy(self.fitted)
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self._site, self._value, self._mass = (
            tensors[name].numpy().copy() for name in ("site", "value", "mass")
        )
        self._number = len(self._site)
        self._held = np.bincount(self._site).tolist()
        told = np.bincount(self._site, weights=self._mass)
        self._told = [round(mass) for mass in told.tolist()]
        self.number = sum(self._told)
        scale, scaled_at = tensors["scale"].tolist()
        self.scale, self.scaled_at = scale, round(scaled_at)
        self.fitted = tensors["fitted"].numpy().copy() if "fitted" in tensors else None

    def _merge(self, site: int, values: int) -> None:
        """So many values at a site: each the mean of a stretch of equal mass."""
        here = self._site[: self._number] == site
        value, mass = self._value[: self._number][here], self._mass[: self._number][here]
        order = np.argsort(value, kind="stable")
        value, mass = value[order], mass[order]
        middle = np.cumsum(mass) - 0.5 * mass
        stretch = np.floor(middle / mass.sum() * values).astype(np.int64)
        totals = np.bincount(stretch, weights=mass)
        moments = np.bincount(stretch, weights=mass * value)
        total = totals[totals > 0]
        centre = moments[totals > 0] / total
        rest = self._number - len(value)
        for column in (self._site, self._value, self._mass):
            column[:rest] = column[: self._number][~here]
        self._number = rest + len(total)
        self._site[rest : self._number] = site
        self._value[rest : self._number] = centre
        self._mass[rest : self._number] = total
        self._held[site] = len(total)
