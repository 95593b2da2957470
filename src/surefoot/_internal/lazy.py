"""Names that a package imports on their first use, so that importing it is quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` that imports its public names on their first use.

    Args:
        package: Name of the module.
        homes: Full name of the module that defines each name.

    Returns:
        The function.

    Example:
        >>> lazily("surefoot", {"Box": "surefoot.spaces"})("Box").__name__
        'Box'
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return get
