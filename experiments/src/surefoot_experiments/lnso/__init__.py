"""Local neural surrogate optimisation (Nguyen et al. 2021, Section 3.5), for their Figure 4."""

from surefoot_experiments.lnso.neural_surrogate import Surrogate
from surefoot_experiments.lnso.surrogate_bound import SurrogateBound

__all__ = ["Surrogate", "SurrogateBound"]
