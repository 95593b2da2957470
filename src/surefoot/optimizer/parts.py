"""Whether what an optimiser is to be put together from are parts at all."""

from __future__ import annotations

from surefoot.acquisition.policy import as_policy
from surefoot.features import Nystrom
from surefoot.types import InvalidInput


def check_parts(features: object, estimator: object, width: object, policy: object) -> None:
    """`InvalidInput` for one that is given and is none, such as its name or its class."""
    if width is not None and not callable(width):
        raise InvalidInput(
            f"`width` is {width!r}, expected a width: pass `widths.constant({width!r})`."
        )
    right = hasattr(features, "embed") or isinstance(features, Nystrom)
    if features is not None and (not right or isinstance(features, type)):
        raise InvalidInput(f"`features` is {features!r}, expected some: pass `Sketch()`, say.")
    if estimator is not None and (not callable(estimator) or isinstance(estimator, type)):
        raise InvalidInput(f"`estimator` is {estimator!r}, expected one: pass `Huber()`, say.")
    if policy is not None:
        as_policy(policy)
