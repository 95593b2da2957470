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
