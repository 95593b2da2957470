"""Algorithms by name, each a composition of features, estimator, width and policy."""

from surefoot.algorithms.budgeted import bbkb, bkb
from surefoot.algorithms.conditional_value_at_risk import cvar_ts, cvar_ucb
from surefoot.algorithms.gaussian import gp_ts, gp_ucb
from surefoot.algorithms.heavy_tailed import ata_gp_ucb, tgp_ucb
from surefoot.algorithms.robust_default import robust, robust_ucb
from surefoot.algorithms.value_at_risk import stable_opt, v_ucb

__all__ = [
    "ata_gp_ucb",
    "bbkb",
    "bkb",
    "cvar_ts",
    "cvar_ucb",
    "gp_ts",
    "gp_ucb",
    "robust",
    "robust_ucb",
    "stable_opt",
    "tgp_ucb",
    "v_ucb",
]
