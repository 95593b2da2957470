"""Configurations with some given values, in a space with rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.integrations.optuna.encoding import Encoding
from surefoot.types import InvalidInput

_TRIED = 2048


def completions(
    encoding: Encoding, fixed: Mapping[str, Any], generator: torch.Generator, most: int = 256
) -> Tensor:
    """Points of configurations that have given values and satisfy the rules.

    Args:
        encoding: Encoding of the search space.
        fixed: Values by parameter name; those that their parameters cannot have are ignored.
        generator: Source of all randomness.
        most: Number of points at most.

    Returns:
        Points (n, d), at least one.

    Raises:
        InvalidInput: If none was found.
    """
    space, found, wrong = encoding.space, [], ""
    known = space.named.parameters
    given = {name: value for name, value in fixed.items() if name in known}
    given = {name: value for name, value in given.items() if known[name].contains(value)}
    for drawn in encoding.named.unrestricted.sample(_TRIED, generator):
        params = space.completed(given, encoding.decode(drawn))
        point = encoding.encode(params)
        if point is None:
            continue
        violated = space.violated(params)
        if not violated:
            found.append(point)
        wrong = violated[0] if violated else wrong
        if len(found) == most or {*params} <= {*given}:  # nothing is left to be chosen
            break
    if not found:
        raise InvalidInput(
            f"a trial was enqueued with {checks.shown(dict(fixed))}, with which no configuration "
            f"was found that satisfies `{wrong}`: enqueue values that do."
        )
    return torch.stack(found)
