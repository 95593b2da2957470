"""Samplers from options that may be those of their problem."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import surefoot as sf
from surefoot.integrations.optuna import SurefootSampler

_OF_A_PROBLEM = {one.name for one in fields(sf.Problem)}


def sampler_of(**options: Any) -> SurefootSampler:
    """A sampler; options of a `Problem` are passed with one."""
    known = {name: one for name, one in options.items() if name in _OF_A_PROBLEM}
    others = {name: one for name, one in options.items() if name not in known}
    return SurefootSampler(sf.Problem(**known), **others)
