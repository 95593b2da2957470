"""Warnings that show the line of the user's code from which the library was called."""

import sys
import warnings


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, as from the nearest caller outside of this package.

    Args:
        text: What happens, and what to do.
        category: Class of the warning.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back and str(frame.f_globals.get("__name__")).split(".")[0] == "surefoot":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
