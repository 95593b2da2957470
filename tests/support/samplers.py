"""Samplers from options that may be those of their problem, and gains of their studies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

import surefoot as sf
from surefoot.beliefs import gains
from surefoot.integrations.optuna import StudyBelief, SurefootSampler

_OF_A_PROBLEM = {one.name for one in fields(sf.Problem)}


def sampler_of(**options: Any) -> SurefootSampler:
    """A sampler; options of a `Problem` are passed with one."""
    known = {name: one for name, one in options.items() if name in _OF_A_PROBLEM}
    others = {name: one for name, one in options.items() if name not in known}
    return SurefootSampler(sf.Problem(**known), **others)


def largest_gains(belief: StudyBelief, params: Mapping[str, Any]) -> np.ndarray:
    """By how much the best configuration is better than another one, in functions drawn."""
    return gains.largest(belief.belief, belief.points([params])[0]).numpy()
