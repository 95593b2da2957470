"""Policies that take turns."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.acquisition.policy import Policy, Score, Situation


@dataclass(frozen=True)
class Alternating:
    """`even` in even rounds and `odd` in odd ones, so that neither one's blind spot lasts."""

    even: Policy
    odd: Policy

    def __call__(self, situation: Situation) -> Score:
        return (self.odd if situation.round % 2 else self.even)(situation)
