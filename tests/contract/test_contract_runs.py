"""Runs: reproducible, undisturbed by being looked at, and the same after saving and loading."""

import copy
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from support.contract_table import (
    PAIRS,
    TABULAR,
    Cell,
    Play,
    belief,
    cells,
    locations,
    numbers,
    of_design,
)
from surefoot.types import OBJECTIVE, Measurement

ESTIMANDS: tuple[sf.acquisition.Estimand, ...] = ("location", "median", "mean")

# By module, so that all tests of a cell share one undisturbed run.
every = pytest.mark.parametrize("cell", cells(PAIRS), scope="module")
some = pytest.mark.parametrize("cell", cells(PAIRS[::4]), scope="module")


def rounds(cell: Cell) -> int:
    if cell.space in TABULAR:
        return 9 // cell.batch
    return 5 if cell.batch == 1 else 3


@cache
def undisturbed(cell: Cell) -> list[list[float]]:
    """What is asked in a run that nobody looks at."""
    return Play(cell.build(), cell.batch).rounds(rounds(cell))


def look(optimizer: sf.Optimizer, path: Path, thoroughly: bool = True) -> None:
    """Use everything that only looks."""
    optimizer.save(path)
    _ = optimizer.belief().weights, optimizer.width, optimizer.pending, belief(optimizer)
    if thoroughly:
        optimizer.recommend(), optimizer.recommend("lower"), optimizer.recommend(estimand="mean")
        numbers(optimizer.belief())
        further = locations(optimizer.space, 2, seed=4)
        optimizer.belief([Measurement(x, {OBJECTIVE: 1.0}, z) for x, z in further])


@pytest.mark.daily(6)
@every
def test_a_run_is_the_same_when_it_is_looked_at_saved_and_loaded(
    cell: Cell, tmp_path: Path
) -> None:
    """Looked at after odd rounds, saved and loaded after even ones."""
    play, seen = Play(cell.build(), cell.batch), []
    for turn in range(rounds(cell)):
        seen += play.round()
        if turn % 2 == 1:
            look(play.optimizer, tmp_path / "run", cell.space in TABULAR or turn % 3 == 1)
            continue
        loaded = cell.reloaded(play.optimizer, tmp_path / "run")
        for name, optimizer in (("again", play.optimizer), ("loaded", loaded)):
            optimizer.save(tmp_path / name)
            assert (tmp_path / name).read_bytes() == (tmp_path / "run").read_bytes()
        play.optimizer = loaded
    assert seen == undisturbed(cell)
    check_finite(play.optimizer)


def check_finite(optimizer: sf.Optimizer) -> None:
    """The recommendation is of the space, and the same for each estimand; numbers are finite."""
    points = []
    for estimand in ESTIMANDS:
        found = optimizer.recommend(estimand=estimand)
        points.append(found.point)
        assert of_design(optimizer.space, found.point, found.arm)
        assert found.lower <= found.value <= found.upper
        assert np.isfinite([found.value, found.lower, found.upper]).all()
    assert all(torch.equal(point, points[0]) for point in points)
    assert optimizer.belief().outcome.residuals.shape == optimizer.history.rewards.shape
    mean, variance = belief(optimizer)
    assert bool(torch.isfinite(mean).all())
    assert bool(torch.isfinite(variance).all())
    assert bool((variance >= 0.0).all())
    weights = optimizer.belief().weights
    assert weights.shape == optimizer.history.rewards.shape
    assert bool(((weights >= 0.0) & (weights <= 1.0)).all())


@pytest.mark.daily(1)
@every
def test_later_measurements_do_not_change_a_belief(cell: Cell) -> None:
    """What it says then, for the first time, is what a copy of it said before."""
    play = Play(cell.build(), cell.batch)
    play.rounds(1 + (cell.batch == 1))
    known = play.optimizer.belief()
    before = numbers(copy.deepcopy(known))
    play.rounds(2)
    play.optimizer.recommend()
    after = numbers(known)
    assert len(after["rewards"]) < len(play.optimizer.history)
    for name, value in before.items():
        assert torch.equal(after[name], value), name


@pytest.mark.long
@some
def test_a_copy_goes_on_with_the_same_run(cell: Cell) -> None:
    play, half = Play(cell.build(), cell.batch), rounds(cell) // 2
    seen = play.rounds(half)
    for copied in (copy.deepcopy(play), pickle.loads(pickle.dumps(play))):
        assert seen + copied.rounds(rounds(cell) - half) == undisturbed(cell)
