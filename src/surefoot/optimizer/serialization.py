"""Dataclasses of tensors and numbers to one file and back; reading a file runs no code of it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pkgutil
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal.files import atomic_write
from surefoot.types import InvalidInput

FORMAT = 22
_HEADER = "surefoot"
OUTSIDE = {"outside": True}  # stands for an object that no file can hold; it must be passed again

_PACKAGES = (  # whose dataclasses may be in a file
    "surefoot.acquisition",
    "surefoot.beliefs",
    "surefoot.estimators",
    "surefoot.features",
    "surefoot.hyperparameters",
    "surefoot.models",
    "surefoot.optimizer",
    "surefoot.parameters",
    "surefoot.regression",
    "surefoot.risks",
    "surefoot.spaces",
    "surefoot.tails",
    "surefoot.types",
    "surefoot.widths",
)


class Encoder:
    """Collects the tensors of the objects that it encodes, each of them once."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.on_cpu: list[str] = []  # names of the tensors that were in a CPU's memory
        self._names: dict[int, tuple[str, Tensor]] = {}  # by `id`, with what keeps it from reuse

    def encode(self, value: Any) -> Any:
        """A value as JSON; `OUTSIDE`, also within, where it cannot be in a file."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.generic):  # a count may be an integer of NumPy
            return value.item()
        if isinstance(value, Tensor):
            return self._tensor("tensor", value)
        if isinstance(value, np.ndarray):
            if value.dtype.kind not in "biufc":
                return OUTSIDE
            return self._tensor("array", torch.from_numpy(np.ascontiguousarray(value)))
        if isinstance(value, torch.Generator):
            return self._tensor("generator", value.get_state())
        if type(value) in (tuple, list):  # not a named tuple, whose names would be lost
            return {type(value).__name__: [self.encode(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        if isinstance(value, torch.nn.Module):
            return self._kernel(value)
        if getattr(type(value), "derived", False):
            return None
        if getattr(value, "is_mapped", False):  # it is in a file of its own
            return OUTSIDE
        name = type_name(value)
        if not dataclasses.is_dataclass(value) or not _is_allowed(name):
            return OUTSIDE
        saved = {f.name: self.encode(getattr(value, f.name)) for f in _saved_fields(value)}
        return {"type": name, "fields": saved}

    def _tensor(self, kind: str, tensor: Tensor) -> dict[str, str]:
        name, _ = self._names.setdefault(id(tensor), (str(len(self.tensors)), tensor))
        if name not in self.tensors:
            self.tensors[name] = tensor.detach().cpu().clone().contiguous()
            if tensor.device.type == "cpu":
                self.on_cpu.append(name)
        return {kind: name}

    def _kernel(self, kernel: Any) -> Any:
        recipe = kernels.to_recipe(kernel)
        return OUTSIDE if recipe is None else {"kernel": self.encode(recipe)}


class Decoder:
    """Makes objects again from JSON and tensors.

    Args:
        tensors: The tensors by their names.
        device: Where they are to be.
        on_cpu: Names of those that stay in a CPU's memory.
    """

    def __init__(
        self, tensors: dict[str, Tensor], device: torch.device, on_cpu: Iterable[str] = ()
    ) -> None:
        stays = frozenset(on_cpu)
        # Each once, so that what was one tensor still is.
        self._tensors = {
            name: one if name in stays else one.to(device) for name, one in tensors.items()
        }

    def decode(self, value: Any) -> Any:
        """The value again; `InvalidInput` where it is none of ours."""
        if not isinstance(value, dict):
            return value
        if "type" in value:
            cls = _class(value["type"])
            fields = {name: self.decode(field) for name, field in value["fields"].items()}
            made: Any = object.__new__(cls)
            known = {f.name for f in dataclasses.fields(cls)}
            for f in dataclasses.fields(cls):
                if f.name in fields:
                    object.__setattr__(made, f.name, fields[f.name])
                elif f.default_factory is not dataclasses.MISSING:
                    object.__setattr__(made, f.name, f.default_factory())
                elif f.default is not dataclasses.MISSING:
                    object.__setattr__(made, f.name, f.default)
            getattr(made, "__post_init__", lambda: None)()
            if not fields.keys() <= known:
                raise InvalidInput(f"the file has unknown fields of {value['type']}.")
            return made
        ((kind, content),) = value.items()
        match kind:
            case "tensor":
                return self._tensors[content]
            case "array":
                return self._tensors[content].numpy().copy()
            case "generator":
                return self._tensors[content]
            case "list":
                return [self.decode(item) for item in content]
            case "tuple":
                return tuple(self.decode(item) for item in content)
            case "dict":
                return {self.decode(k): self.decode(v) for k, v in content}
            case "kernel":
                return kernels.from_recipe(self.decode(content))
        raise InvalidInput(f"the file has an object of unknown kind {kind!r}.")

    def fill(self, target: Any, value: Any) -> None:
        """Set what was saved of an object that is there, and leave the rest as it is."""
        for f in _saved_fields(target):
            saved, present = value["fields"][f.name], getattr(target, f.name, None)
            here = isinstance(saved, dict) and saved.get("type") == type_name(present)
            if here and len(_saved_fields(present)) < len(dataclasses.fields(present)):  # type: ignore[arg-type]
                self.fill(present, saved)
            elif saved != OUTSIDE:
                object.__setattr__(target, f.name, self.decode(saved))
        after_load: Callable[[], None] = getattr(target, "after_load", lambda: None)
        after_load()


def is_whole(value: Any) -> bool:
    """Whether nothing is missing in an encoded value."""
    if value == OUTSIDE:
        return False
    if isinstance(value, dict):
        return all(is_whole(item) for item in value.values())
    return not isinstance(value, list) or all(is_whole(item) for item in value)


def to_tensor(value: Any) -> Tensor:
    """Bytes (k,) of a value, for a state dict."""
    from safetensors.torch import save

    encoder = Encoder()
    header = json.dumps({"format": FORMAT, "value": encoder.encode(value)}).encode()
    tensors = encoder.tensors | {_HEADER: torch.tensor(list(header), dtype=torch.uint8)}
    return torch.tensor(list(save(tensors)), dtype=torch.uint8)


def from_tensor(content: Tensor) -> Any:
    """The value whose bytes (k,) `to_tensor` gave; `InvalidInput` for others."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(bytes(content.cpu().tolist()))
        header = _parsed(bytes(tensors.pop(_HEADER).tolist()))
        if header["format"] == FORMAT:
            return Decoder(tensors, torch.device("cpu")).decode(header["value"])
    except (AttributeError, LookupError, SafetensorError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"the state is none that this version of surefoot wrote: {error}."
        ) from error
    raise InvalidInput(
        f"the state has format {header['format']}, expected {FORMAT}: load it with the version "
        "of surefoot that wrote it."
    )


