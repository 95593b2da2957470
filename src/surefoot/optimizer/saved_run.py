"""Saving and loading an optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot.hyperparameters import GivenHyperparameters
from surefoot.optimizer.method import Method
from surefoot.optimizer.serialization import Decoder, Encoder, is_whole, read, type_name, write
from surefoot.problem import Problem
from surefoot.spaces.box import as_space
from surefoot.spaces.joint import checked_space
from surefoot.spaces.locations import TRIED_AT
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.optimizer.optimizer import Optimizer


_OF_PROBLEM = ("risk", "outcomes", "assume")
_NAMED = ("safe", "estimand")  # of a problem, as they are
_STATE = ("_history", "_generator", "_pending", "_initial", "_initial_used", "_memory")


def save(path: Path, optimizer: Optimizer) -> None:
    """Write a run to a file.

    Args:
        path: The file.
        optimizer: The run.

    Raises:
        InvalidInput: If a policy keeps something in `state.memory` that cannot be in a file;
            nothing is written then.
    """
    encoder, model = Encoder(), optimizer._history.model
    problem, method = optimizer.problem, optimizer.method
    for key, kept in optimizer._memory.items():
        if not is_whole(encoder.encode({key: kept})):
            raise InvalidInput(
                f"`state.memory[{checks.shown(key)}]` is {checks.shown(kept)}, which cannot be "
                "in a file, expected numbers, texts, tensors, arrays of numbers, or lists, tuples "
                "and dictionaries of these."
            )
    parts = {
        "kernel": model.hyperparameters,
        "risk": optimizer.risk if optimizer.space.has_environment else None,
        "features": model.features,
        "estimator": model.estimator,
        "width": model.width,
        "policy": optimizer.policy,
        "plan": method.plan,
        "reporting": method.reporting,
        "outcomes": problem.outcomes,
        "assume": problem.assume,
    }
    state = {name: getattr(optimizer, name) for name in _STATE}
    state |= optimizer._told.saved
    if model.hyperparameters.lasting:
        state["covariance"] = _prior_covariance(optimizer)
    values = {
        "space": encoder.encode(optimizer.space),
        "parts": {name: encoder.encode(part) for name, part in parts.items()},
        "options": {
            "seed": optimizer.seed,
            "ridge": method.ridge,
            **{name: getattr(problem, name) for name in _NAMED},
        },
        "state": {name: encoder.encode(one) for name, one in state.items()},
    }
    device = optimizer.space.design.lower.device.type
    values |= {"device": device, "on_cpu": [] if device == "cpu" else encoder.on_cpu}
    write(path, encoder.tensors, values)


def load(
    kind: type[Optimizer], path: Path, device: torch.device, given: dict[str, Any]
) -> Optimizer:
    """Read a run from a file.

    Args:
        kind: Class of the run.
        path: The file.
        device: Device of the tensors.
        given: Parts that are not in the file, by their names, and a `space`.

    Returns:
        The run.

    Raises:
        InvalidInput: If the file is not one of `save`, or a part is missing, unknown or another.
    """
    with _refusing(path):
        run = _read(path, device, given)
        optimizer = kind(run.problem(device), run.method, seed=run.options["seed"])
        known, decoder = run.state, run.decoder
        dimension = run.dimension
        if dimension != optimizer.space.seen.dimension:
            raise InvalidInput(
                f"{path} has points of {dimension} coordinates and the `space` that came has "
                f"{optimizer.space.seen.dimension}: pass the one it was saved with."
            )
        if optimizer._history.model.hyperparameters.lasting:
            before = decoder.decode(known["covariance"])
            _check_covariance(path, before, _prior_covariance(optimizer))
        optimizer._history.restore(known["_history"], decoder)
        optimizer._generator.set_state(decoder.decode(known["_generator"]))
        for name in _STATE[2:]:
            setattr(optimizer, name, decoder.decode(known[name]))
        optimizer._told.restore(known, decoder)
    return optimizer


def _prior_covariance(optimizer: Optimizer) -> Tensor:
    """Covariance (p, p) at a few points, by which a kernel is recognised in a file."""
    few = optimizer.space.seen.spread(TRIED_AT, torch.Generator().manual_seed(0))
    points = torch.stack([location.point for location in few])
    with torch.no_grad():
        return kernels.block(optimizer._history.fitted.kernel, points, points)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Context in which content that no `save` has written is an `InvalidInput`."""
    try:
        yield
    except InvalidInput:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as e:
        raise InvalidInput(
            f"{path} holds no run that this version can read: {type(e).__name__}, {e}."
        ) from e


