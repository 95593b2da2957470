"""Data frames as points: their items are columns, but rows are meant."""

import numpy as np
import pytest

import surefoot as sf

pandas = pytest.importorskip("pandas")
FRAME = pandas.DataFrame({"x": [0.1, 0.5, 0.9], "k": [1, 2, 3], "mode": ["a", "b", "a"]})
VALUES = pandas.Series([1.0, 2.0, 3.0])


def test_of_a_box():
    points = FRAME[["x", "k"]]
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [1.0, 5.0]), seed=0)
    optimizer.tell_all(points, VALUES)
    assert optimizer.history.sites.tolist() == points.to_numpy().tolist()
    assert optimizer.ask(arms=points).point.tolist() in points.to_numpy().tolist()
    assert sf.Arms(points).points.tolist() == points.to_numpy().tolist()


def test_of_named_parameters():
    space = sf.parameters.Space(
        {
            "x": sf.parameters.Float(0, 1),
            "k": sf.parameters.Int(1, 3),
            "mode": sf.parameters.Choice(["a", "b"]),
        }
    )
    optimizer = sf.algorithms.robust_ucb(space, seed=0)
    optimizer.tell_all(FRAME, VALUES)
    assert np.allclose(optimizer.history.rewards, VALUES)
    assert optimizer.ask(arms=FRAME).params in FRAME.to_dict("records")


def views(values: np.ndarray) -> list[np.ndarray]:
    """The same values in arrays that PyTorch does not take as they are, or warns of."""
    locked = values.copy()
    locked.flags.writeable = False
    big_endian, objects = values.astype(values.dtype.newbyteorder(">")), values.astype(object)
    return [values[::-1].copy()[::-1], np.asfortranarray(values), locked, big_endian, objects]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", range(5))
def test_of_any_layout(kind):
    points, rewards = (views(one.to_numpy())[kind] for one in (FRAME[["x", "k"]], VALUES))
    lower, upper = views(np.array([0.0, 0.0]))[kind], views(np.array([1.0, 5.0]))[kind]
    optimizer = sf.algorithms.robust_ucb(sf.Box(lower, upper), seed=0)
    optimizer.tell_all(points, rewards)
    assert optimizer.history.sites.tolist() == FRAME[["x", "k"]].to_numpy().tolist()
    assert optimizer.history.rewards.tolist() == VALUES.tolist()
    assert sf.Arms(points).points.tolist() == FRAME[["x", "k"]].to_numpy().tolist()
    assert sf.FiniteEnvironment(rewards).points[:, 0].tolist() == VALUES.tolist()


@pytest.mark.filterwarnings("error")
def test_of_columns_in_any_order():
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [5.0, 1.0]), seed=0)
    optimizer.tell_all(FRAME[["k", "x"]], VALUES[::-1])
    assert optimizer.history.sites.tolist() == FRAME[["k", "x"]].to_numpy().tolist()


@pytest.mark.parametrize("wrong", [True, "1", 1j, None])
def test_entries_that_are_no_numbers_are_refused(wrong):
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
    with pytest.raises(sf.InvalidInput, match="rewards"):
        optimizer.tell_all([[0.1], [0.2]], np.array([1.0, wrong], dtype=object))
    assert not len(optimizer.history.rewards)
