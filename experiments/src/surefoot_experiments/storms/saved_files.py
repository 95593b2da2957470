"""Damage the file of a saved run at random: each must be refused."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch

import surefoot as sf
from surefoot import algorithms
from surefoot_experiments.storms.damage import damaged


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
            kind, changed = damaged(content, random)
            if changed == content:
                continue
            path.write_bytes(changed)
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
