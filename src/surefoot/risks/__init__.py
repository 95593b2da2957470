"""Risk measures of f(x, Z) over a random environment Z."""

from surefoot.risks.functionals import CVaR, Mean, VaR, WorstCase
from surefoot.risks.risk import Risk, checked, support_only
from surefoot.risks.weighted_var import WeightedVaR

__all__ = [
    "CVaR",
    "Mean",
    "Risk",
    "VaR",
    "WeightedVaR",
    "WorstCase",
    "checked",
    "support_only",
]
