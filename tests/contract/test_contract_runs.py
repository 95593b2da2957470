"""Runs: reproducible, undisturbed by being looked at, and the same after saving and loading."""

import copy
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from contract_table import PAIRS, TABULAR, Cell, Play, belief, cells, possible, takes_long

import surefoot as sf

EVERY = cells(PAIRS, slow=takes_long)


def rounds(cell: Cell) -> int:
    if cell.space in TABULAR:
        return 15 // cell.batch
    return 7 if cell.batch == 1 else 3


@cache
def undisturbed(cell: Cell) -> list[list[float]]:
    """What is asked in a run that nobody looks at."""
    return Play(cell.build(), cell.batch).rounds(rounds(cell))


def look(optimizer: sf.Optimizer, path: Path, thoroughly: bool = True) -> None:
    """Use everything that only looks."""
    optimizer.save(path)
    _ = optimizer.weights, optimizer.width, optimizer.pending, belief(optimizer)
    if thoroughly:
        optimizer.recommend(), optimizer.recommend("lower")
        if isinstance(optimizer.space, sf.Joint):
            design = optimizer.space.design
            some = design.points if isinstance(design, sf.Arms) else design.lower[None]
            optimizer.assess(some)


@pytest.mark.parametrize("cell", EVERY)
def test_a_run_is_reproducible_of_the_space_and_finite(cell: Cell) -> None:
    play = Play(cell.build(), cell.batch)
    assert play.rounds(rounds(cell)) == undisturbed(cell)
    optimizer = play.optimizer
    for query in optimizer.ask_batch(2):
        assert possible(optimizer.space, query)
    found = optimizer.recommend()
    assert found.lower <= found.value <= found.upper
    assert np.isfinite([found.value, found.lower, found.upper]).all()
    mean, variance = belief(optimizer)
    assert bool(torch.isfinite(mean).all())
    assert bool(torch.isfinite(variance).all())
    assert bool((variance >= 0.0).all())
    weights = optimizer.weights
    assert weights.shape == optimizer.history.rewards.shape
    assert bool(((weights >= 0.0) & (weights <= 1.0)).all())


@pytest.mark.parametrize("cell", EVERY)
def test_looking_changes_nothing(cell: Cell, tmp_path: Path) -> None:
    play, seen = Play(cell.build(), cell.batch), []
    for turn in range(rounds(cell)):
        seen += play.round()
        look(play.optimizer, tmp_path / "run", cell.space in TABULAR or turn % 3 == 1)
    assert seen == undisturbed(cell)


@pytest.mark.parametrize("cell", EVERY)
def test_a_loaded_optimiser_goes_on_with_the_same_run(cell: Cell, tmp_path: Path) -> None:
    play, seen = Play(cell.build(), cell.batch), []
    for turn in range(rounds(cell)):
        seen += play.round()
        if turn % 2 == 0:
            play.optimizer = cell.reloaded(play.optimizer, tmp_path / "run")
    assert seen == undisturbed(cell)


@pytest.mark.parametrize("cell", cells(PAIRS[::3], slow=takes_long))
def test_a_copy_goes_on_with_the_same_run(cell: Cell) -> None:
    play, half = Play(cell.build(), cell.batch), rounds(cell) // 2
    seen = play.rounds(half)
    for copied in (copy.deepcopy(play), pickle.loads(pickle.dumps(play))):
        assert seen + copied.rounds(rounds(cell) - half) == undisturbed(cell)


@pytest.mark.parametrize("cell", EVERY)
def test_what_is_saved_twice_is_the_same(cell: Cell, tmp_path: Path) -> None:
    play = Play(cell.build(), cell.batch)
    play.rounds(rounds(cell) // 2)
    for name in ("first", "second"):
        play.optimizer.save(tmp_path / name)
    assert (tmp_path / "second").read_bytes() == (tmp_path / "first").read_bytes()
