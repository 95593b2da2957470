"""Hyperparameters as bytes of a state dict, with what tells the data that they are of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from surefoot._internal.tensors import NO_VALUES
from surefoot.hyperparameters.fitted import NO_PART, Fitted
from surefoot.optimizer.serialization import from_tensor, to_tensor
from surefoot.types import InvalidInput


def state_of(fits: Sequence[Fitted], data: Sequence[Tensor]) -> Tensor:
    """Bytes (k,) of hyperparameters and of a digest of their data, which no code is read from.

    Args:
        fits: Hyperparameters of each outcome.
        data: Columns (n, ...) of the data, in the units of the user.
    """
    return to_tensor([list(fits), _digest(data, _number(fits))])


def fits_from(state: Any, data: Sequence[Tensor], outputs: int, inputs: int) -> list[Fitted]:
    """Hyperparameters of a state, for a model of these data.

    Weights belong to measurements: they are kept where the data, or the first of them, are those
    that the state is of, and else left out, so that they follow from the data.

    Args:
        state: What `state_of` gave.
        data: Columns (n, ...) of the data of the model, in the units of the user.
        outputs: Number of outcomes of the model.
        inputs: Number of its transformed inputs.

    Raises:
        InvalidInput: If the state is none, or of other numbers of outcomes or inputs.
    """
    content = from_tensor(state)
    if not (isinstance(content, list) and len(content) == 2 and isinstance(content[0], list)):
        raise InvalidInput("the state is none that this version of surefoot wrote.")
    fits, digest = content
    came = {one.kernel.base_kernel.lengthscale.shape[-1] for one in fits}
    if len(fits) != outputs or came != {inputs}:
        raise InvalidInput(
            f"the state is of {len(fits)} outcomes of {sorted(came)} inputs, expected {outputs} "
            f"outcomes of {inputs} inputs: load it into a model of the same inputs and outcomes."
        )
    number = _number(fits)
    if number <= len(data[0]) and digest == _digest(data, number):
        return fits
    return [_without_weights(one) for one in fits]


def _number(fits: Sequence[Fitted]) -> int:
    return len(fits[0].weights)


def _digest(data: Sequence[Tensor], number: int) -> str:
    """Digest of the first measurements."""
    found = hashlib.sha256()
    for column in data:
        found.update(column[:number].double().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def _without_weights(fitted: Fitted) -> Fitted:
    """The hyperparameters alone."""
    rivals, others = (
        [replace(one, weights=NO_VALUES) for one in optima]
        for optima in (fitted.rivals, fitted.others)
    )
    return replace(fitted, weights=NO_VALUES, rivals=rivals, others=others, part=NO_PART)
