"""Random wrong arguments to every public class, function and method.

Each call replaces one or two arguments of a call that is right by values of other types, shapes and
sizes. It may work, or raise one of surefoot's errors; any other exception is a fault, and so is an
optimizer that asks or recommends another point after a refused call.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import surefoot as sf
from surefoot import acquisition, algorithms, features, hyperparameters, kernels, widths
from surefoot.beliefs import gains
from surefoot.types import OBJECTIVE, Measurement

_LINE = torch.linspace(0.0, 1.0, 6, dtype=torch.float64).unsqueeze(-1)


def _kernel() -> Any:
    return kernels.squared_exponential(0.3)


def _arms() -> sf.Arms:
    return sf.Arms(_LINE)


def _measured() -> Measurement:
    return Measurement(0, {OBJECTIVE: 1.0})


def _joint() -> sf.Joint:
    return sf.Joint(_arms(), sf.FiniteEnvironment([0.0, 1.0]))


_BUDGET = {"space": _arms, "kernel": _kernel, "noise": lambda: 0.1, "norm_bound": lambda: 1.0}
_MOMENT = {"space": _arms, "kernel": _kernel, "moment": lambda: sf.Moment(1.0, 4.0)}
_COMMON: dict[str, Callable[[], Any]] = {
    "seed": lambda: 0,
    "ridge": lambda: 1.0,
}

Arguments = Mapping[str, Callable[[], Any]]

CALLS: dict[str, tuple[Callable[..., Any], Arguments]] = {
    "Arms": (sf.Arms, {"points": lambda: _LINE}),
    "Box": (
        sf.Box,
        {
            "lower": lambda: [0.0, 0.0],
            "upper": lambda: [1.0, 1.0],
            "levels": lambda: {1: [0.0, 1.0]},
            "choices": list,
        },
    ),
    "Joint": (
        sf.Joint,
        {
            "design": _arms,
            "environment": lambda: sf.FiniteEnvironment([0.0, 1.0]),
            "observed": lambda: False,
        },
    ),
    "FiniteEnvironment": (
        sf.FiniteEnvironment,
        {"points": lambda: [0.0, 1.0], "weights": lambda: [0.5, 0.5]},
    ),
    "ContinuousEnvironment": (
        sf.ContinuousEnvironment,
        {"distribution": lambda: torch.distributions.Uniform(0.0, 1.0)},
    ),
    "Moment": (sf.Moment, {"alpha": lambda: 1.0, "bound": lambda: 2.0}),
    "VaR": (sf.VaR, {"level": lambda: 0.1}),
    "CVaR": (sf.CVaR, {"level": lambda: 0.1}),
    "Huber": (sf.Huber, {"k": lambda: 1.345, "passes": lambda: 5, "tolerance": lambda: 1e-6}),
    "StudentT": (sf.StudentT, {"dof": lambda: 3.0, "passes": lambda: 5}),
    "Truncation": (sf.Truncation, {"moment": lambda: sf.Moment(1.0, 2.0)}),
    "AdaptiveTruncation": (
        sf.AdaptiveTruncation,
        {"moment": lambda: sf.Moment(1.0, 2.0), "horizon": lambda: 100},
    ),
    "Nystrom": (sf.Nystrom, {"dictionary": lambda: sf.PivotedCholesky(3)}),
    "PivotedCholesky": (sf.PivotedCholesky, {"size": lambda: 3}),
    "LeverageSampling": (
        sf.LeverageSampling,
        {
            "oversampling": lambda: 3.0,
            "resample": lambda: "adaptive",
            "ratio": lambda: 2.0,
            "inclusion": lambda: "per-pull",
            "horizon": lambda: 10,
            "feedback": lambda: "batch",
        },
    ),
    "QuadratureFourier": (sf.QuadratureFourier, {"nodes": lambda: 8}),
    "RandomFourier": (sf.RandomFourier, {"count": lambda: 16, "seed": lambda: 0}),
    "Dictionary": (features.Dictionary, {"points": lambda: _LINE[:2]}),
    "squared_exponential": (kernels.squared_exponential, {"lengthscale": lambda: 0.3}),
    "matern": (kernels.matern, {"nu": lambda: 2.5, "lengthscale": lambda: 0.3}),
    "precomputed": (kernels.precomputed, {"K": lambda: torch.eye(3)}),
    "constant": (widths.constant, {"width": lambda: 1.0}),
    "srinivas": (widths.srinivas, {"delta": lambda: 0.1, "scale": lambda: 1.0}),
    "Plan": (acquisition.Plan, {"initial": lambda: 2, "repeat_until": lambda: 1.0}),
    "Reporting": (acquisition.Reporting, {"by": lambda: "mean"}),
    "GivenHyperparameters": (
        hyperparameters.GivenHyperparameters,
        {"kernel": _kernel, "ridge": lambda: 1.0, "standardise": lambda: True},
    ),
    "HyperparameterFit": (
        hyperparameters.HyperparameterFit,
        {"kernel": lambda: "matern-5/2", "other_kernels": lambda: ["matern-1/2"]},
    ),
    "Fidelity": (
        sf.Fidelity,
        {"levels": lambda: [1.0, 2.0], "cost": lambda: [1.0, 2.0], "name": lambda: "seconds"},
    ),
    "NoisyExpectedImprovement": (
        acquisition.NoisyExpectedImprovement,
        {"samples": lambda: 8},
    ),
    "gp_ucb": (algorithms.gp_ucb, {"space": _arms, "kernel": _kernel, "width": widths.srinivas}),
    "tgp_ucb": (algorithms.tgp_ucb, {**_MOMENT, **_COMMON}),
    "ata_gp_ucb": (
        algorithms.ata_gp_ucb,
        {**_MOMENT, "horizon": lambda: 100, "features": lambda: "fourier", **_COMMON},
    ),
    "bkb": (algorithms.bkb, {**_BUDGET, "oversampling": lambda: 3.0, **_COMMON}),
    "bbkb": (algorithms.bbkb, {**_BUDGET, "ratio": lambda: 2.0, **_COMMON}),
    "v_ucb": (
        algorithms.v_ucb,
        {
            "space": _joint,
            "kernel": _kernel,
            "level": lambda: 0.3,
            "lacing": lambda: "prob",
            "width": widths.srinivas,
            "seed": lambda: 0,
        },
    ),
    "robust_ucb": (
        algorithms.robust_ucb,
        {
            "problem": _arms,
            "kernel": _kernel,
            "scale": lambda: 0.5,
            "initial": lambda: 2,
            "seed": lambda: 0,
        },
    ),
    "Optimizer": (
        sf.Optimizer,
        {"problem": _arms, "method": sf.Method, "seed": lambda: 0},
    ),
    "Problem": (
        sf.Problem,
        {
            "space": _arms,
            "outcomes": dict,
            "risk": lambda: None,
            "safe": lambda: False,
            "estimand": lambda: "location",
        },
    ),
    "Method": (
        sf.Method,
        {
            "kernel": _kernel,
            "features": sf.Exact,
            "estimator": sf.Huber,
            "plan": lambda: acquisition.Plan(2),
            "reporting": lambda: acquisition.Reporting(),
            "ridge": _COMMON["ridge"],
            "width": widths.srinivas,
        },
    ),
}
METHODS: dict[str, Arguments] = {
    "tell": {"where": lambda: 0, "y": lambda: 1.0, "environment": lambda: None},
    "tell_all": {"points": lambda: [0, 1], "rewards": lambda: [1.0, 2.0]},
    "forget": {"query": lambda: 0, "environment": lambda: None, "failed": lambda: True},
    "expect": {"where": lambda: 0, "environment": lambda: None},
    "ask": {"arms": lambda: [0, 1]},
    "ask_batch": {"number": lambda: 1},
    "recommend": {"by": lambda: "mean"},
    "record": {"measurements": lambda: [_measured()], "undeclared": lambda: False},
    "belief": {"also": lambda: [_measured()], "undeclared": lambda: False},
    "reseed": {"seed": lambda: 1},
    "belief.predict": {"designs": lambda: _LINE[:2], "estimand": lambda: "mean"},
    "belief.feasibility": {"designs": lambda: _LINE[:2]},
    "belief.difference": {"design": lambda: _LINE[0], "other": lambda: _LINE[1]},
    "gains.expected": {"designs": lambda: _LINE[:2], "over": lambda: _LINE[1]},
    "gains.largest": {"over": lambda: _LINE[1]},
    "belief.draws": {"designs": lambda: _LINE[:2], "number": lambda: 3},
    "belief.conditioned": {"points": lambda: _LINE[:2], "rewards": lambda: [1.0, 2.0]},
}

HOSTILE: list[Callable[[], Any]] = [
    lambda: None,
    lambda: True,
    lambda: -1,
    lambda: 0,
    lambda: 1,
    lambda: 10**400,
    lambda: -(10**19),
    lambda: 0.5,
    lambda: 1e308,
    lambda: -1e308,
    lambda: 5e-324,
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: 1 + 2j,
    lambda: "x",
    lambda: "\udcff",
    lambda: b"3",
    list,
    lambda: [[]],
    lambda: [0.1, "x"],
    lambda: [float("nan")],
    lambda: [0.5],
    lambda: [0.5, 0.5],
    lambda: [[0.5], [0.5, 0.6]],
    lambda: (1, 2, 3),
    dict,
    lambda: {0: [0.0]},
    lambda: {"x": 1},
    lambda: {1, 2},
    lambda: iter([1]),
    lambda: object(),
    lambda: object,
    lambda: len,
    lambda: lambda *given: 0.0,
    lambda: np.float32(0.5),
    lambda: np.int8(3),
    lambda: np.True_,
    lambda: np.array([0.5]),
    lambda: np.array(["a"]),
    lambda: np.array([object()]),
    lambda: np.zeros((0, 3)),
    lambda: np.ma.array([1.0], mask=[True]),
    lambda: np.datetime64("2020-01-01"),
    lambda: torch.tensor(0.5),
    lambda: torch.tensor([True, False]),
    lambda: torch.tensor([1 + 1j]),
    lambda: torch.zeros(2, 2, 2),
    lambda: torch.zeros(0),
    lambda: torch.tensor([0.5], requires_grad=True),
    lambda: torch.ones(1, dtype=torch.float16),
    lambda: torch.eye(3).to_sparse(),
    lambda: Path("x"),
    lambda: sf.VaR(0.1),
    lambda: sf.Exact(),
    lambda: sf.Exact,
    lambda: _arms(),
    lambda: _kernel(),
    lambda: sf.Query(0, torch.zeros(1)),
]


@dataclass
class Figures:
    """What came of the calls.

    Args:
        calls: How many were made.
        refused: How many raised an error of surefoot's own.
        raw: Descriptions of those that raised another one.
        changed: Descriptions of refused calls after which an optimizer was another.
    """

    calls: int = 0
    refused: int = 0
    raw: dict[str, str] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.raw or self.changed)


def call(count: int, seed: int = 0) -> Figures:
    """Make random wrong calls.

    Args:
        count: How many.
        seed: Seed of the choices.

    Returns:
        The figures.
    """
    figures, random = Figures(), np.random.default_rng(seed)
    names = [*CALLS, *METHODS, *METHODS]
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        optimizer = _running()
        before = _bytes(optimizer, Path(folder))
        for _ in range(count):
            name = names[random.integers(len(names))]
            figures.calls += 1
            if name in CALLS:
                _construct(name, random, figures)
                continue
            arguments, label = _arguments(name, METHODS[name], random)
            try:
                _method(optimizer, name)(**arguments)
            except sf.SurefootError:
                figures.refused += 1
                if _bytes(optimizer, Path(folder)) != before:
                    figures.changed.append(label)
                else:
                    continue
            except Exception as error:
                figures.raw[label] = f"{type(error).__name__}: {error}"[:200]
            optimizer = _running()  # a call that was right has changed it
            before = _bytes(optimizer, Path(folder))
    return figures


def _method(optimizer: sf.Optimizer, name: str) -> Callable[..., Any]:
    """A method of an optimizer, or of its belief."""
    owner, _, method = name.rpartition(".")
    if owner == "gains":
        return partial(getattr(gains, method), optimizer.belief())
    return getattr(optimizer.belief() if owner else optimizer, method)


def _construct(name: str, random: np.random.Generator, figures: Figures) -> None:
    make, right = CALLS[name]
    arguments, label = _arguments(name, right, random)
    try:
        made = make(**arguments)
        if isinstance(made, sf.Optimizer):
            for reward in (1.0, -1.0, 2.0):
                made.tell(made.ask(), reward)
            made.recommend()
    except sf.SurefootError:
        figures.refused += 1
    except Exception as error:
        figures.raw[label] = f"{type(error).__name__}: {error}"[:200]


def _arguments(
    name: str, right: Arguments, random: np.random.Generator
) -> tuple[dict[str, Any], str]:
    """Right arguments of which one or two are others, and a description."""
    arguments = {key: make() for key, make in right.items()}
    label = name
    for _ in range(1 + int(random.integers(2))):
        key = [*right][random.integers(len(right))]
        arguments[key] = HOSTILE[random.integers(len(HOSTILE))]()
        try:
            label += f" {key}={arguments[key]!r}"[:80]
        except Exception:
            label += f" {key}=?"
    return arguments, label


def _running() -> sf.Optimizer:
    optimizer = algorithms.gp_ucb(_arms(), _kernel())
    optimizer.tell_all([0, 3], [1.0, 2.0])
    optimizer.ask()
    return optimizer


def _bytes(optimizer: sf.Optimizer, folder: Path) -> bytes:
    optimizer.save(folder / "run")
    content = (folder / "run").read_bytes()
    owner = optimizer.pending[0].owner if optimizer.pending else ""
    return content.replace(owner.encode(), b"") if owner else content