def write(path: Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """One safetensors file with the values as JSON in its header; it appears when it is whole."""
    from safetensors.torch import save

    header = json.dumps({"format": FORMAT, **values})
    # One entry, as safetensors writes several in random order: the same run is the same file.
    content = save(tensors, {"surefoot": f"{_checksum(header, tensors)} {header}"})
    with atomic_write(path) as partial:
        partial.write_bytes(content)


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and values of a file; `InvalidInput` if it is damaged, or not one of ours."""
    from safetensors import SafetensorError, safe_open

    if path.is_dir():
        raise InvalidInput(f"{path} is a folder, expected a file that `Optimizer.save` wrote.")
    try:
        with safe_open(path, framework="pt") as file:
            entry = (file.metadata() or {}).get("surefoot")
            if entry is None:
                raise InvalidInput(f"{path} was not written by `Optimizer.save`.")
            # Copied: a file does not align them, and the last bit of a product depends on that.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise InvalidInput(f"{path} is not a whole safetensors file: {error}.") from error
    if entry.startswith("{"):
        raise InvalidInput(
            f"{path} has a format before {FORMAT}: load it with the version of surefoot that "
            "wrote it."
        )
    checksum, _, header = entry.partition(" ")
    if checksum != _checksum(header, tensors):
        raise InvalidInput(
            f"{path} is damaged, its content has another checksum: load a copy of it, if any."
        )
    values = _parsed(header)
    if values["format"] != FORMAT:
        raise InvalidInput(
            f"{path} has format {values['format']}, expected {FORMAT}: "
            "load it with the version of surefoot that wrote it."
        )
    return tensors, values


def _checksum(header: str, tensors: dict[str, Tensor]) -> str:
    """SHA-256 of the values and of names, types, shapes and bytes of the tensors."""
    digest = hashlib.sha256(header.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def type_name(value: object) -> str:
    """The class of an object as files name it: by its package, within which it may move."""
    return f"{_package(type(value).__module__)}:{type(value).__qualname__}"


def _saved_fields(value: Any) -> list[dataclasses.Field[Any]]:
    return [f for f in dataclasses.fields(value) if f.metadata.get("saved", True)]


def _is_allowed(name: str) -> bool:
    return _package(name.partition(":")[0]) in _PACKAGES


def _package(module: str) -> str:
    """The package of surefoot that a module is in."""
    return ".".join(module.split(".")[:2])


def _parsed(header: str | bytes) -> dict[str, Any]:
    """The JSON of a file; one written until 29 November 2026 has modules in place of packages."""

    def by_package(value: dict[str, Any]) -> dict[str, Any]:
        if isinstance(name := value.get("type"), str):
            module, colon, qualified = name.partition(":")
            value["type"] = f"{_package(module)}{colon}{qualified}"
        return value

    found: dict[str, Any] = json.loads(header, object_hook=by_package)
    return found


def _class(name: str) -> type:
    """The dataclass of a name in a file; nothing else is ever made."""
    package, _, qualified = name.partition(":")
    if not _is_allowed(name) or not qualified.isidentifier():
        raise InvalidInput(f"the file names {name!r}, which is no type that it may hold.")
    inside = pkgutil.iter_modules(getattr(import_module(package), "__path__", ()), f"{package}.")
    for module in (package, *(one.name for one in inside)):
        found = getattr(import_module(module), qualified, None)
        if isinstance(found, type) and dataclasses.is_dataclass(found):
            return found
    raise InvalidInput(f"the file names {name!r}, which this version of surefoot lacks.")
