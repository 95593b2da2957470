"""Parts and kernels as plain values, so that loading a file never runs code."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot import acquisition, estimators, features, hyperparameters, kernels, risks, widths
from surefoot.acquisition import neural_surrogate
from surefoot.tails import Moment
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

FORMAT = 3
OUTSIDE = "outside"  # stands for a part of the user's own, which must be passed again on loading

_PARTS = {
    part.__name__: part
    for part in (
        Moment,
        features.Dictionary,
        features.Exact,
        features.Nystrom,
        features.QuadratureFourier,
        features.RandomFourier,
        features.Sketch,
        estimators.LeastSquares,
        estimators.Huber,
        estimators.StudentT,
        estimators.Truncation,
        estimators.AdaptiveTruncation,
        estimators.MedianOfMeans,
        widths.constant,
        widths.srinivas,
        widths.chowdhury_gopalan,
        widths.truncated,
        widths.truncated_as_published,
        widths.adaptive_fourier,
        widths.adaptive_nystrom,
        widths.adaptive_as_published,
        widths.bkb,
        widths.bkb_as_published,
        acquisition.UpperConfidenceBound,
        acquisition.NoisyExpectedImprovement,
        acquisition.Alternating,
        acquisition.ScorePolicy,
        acquisition.RiskKnowledgeGradient,
        acquisition.SurrogateBound,
        neural_surrogate.Surrogate,
        risks.Mean,
        risks.VaR,
        risks.CVaR,
        risks.WorstCase,
        hyperparameters.Learner,
    )
}


def write(path: Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """One safetensors file with the values as JSON in its header, in place when it is whole."""
    from safetensors.torch import save

    whole = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
    content = save(whole, metadata={"surefoot": json.dumps({"format": FORMAT, **values})})
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and values of a file; `InvalidInput` if it is not one of ours."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            header = (file.metadata() or {}).get("surefoot")
            if header is None:
                raise InvalidInput(f"{path} was not written by `Optimizer.save`.")
            # Copied: a file does not align them, and the last bit of a product depends on that.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise InvalidInput(f"{path} is not a whole safetensors file: {error}.") from error
    values = json.loads(header)
    if values["format"] != FORMAT:
        raise InvalidInput(
            f"{path} has format {values['format']}, expected {FORMAT}: "
            "load it with the version of surefoot that wrote it."
        )
    return tensors, values


def part_to_values(part: object) -> Any:
    """A composed part as {"part": name, field: value, ...}."""
    if part is None:
        return None
    if isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, tuple):
        return [part_to_values(item) for item in part]
    if _PARTS.get(type(part).__name__) is not type(part):
        return OUTSIDE
    fields = {f.name: part_to_values(getattr(part, f.name)) for f in dataclasses.fields(part)}
    return OUTSIDE if OUTSIDE in fields.values() else {"part": type(part).__name__, **fields}


def part_from_values(values: Any) -> Any:
    """The part again."""
    if not isinstance(values, dict):
        return values
    fields = {name: part_from_values(value) for name, value in values.items() if name != "part"}
    return _PARTS[values["part"]](**fields)


def kernel_to_values(kernel: Kernel | None, name: str, tensors: dict[str, Tensor]) -> Any:
    """A kernel of `surefoot.kernels` as values and tensors; `OUTSIDE` for any other."""
    from gpytorch.kernels import LinearKernel, MaternKernel, RBFKernel, ScaleKernel

    from surefoot.kernels.general_matern import GeneralMaternKernel
    from surefoot.kernels.precomputed_kernel import PrecomputedKernel

    if kernel is None:
        return None
    if type(kernel) is ScaleKernel:
        inner = kernel_to_values(kernel.base_kernel, f"{name}.base", tensors)
        tensors[f"{name}.variance"] = kernel.raw_outputscale
        return OUTSIDE if inner == OUTSIDE else ["scaled", inner]
    matern = type(kernel) in (MaternKernel, GeneralMaternKernel)
    if (matern or type(kernel) is RBFKernel) and kernel.active_dims is None:
        tensors[f"{name}.lengthscale"] = kernel.raw_lengthscale
        return ["matern", kernel.nu] if matern else ["squared_exponential"]
    if type(kernel) is LinearKernel and float(kernel.variance) == 1.0:
        return ["linear"]
    if type(kernel) is PrecomputedKernel:
        tensors[f"{name}.gram"] = kernel.gram
        return ["precomputed"]
    return OUTSIDE


def kernel_from_values(values: Any, name: str, tensors: dict[str, Tensor]) -> Kernel:
    """The kernel again."""
    match values:
        case ["scaled", inner]:
            scaled = kernels.scaled(kernel_from_values(inner, f"{name}.base", tensors), 1.0)
            scaled.raw_outputscale.data = tensors[f"{name}.variance"]
            return scaled
        case ["matern" | "squared_exponential", *nu]:
            raw = tensors[f"{name}.lengthscale"]  # the raw one, which no transformation rounds
            ones = torch.ones(raw.numel())
            base = kernels.matern(nu[0], ones) if nu else kernels.squared_exponential(ones)
            base.raw_lengthscale.data = raw
            return base
        case ["linear"]:
            return kernels.linear()
        case ["precomputed"]:
            return kernels.precomputed(tensors[f"{name}.gram"])
    raise InvalidInput(f"the kernel {values!r} is not one that this version knows.")


def stacked(points: Iterable[Tensor], dimension: int) -> Tensor:
    """Points (n, d) as one tensor, n = 0 included."""
    rows = [point.reshape(1, dimension) for point in points]
    return torch.cat(rows) if rows else torch.zeros(0, dimension, dtype=torch.float64)
