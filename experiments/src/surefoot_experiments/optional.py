"""Packages that only experiments need."""

from importlib import import_module
from typing import Any

from surefoot.types import InvalidInput

_CLUSTER = ("dask", "distributed", "ray")


def optional(module: str, purpose: str) -> Any:
    """The module; `InvalidInput` that names the extra if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        package = module.split(".")[0]
        extra = "cluster" if package in _CLUSTER else "reproduce"
        raise InvalidInput(f"{purpose} needs {package}: pip install 'surefoot[{extra}]'") from None
