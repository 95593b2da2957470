"""Contextual decisions at rate, and what a logged policy says of another."""

from surefoot.bandits.contextual import Contextual, Decision, contextual
from surefoot.bandits.off_policy import (
    PolicyValue,
    Replayed,
    doubly_robust,
    ips,
    leverage_threshold,
    replay,
)

__all__ = [
    "Contextual",
    "Decision",
    "PolicyValue",
    "Replayed",
    "contextual",
    "doubly_robust",
    "ips",
    "leverage_threshold",
    "replay",
]
