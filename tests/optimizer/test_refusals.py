"""Invalid calls are refused, and leave an optimiser as it was."""

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from support.plain_cells import BUILDS, Cell, drive
from surefoot.types import Query


def state(optimizer: sf.Optimizer, folder: Path) -> bytes:
    optimizer.save(folder / "state")
    return (folder / "state").read_bytes()


@cache
def pickled(space: str) -> bytes:
    """An optimiser after three rounds."""
    optimizer = Cell(space, "exact-huber").build()
    drive(optimizer, 3)
    return pickle.dumps(optimizer)


def check_refused(space: str, call: Callable[[sf.Optimizer], object], folder: Path) -> None:
    """A call that is invalid input leaves everything as it was."""
    optimizer = pickle.loads(pickled(space))
    before = state(optimizer, folder)
    with pytest.raises(sf.InvalidInput):
        call(optimizer)
    assert state(optimizer, folder) == before


class TestRefusals:
    """What cannot be used is refused, and nothing has changed."""

    @pytest.mark.daily(5)
    @pytest.mark.parametrize(
        "reward",
        [
            float("nan"),
            float("inf"),
            -float("inf"),
            None,
            "1.0",
            True,
            [1.0, 2.0],
            torch.ones(2),
            np.ones(0),
            1j,
            10**400,
        ],
        ids=lambda reward: repr(reward)[:20],
    )
    @pytest.mark.parametrize("space", ["arms", "box"])
    def test_rewards(self, space: str, reward: object, tmp_path: Path) -> None:
        optimizer = pickle.loads(pickled(space))
        query = optimizer.expect(optimizer.history.sites[0])
        before = state(optimizer, tmp_path)
        with pytest.raises(sf.InvalidInput, match="reward"):
            optimizer.tell(query, reward)
        assert state(optimizer, tmp_path) == before

    @pytest.mark.daily(4)
    @pytest.mark.parametrize(
        "where",
        [-1, 20, True, 1.5, "a", None, [0.1, 0.2], [float("nan")], [0.12345], torch.ones(1, 1)],
        ids=repr,
    )
    def test_arms(self, where: object, tmp_path: Path) -> None:
        for call in (lambda o: o.tell(where, 1.0), lambda o: o.forget(where)):
            check_refused("arms", call, tmp_path)

    @pytest.mark.daily(4)
    @pytest.mark.parametrize(
        "where",
        [0, 1.5, "a", None, [0.1], [0.1, float("inf")], [2.0, 20.0], torch.ones(1, 2), [0.1, 1.0]],
        ids=repr,
    )
    def test_points_of_a_box(self, where: object, tmp_path: Path) -> None:
        for call in (lambda o: o.tell(where, 1.0), lambda o: o.expect(where)):
            check_refused("box", call, tmp_path)

    @pytest.mark.parametrize(
        ("points", "rewards"),
        [
            ([[0.1, 20.0], [0.2, 20.0]], [1.0, float("nan")]),
            ([[0.1, 20.0], [9.0, 20.0]], [1.0, 2.0]),
            ([[0.1, 20.0]], [1.0, 2.0]),
            ([[0.1, 20.0], [0.2, 20.0]], [[1.0], [2.0]]),
        ],
    )
    def test_many_at_once_are_all_refused(
        self, points: list, rewards: list, tmp_path: Path
    ) -> None:
        check_refused("box", lambda o: o.tell_all(points, rewards), tmp_path)

    def test_a_query_of_another_optimiser(self) -> None:
        one, other = Cell("line", "exact-huber").build(), Cell("box", "exact-huber").build()
        one.ask()
        with pytest.raises(sf.InvalidInput):
            one.tell(other.ask(), 1.0)
        assert len(one.pending) == 1
        with pytest.raises(sf.InvalidInput):
            one.tell(Query(0, torch.tensor([77.0], dtype=torch.float64)), 1.0)

    def test_before_the_first_reward(self) -> None:
        for part in BUILDS:
            optimizer = Cell("arms", part).build()
            with pytest.raises(sf.NotReady, match="tell"):
                optimizer.recommend()
            with pytest.raises(sf.NotReady, match="tell"):
                optimizer.belief()
