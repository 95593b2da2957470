"""Which design to measure next, and under which environment."""

from surefoot.joint_policies.risk_bound import RiskBound
from surefoot.joint_policies.situation import JointPolicy, JointSituation

__all__ = ["JointPolicy", "JointSituation", "RiskBound"]
