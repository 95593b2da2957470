"""Saving and loading an optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot.optimizer.serialization import Decoder, Encoder, is_whole, read, write
from surefoot.spaces import Arms, Box, Joint
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.optimizer.optimizer import Optimizer

_PARTS = ("features", "estimator", "width", "policy", "hyperparameters", "risk", "kernel")
_STATE = ("_pending", "_designs", "_failed", "_initial", "_initial_used")


def save(optimizer: Optimizer, path: Path) -> None:
    """Write an optimizer to a file."""
    model, encoder = optimizer._model, Encoder()
    lasting = model.hyperparameters.lasting
    parts = {
        "features": model.features,
        "estimator": model.estimator,
        "width": model.width,
        "policy": optimizer.policy,
        "risk": optimizer.risk,
        "hyperparameters": None if lasting else model.hyperparameters,
        "kernel": model.fitted.kernel if lasting else None,
    }
    values = {
        "space": encoder.encode(optimizer.space),
        "parts": {name: encoder.encode(part) for name, part in parts.items()},
        "options": {
            "ridge": optimizer.ridge,
            "standardise": optimizer._standardise,
            "repeat_until": optimizer._repeat_until,
            "initial": len(optimizer._initial),
            "seed": optimizer.seed,
        },
        "state": {name: encoder.encode(getattr(optimizer, name)) for name in _STATE},
        "model": encoder.encode(model),
        "generator": encoder.encode(optimizer._generator),
    }
    write(path, encoder.tensors, values)


def load(
    cls: type[Optimizer], path: Path, device: str | torch.device, given: dict[str, Any]
) -> Optimizer:
    """The optimizer in a file, with the parts that are not."""
    tensors, values = read(path)
    decoder = Decoder(tensors, torch.device(device))
    space = given.pop("space", None)
    if space is not None:
        _check_same(path, values["space"], tensors, space)
    elif is_whole(values["space"]):
        space = decoder.decode(values["space"])
    else:
        raise InvalidInput(
            f"{path} was saved with a `space` that cannot be put in a file: pass it again, "
            "`Optimizer.load(path, space=...)`."
        )
    parts = {}
    for name in _PARTS:
        if name in given:
            parts[name] = given.pop(name)
        elif is_whole(values["parts"][name]):
            parts[name] = decoder.decode(values["parts"][name])
        else:
            raise InvalidInput(
                f"{path} was saved with a `{name}` that is not surefoot's own: "
                f"pass it again, `Optimizer.load(path, {name}=...)`."
            )
    if given:
        raise InvalidInput(
            f"`{next(iter(given))}` is no part of an optimizer: pass `space` or one of "
            + ", ".join(f"`{name}`" for name in _PARTS)
            + "."
        )
    optimizer = cls(space, device=device, **parts, **values["options"])
    dimension = values["model"]["fields"]["observations"]["fields"]["dimension"]
    if dimension != optimizer.space.seen.dimension:
        raise InvalidInput(
            f"{path} has points of {dimension} coordinates and the `space` that came has "
            f"{optimizer.space.seen.dimension}: pass the one it was saved with."
        )
    for name in _STATE:
        setattr(optimizer, name, decoder.decode(values["state"][name]))
    optimizer._model.restore(values["model"], decoder)
    optimizer._generator.set_state(decoder.decode(values["generator"]))
    return optimizer


def _check_same(path: Path, saved: Any, tensors: dict[str, Tensor], space: object) -> None:
    """`InvalidInput` unless the space is the one in the file.

    The weights of an environment may be others: what is known of the world may have changed.
    """
    if not isinstance(space, Arms | Box | Joint):
        raise InvalidInput(f"`space` is {space!r}, expected `Arms`, `Box` or `Joint`.")
    encoder = Encoder()
    came = encoder.encode(space)
    different = [
        name
        for name in _differing("", came, encoder.tensors, saved, tensors)
        if name != "environment.weights"
    ]
    if different:
        what = ", ".join(dict.fromkeys(different))
        raise InvalidInput(
            f"{path} was saved with another `space` than the one that came (its {what} differ): "
            "pass the one it was saved with."
        )


def _differing(
    name: str, came: Any, came_tensors: dict[str, Tensor], saved: Any, tensors: dict[str, Tensor]
) -> Iterator[str]:
    """The names of fields that differ between two encoded values."""
    if isinstance(came, dict) and isinstance(saved, dict) and came.keys() == saved.keys():
        if "type" in came:
            kinds = [one["type"].rpartition(":")[2] for one in (saved, came)]
            if kinds[0] != kinds[1]:
                yield " of ".join(filter(None, ["kind", name])) + f" ({kinds[0]} and {kinds[1]})"
            elif kinds[0] != "ContinuousEnvironment":  # whose distribution is not in a file
                for field, value in came["fields"].items():
                    inner = f"{name}.{field}" if name else field
                    other = saved["fields"].get(field)
                    yield from _differing(inner, value, came_tensors, other, tensors)
            return
        if "tensor" in came:
            if not torch.equal(came_tensors[came["tensor"]], tensors[saved["tensor"]]):
                yield name
            return
        for key in came:
            yield from _differing(name, came[key], came_tensors, saved[key], tensors)
        return
    if isinstance(came, list) and isinstance(saved, list) and len(came) == len(saved):
        for one, other in zip(came, saved, strict=True):
            yield from _differing(name, one, came_tensors, other, tensors)
        return
    if came != saved:
        yield name or "kind"
