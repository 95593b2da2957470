"""Random environments Z with a known distribution; reachable as `surefoot.environments`."""

from surefoot.spaces.continuous_environment import ContinuousEnvironment
from surefoot.spaces.densities import truncated_normal
from surefoot.spaces.finite_environment import FiniteEnvironment

Environment = FiniteEnvironment | ContinuousEnvironment
"""Distribution of a random environment."""

__all__ = ["ContinuousEnvironment", "Environment", "FiniteEnvironment", "truncated_normal"]
