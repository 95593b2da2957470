"""Contextual decisions at rate."""

from surefoot.bandits.contextual import Contextual, Decision, contextual

__all__ = ["Contextual", "Decision", "contextual"]
