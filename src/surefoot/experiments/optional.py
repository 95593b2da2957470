"""Packages that only experiments need."""

from importlib import import_module
from typing import Any

from surefoot.types import InvalidInput


def optional(module: str, purpose: str) -> Any:
    """The module; `InvalidInput` that names the extra if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise InvalidInput(
            f"{purpose} needs {module.split('.')[0]}: pip install 'surefoot[reproduce]'"
        ) from None
