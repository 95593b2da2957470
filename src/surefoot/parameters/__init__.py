"""Search spaces of named parameters, with conditions and known constraints between them."""

from surefoot.parameters.parameter import Choice, Float, Int, Parameter
from surefoot.parameters.space import ParameterConstraint, Space

__all__ = ["Choice", "Float", "Int", "Parameter", "ParameterConstraint", "Space"]
