"""Which design to measure next, and under which environment."""

from surefoot.joint_policies.knowledge_gradient import RiskKnowledgeGradient
from surefoot.joint_policies.risk_bound import RiskBound
from surefoot.joint_policies.situation import JointPolicy, JointSituation
from surefoot.joint_policies.surrogate_bound import SurrogateBound

__all__ = ["JointPolicy", "JointSituation", "RiskBound", "RiskKnowledgeGradient", "SurrogateBound"]
