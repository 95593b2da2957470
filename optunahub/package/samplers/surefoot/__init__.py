"""Sampler of surefoot for OptunaHub."""

from surefoot.integrations.optuna import SurefootSampler

__all__ = ["SurefootSampler"]
