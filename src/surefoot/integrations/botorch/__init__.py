"""BoTorch model: acquisition functions, samplers and optimisers remain BoTorch's."""

from surefoot._internal.extras import extra

with extra("botorch"):
    from surefoot.integrations.botorch.outcome_transform import ChainPosterior, ChainTransform
    from surefoot.integrations.botorch.robust_gp import RobustGP

__all__ = ["ChainPosterior", "ChainTransform", "RobustGP"]
