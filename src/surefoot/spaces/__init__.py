"""Search spaces: arms, boxes, random environments, and products of both."""

from surefoot.spaces.arcs import Arc
from surefoot.spaces.arms import Arms
from surefoot.spaces.box import Box, Space
from surefoot.spaces.densities import truncated_normal
from surefoot.spaces.environments import ContinuousEnvironment, Environment, FiniteEnvironment
from surefoot.spaces.fidelity import Fidelity
from surefoot.spaces.joint import Joint
from surefoot.spaces.locations import Location
from surefoot.spaces.storage import InFile, InMemory, Sharded, Storage

__all__ = [
    "Arc",
    "Arms",
    "Box",
    "ContinuousEnvironment",
    "Environment",
    "Fidelity",
    "FiniteEnvironment",
    "InFile",
    "InMemory",
    "Joint",
    "Location",
    "Sharded",
    "Space",
    "Storage",
    "truncated_normal",
]
