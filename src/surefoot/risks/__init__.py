"""Risk measures of f(x, Z) over a random environment Z."""

from surefoot.risks.functionals import CVaR, Mean, Risk, VaR, WorstCase, checked

__all__ = ["CVaR", "Mean", "Risk", "VaR", "WorstCase", "checked"]
