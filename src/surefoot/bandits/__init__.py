"""Contextual decisions at rate."""

from surefoot.bandits.decisions import Contextual, Decision, contextual

__all__ = ["Contextual", "Decision", "contextual"]
