"""Random environments Z with a known distribution; reachable as `surefoot.environments`."""

from surefoot.spaces.continuous_environment import ContinuousEnvironment
from surefoot.spaces.finite_environment import FiniteEnvironment
from surefoot.spaces.truncated_normal import truncated_normal

Environment = FiniteEnvironment | ContinuousEnvironment
"""Distribution of a random environment."""

__all__ = ["ContinuousEnvironment", "Environment", "FiniteEnvironment", "truncated_normal"]
