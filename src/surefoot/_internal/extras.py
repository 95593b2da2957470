"""Packages that surefoot is installed without unless an extra asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
        raise NotInstalled(
            f"the package {package} is not installed: pip install 'surefoot[{name}]'."
        ) from error
