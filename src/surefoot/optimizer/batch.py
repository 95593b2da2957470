"""Arms chosen one after another on one sketch, without their rewards."""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot.regression.tabulated import Tabulated

_FIRST = 16  # stale scores that are brought up to date at once, four times as many if need be


class Batch:
    """Scores mean + width * deviation of all arms, with the mean as it was at the start.

    Calandriello et al. 2020 (BBKB): within a batch the mean and the width stay, and each arm that
    is chosen makes the variance fall as if its mean had been measured. Scores only fall then, so
    one that was worked out earlier bounds that of now, and only those that beat the best need be
    worked out again.
    """

    def __init__(self, table: Tabulated, mean: Tensor, variance: Tensor, width: float) -> None:
        self._table = table
        self._mean = mean  # (A,)
        self._variance = variance  # (A,), at the start
        self._width = width
        self._score = mean + width * variance.clamp_min(0.0).sqrt()  # (A,), or more than it is
        self._chosen_at = torch.zeros(len(mean), dtype=torch.int32, device=mean.device)
        self._chosen = 0  # arms since the start
        self._fallen = mean.new_zeros(table.columns.shape[1], table.columns.shape[1])

    def choose(self, solved: Tensor, growth: float, ridge: float) -> None:
        """Take in that an arm was chosen, whose rank-one update of V^{-1} is given."""
        solved = solved.to(self._mean.device)
        if self._table.transform is not None:
            solved = self._table.transform.T @ solved
        self._fallen.addr_(solved, solved, alpha=ridge / growth)
        self._chosen += 1

    def best(self) -> int:
        """The arm of largest score; the first that was found where there are several."""
        number = _FIRST
        while True:
            top = int(self._score.argmax())
            if int(self._chosen_at[top]) == self._chosen:
                return top
            self._work_out(self._score.topk(min(number, len(self._score))).indices)
            number *= 4

    def best_of(self, arms: list[int]) -> int:
        """The arm of largest score among those given."""
        among = torch.tensor(arms, device=self._mean.device)
        self._work_out(among)
        return arms[int(self._score[among].argmax())]

    def _work_out(self, arms: Tensor) -> None:
        """Bring the scores of arms (n,) up to date."""
        arms = arms[self._chosen_at[arms] != self._chosen]
        columns = self._table.columns[arms]
        fallen = ((columns @ self._fallen) * columns).sum(-1)
        deviation = (self._variance[arms] - fallen).clamp_min_(0.0).sqrt_()
        self._score[arms] = self._mean[arms] + self._width * deviation
        self._chosen_at[arms] = self._chosen

    def state(self) -> dict[str, Tensor]:
        """All that `restored` needs beside the table."""
        return {
            "mean": self._mean,
            "variance": self._variance,
            "score": self._score,
            "chosen_at": self._chosen_at,
            "fallen": self._fallen,
            "chosen": torch.tensor(self._chosen),
            "width": torch.tensor(self._width, dtype=torch.float64),
        }

    @classmethod
    def restored(cls, table: Tabulated, state: dict[str, Tensor]) -> Batch:
        """The batch with this state."""
        batch = cls(table, state["mean"], state["variance"], float(state["width"]))
        batch._score, batch._fallen = state["score"].clone(), state["fallen"].clone()
        batch._chosen_at, batch._chosen = state["chosen_at"].clone(), int(state["chosen"])
        return batch
