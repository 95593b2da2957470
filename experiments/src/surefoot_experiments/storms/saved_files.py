"""Damage the file of a saved run at random: each must be refused."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch

import surefoot as sf
from surefoot import algorithms

KINDS = ("bit", "byte", "cut", "removed", "repeated")


def damage(count: int, seed: int = 0) -> list[str]:
    """Load damaged files.

    Args:
        count: How many.
        seed: Seed of the damage.

    Returns:
        Descriptions of those that were loaded, or gave an error that is not surefoot's.
    """
    random, wrong = np.random.default_rng(seed), []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run"
        _run().save(path)
        content = path.read_bytes()
        for _ in range(count):
            kind = KINDS[random.integers(len(KINDS))]
            damaged = _damaged(content, kind, random)
            if damaged == content:
                continue
            path.write_bytes(damaged)
            try:
                sf.Optimizer.load(path)
                wrong.append(f"{kind}: loaded")
            except sf.SurefootError:
                continue
            except Exception as error:
                wrong.append(f"{kind}: {type(error).__name__}: {error}"[:200])
    return wrong


def _run() -> sf.Optimizer:
    arms = sf.Arms(torch.linspace(0.0, 1.0, 11, dtype=torch.float64).unsqueeze(-1))
    optimizer = algorithms.robust_ucb(arms, sf.kernels.squared_exponential(0.2))
    for step in range(20):
        optimizer.tell(optimizer.ask(), float(np.sin(step)))
    return optimizer


def _damaged(content: bytes, kind: str, random: np.random.Generator) -> bytes:
    damaged, at = bytearray(content), int(random.integers(len(content)))
    length = int(random.integers(1, 40))
    match kind:
        case "bit":
            damaged[at] ^= 1 << int(random.integers(8))
        case "byte":
            damaged[at] = int(random.integers(256))
        case "cut":
            del damaged[at:]
        case "removed":
            del damaged[at : at + length]
        case "repeated":
            damaged[at:at] = damaged[at : at + length]
    return bytes(damaged)
