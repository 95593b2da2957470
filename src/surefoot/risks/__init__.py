"""Risk measures of a function over a random environment."""

from surefoot.risks.functionals import CVaR, Mean, Risk, VaR, WorstCase, checked, counted_as

__all__ = ["CVaR", "Mean", "Risk", "VaR", "WorstCase", "checked", "counted_as"]
