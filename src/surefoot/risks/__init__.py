"""Risk measures of f(x, Z) over a random environment Z."""

from surefoot.risks.functionals import CVaR, Mean, Risk, VaR, WorstCase, checked
from surefoot.risks.weighted_var import WeightedVaR

__all__ = ["CVaR", "Mean", "Risk", "VaR", "WeightedVaR", "WorstCase", "checked"]
