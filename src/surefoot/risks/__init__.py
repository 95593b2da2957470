"""Risk measures of f(x, Z) over a random environment Z."""

from surefoot.risks.functionals import CVaR, Mean, VaR, WorstCase
from surefoot.risks.risk import Risk, checked, support_only

__all__ = [
    "CVaR",
    "Mean",
    "Risk",
    "VaR",
    "WorstCase",
    "checked",
    "support_only",
]
