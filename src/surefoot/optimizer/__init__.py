"""The optimisation loop: ask, tell, recommend, save and load."""

from surefoot.optimizer.method import Method
from surefoot.optimizer.optimizer import Optimizer

__all__ = ["Method", "Optimizer"]