@dataclass(frozen=True, eq=False)
class _SavedRun:
    """A run in a file.

    Args:
        space: The space.
        parts: The parts, those of the user's own as they were passed again.
        options: The other arguments of the optimizer.
        state: All that changes, encoded.
        decoder: Decodes the state.
    """

    space: Any
    parts: dict[str, Any]
    options: dict[str, Any]
    state: dict[str, Any]
    decoder: Decoder

    def problem(self, device: torch.device) -> Problem:
        """What was optimised, on a device; where there were levels, the space has them."""
        known = {name: self.parts.get(name) for name in _OF_PROBLEM}
        known |= {name: self.options[name] for name in _NAMED}
        return Problem(self.space.to(device), **known)  # type: ignore[arg-type]

    @property
    def method(self) -> Method:
        """The parts by which it was solved."""
        parts = {name: one for name, one in self.parts.items() if name not in _OF_PROBLEM}
        return Method(ridge=self.options["ridge"], **parts)

    @property
    def dimension(self) -> int:
        """Number of coordinates of its points."""
        return self.state["_history"]["fields"]["observations"]["fields"]["dimension"]


def _read(path: Path, device: torch.device, given: dict[str, Any]) -> _SavedRun:
    """The run in a file, with the parts that are passed again."""
    tensors, values = read(path)
    before = values["device"]
    if device.type not in (before, "cpu"):
        raise InvalidInput(
            f"{path} was saved on '{before}', and `device` is '{device}': load it where it was "
            "saved or on 'cpu', or tell a new optimizer the rewards of `history`."
        )
    decoder, given = Decoder(tensors, torch.device("cpu")), dict(given)
    state_decoder = Decoder(tensors, device, values["on_cpu"])
    space = as_space(given.pop("space", None))
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
    for name, saved in values["parts"].items():
        if name in given:
            parts[name] = _given_part(name, saved, given.pop(name))
            _check_part(path, name, saved, parts[name])
        elif is_whole(saved):
            parts[name] = decoder.decode(saved)
        else:
            raise InvalidInput(
                f"{path} was saved with a `{name}` that is not surefoot's own: "
                f"pass it again, `Optimizer.load(path, {name}=...)`."
            )
    if given:
        raise InvalidInput(
            f"`{next(iter(given))}` is no part of an optimizer: pass `space` or one of "
            + ", ".join(f"`{name}`" for name in parts)
            + "."
        )
    return _SavedRun(space, parts, values["options"], values["state"], state_decoder)


def _check_covariance(path: Path, saved: Tensor, now: Tensor) -> None:
    """`InvalidInput` unless a kernel has the covariance (p, p) at a few points of that in the file.

    What is in the file was computed with that kernel.
    """
    if not torch.allclose(saved, now, rtol=1e-6, atol=1e-9 * float(saved.abs().max())):
        raise InvalidInput(
            f"{path} was saved with another `kernel`: between the same two points it has a "
            f"covariance of {float(saved[0, -1]):.4g} and the one that came of "
            f"{float(now[0, -1]):.4g}. Pass the one it was saved with, "
            "or tell a new optimizer the rewards of `history`."
        )


def _given_part(name: str, saved: Any, came: Any) -> Any:
    """A part that came; a kernel alone becomes the rule that the file has it in."""
    is_rule = name == "kernel" and isinstance(saved, dict) and "fields" in saved
    if not is_rule or "kernel" not in saved["fields"] or hasattr(came, "uncertainty"):
        return came
    fields = saved["fields"]
    return GivenHyperparameters(came, fields["ridge"], fields["standardise"])


def _check_part(path: Path, name: str, saved: Any, came: object) -> None:
    """`InvalidInput` unless a part is of the kind of that in the file, which holds its state."""
    if name not in ("features", "estimator") or not isinstance(saved, dict) or "type" not in saved:
        return
    kind = saved["type"].rpartition(":")[2]
    if type_name(came) != saved["type"]:
        raise InvalidInput(
            f"{path} was saved with `{name}` = {kind}, and {type(came).__name__} came: its state "
            f"is of no use to another kind. Pass a {kind}, or tell a new optimizer the rewards of "
            "`history`."
        )


def _check_same(path: Path, saved: Any, tensors: dict[str, Tensor], space: object) -> None:
    """`InvalidInput` unless the space is the one in the file.

    The weights of an environment may be others: what is known of the world may have changed. So may
    the storage of arms.
    """
    checked_space(space)
    encoder = Encoder()
    came = encoder.encode(space)
    different = [
        name
        for name in _differing("", came, encoder.tensors, saved, tensors)
        if name != "environment.weights" and "storage" not in name
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
