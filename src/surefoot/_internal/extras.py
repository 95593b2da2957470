"""Packages that only an extra installs, and names that are imported on their first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from surefoot.types import NotInstalled


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Context of imports that need the packages of an extra.

    Args:
        name: The extra.

    Raises:
        NotInstalled: If a package is absent.

    Example:
        >>> with extra("tune"):
        ...     import pydantic
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "surefoot").partition(".")[0]
        if package == "surefoot":
            raise
        raise _absent(package, name) from error


def check_installed(name: str, *packages: str) -> None:
    """Check, without importing them, that the packages of an extra are there.

    Args:
        name: The extra.
        *packages: The packages.

    Raises:
        NotInstalled: If a package is absent.

    Example:
        >>> check_installed("tune", "pydantic")
    """
    for package in packages:
        if find_spec(package) is None:
            raise _absent(package, name)


def _absent(package: str, name: str) -> NotInstalled:
    return NotInstalled(f"the package {package} is not installed: pip install 'surefoot[{name}]'.")


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
