"""Attributes of a trial in the units of the study that takes it over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.integrations.optuna import CONSTRAINTS, STANDARD_ERROR, STANDARD_ERRORS
from surefoot.tune.measuring.measurement import VALUE
from surefoot.tune.measuring.unit_scales import scaled


def attributes_in_units(
    attributes: Mapping[str, Any], sizes: Mapping[str, float]
) -> dict[str, Any]:
    """User attributes of a trial with every number that has a unit in another one.

    Args:
        attributes: The attributes.
        sizes: What numbers are multiplied by, of constraints by name and of the value by `VALUE`;
            by default 1.
    """
    size, found = sizes.get(VALUE, 1.0), dict(attributes)
    if isinstance(error := found.get(STANDARD_ERROR), int | float):
        found[STANDARD_ERROR] = scaled(error, size)
    for key in (CONSTRAINTS, STANDARD_ERRORS):
        if isinstance(others := found.get(key), dict):
            found[key] = {name: scaled(one, sizes.get(name, 1.0)) for name, one in others.items()}
    return found
