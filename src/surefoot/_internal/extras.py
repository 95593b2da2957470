"""Packages that surefoot is installed without unless an extra asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

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
