"""Runs on a `Joint` space from a file."""

import pickle
from pathlib import Path

import pytest
import torch

import surefoot as sf
from support.joint_cases import (
    DENSITY,
    JOINTS,
    LINE,
    VALUES,
    build,
    drive,
    either,
    finite,
    inform,
    of_the_space,
    places,
    state,
)
from surefoot.algorithms import v_ucb

IN_A_FILE = ["arms", "bare", "box"]


def again(path: Path, optimizer: sf.Optimizer, name: str) -> sf.Optimizer:
    """The optimiser from its file, with the space where that cannot be in it."""
    optimizer.save(path)
    if name in IN_A_FILE:
        return sf.Optimizer.load(path)
    return sf.Optimizer.load(path, space=JOINTS[name](observed=optimizer.space.observed))


class TestSaving:
    """The same run from a file."""

    @pytest.mark.daily(1)
    @either
    @pytest.mark.parametrize(
        "name",
        ["arms-density", "arms-shifted", "box-shifted"],
    )
    def test_a_loaded_optimiser_goes_on_with_the_same_run(
        self, name: str, observed: bool, tmp_path: Path
    ) -> None:
        optimizer = build(name, observed=observed, estimator=sf.Huber())
        waiting = optimizer.ask_batch(3)
        optimizer.tell(waiting[1], 1.0, places(optimizer.space, 1)[1][0])
        optimizer.forget(waiting[2], failed="arms" in name)
        loaded = again(tmp_path / "run", optimizer, name)
        assert [q.id for q in loaded.pending] == [waiting[0].id]
        assert of_the_space(loaded.space, loaded.pending[0])
        assert state(loaded, tmp_path) == state(optimizer, tmp_path)
        designs = [[0.0], [1.0]] if name == "bare" else LINE
        for ours, theirs in zip(
            loaded.belief().predict(designs), optimizer.belief().predict(designs), strict=True
        ):
            assert torch.equal(ours, theirs)
        assert loaded.recommend().arm == optimizer.recommend().arm
        rounds = 1 if "box" in name else 5
        assert drive(loaded, rounds) == drive(optimizer, rounds)

    def test_a_learnt_kernel_is_in_the_file(self, tmp_path: Path) -> None:
        optimizer = inform(v_ucb(JOINTS["box"](), level=0.3), 15)
        optimizer.ask()
        loaded = again(tmp_path / "run", optimizer, "box")
        assert drive(loaded, 1) == drive(optimizer, 1)

    @pytest.mark.parametrize("name", ["arms-density", "arms-shifted", "box-density", "box-shifted"])
    def test_a_density_or_a_function_must_be_passed_again(self, name: str, tmp_path: Path) -> None:
        optimizer = inform(build(name))
        optimizer.save(tmp_path / "run")
        with pytest.raises(sf.InvalidInput, match=r"pass it again.*load\(path, space=\.\.\.\)"):
            sf.Optimizer.load(tmp_path / "run")

    def test_a_space_of_another_shape_is_refused(self, tmp_path: Path) -> None:
        inform(build("arms-density")).save(tmp_path / "run")
        other = sf.Joint(sf.Box([0.0, 0.0], [1.0, 1.0]), DENSITY)
        with pytest.raises(sf.InvalidInput, match="space"):
            sf.Optimizer.load(tmp_path / "run", space=other)

    @pytest.mark.daily(4)
    @pytest.mark.parametrize(
        ("name", "other", "said"),
        [
            ("box-density", sf.Joint(sf.Box([0.0], [0.1]), DENSITY), r"its design\.upper differ"),
            ("box-density", sf.Joint(sf.Arms(LINE), finite()), r"kind of design \(Box and Arms\)"),
            ("box-density", sf.Joint(sf.Box([0.0], [1.0]), finite()), "kind of environment"),
            ("box-density", JOINTS["box-density"](observed=True), "its observed differ"),
            ("box-density", JOINTS["box-shifted"](), "its perturbation differ"),
            ("box-density", sf.Box([0.0], [1.0]), r"kind \(Joint and Box\)"),
            ("box-density", "box", "expected `Arms`, `Box`, `parameters.Space` or `Joint`"),
            ("arms", sf.Joint(sf.Arms(LINE[:4]), finite()), r"its design\.points differ"),
            (
                "arms",
                sf.Joint(sf.Arms(LINE), sf.FiniteEnvironment([0.0, 1.0])),
                r"environment\.points",
            ),
        ],
    )
    def test_another_space_is_refused(
        self, name: str, other: object, said: str, tmp_path: Path
    ) -> None:
        inform(build(name)).save(tmp_path / "run")
        with pytest.raises(sf.InvalidInput, match=said):
            sf.Optimizer.load(tmp_path / "run", space=other)

    def test_the_world_may_have_become_another(self, tmp_path: Path) -> None:
        inform(build("arms")).save(tmp_path / "run")
        other = sf.Joint(sf.Arms(LINE), sf.FiniteEnvironment(VALUES, [0.1, 0.1, 0.8]))
        loaded = sf.Optimizer.load(tmp_path / "run", space=other)
        assert loaded.space.environment.weights.tolist() == pytest.approx([0.1, 0.1, 0.8])
        assert loaded.recommend().arm is not None

    @pytest.mark.parametrize("name", ["arms-density", "box-shifted"])
    def test_a_pickled_optimiser_goes_on_with_the_same_run(self, name: str) -> None:
        optimizer = inform(build(name))
        copy = pickle.loads(pickle.dumps(optimizer))
        assert drive(copy, 1) == drive(optimizer, 1)

    @pytest.mark.parametrize("name", ["arms-density", "arms-shifted", "box-shifted"])
    def test_saving_changes_nothing(self, name: str, tmp_path: Path) -> None:
        optimizer = inform(build(name))
        assert state(optimizer, tmp_path) == state(optimizer, tmp_path)
