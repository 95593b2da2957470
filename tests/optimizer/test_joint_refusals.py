"""Invalid calls on a `Joint` space are refused, and change nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surefoot as sf
from support.joint_cases import JOINTS, KERNEL, LINE, build, either, every, inform, places, state


def check_refused(
    optimizer: sf.Optimizer, match: str, call: Callable[[sf.Optimizer], object], folder: Path
) -> None:
    """A call that is invalid input leaves everything as it was."""
    if isinstance(optimizer.space, sf.Joint) and len(optimizer.history) > 0:
        optimizer.ask(arms=LINE if isinstance(optimizer.space.design, sf.Box) else [0, 5])
    else:
        optimizer.ask()
    before = state(optimizer, folder)
    with pytest.raises(sf.InvalidInput, match=match):
        call(optimizer)
    assert state(optimizer, folder) == before


class TestRefusals:
    """What cannot be used is refused, and nothing has changed."""

    @pytest.mark.long
    @pytest.mark.parametrize("name", ["arms", "box", "arms-density"])
    def test_a_reward_without_the_environment_that_the_world_drew(
        self, name: str, tmp_path: Path
    ) -> None:
        x = places(JOINTS[name](), 2)[0]
        for call in (
            lambda o: o.tell(o.pending[0], 1.0),
            lambda o: o.tell(x[0], 1.0),
            lambda o: o.tell_all(x, [1.0, 2.0]),
        ):
            match = "with `observed=True`: pass `environment=z`"
            check_refused(inform(build(name, observed=True)), match, call, tmp_path)

    def test_a_design_without_an_environment(self, tmp_path: Path) -> None:
        for call in (
            lambda o: o.tell(3, 1.0),
            lambda o: o.expect(3),
            lambda o: o.forget(3),
            lambda o: o.tell_all([3, 4], [1.0, 2.0]),
        ):
            check_refused(inform(build("arms")), "pass `environment=z`", call, tmp_path)

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("z", "match"),
        [
            (0.5, r"none of the 3 values it can take \(the nearest is \[0\.4\]\)"),
            ([0.4, 0.4], r"shape \(2,\), expected \(1,\)"),
            ([[0.4]], r"expected \(1,\): pass `environment\.squeeze"),
            ([], r"expected \(1,\)"),
            (float("nan"), "NaN"),
            ([float("inf")], "infinite"),
            ("0.4", "type str"),
            ({"z": 0.4}, "`environment` is"),
            (1j, "`environment` has values of type complex"),
            (10**400, "`environment` is a list that cannot be made"),
        ],
        ids=repr,
    )
    @either
    def test_environments_that_are_none(
        self, z: Any, match: str, observed: bool, tmp_path: Path
    ) -> None:
        for call in (
            lambda o: o.tell(3, 1.0, environment=z),
            lambda o: o.tell(o.pending[0], 1.0, environment=z),
            lambda o: o.expect(3, z),
            lambda o: o.tell_all([3, 4], [1.0, 2.0], [0.4, z]),
        ):
            optimizer = inform(build("arms", observed=observed))
            check_refused(optimizer, match, call, tmp_path)

    @pytest.mark.parametrize("z", [1.1, -0.1, [2.0]], ids=repr)
    @pytest.mark.parametrize("name", ["arms-density", "box-density"])
    def test_environments_out_of_range(self, z: Any, name: str, tmp_path: Path) -> None:
        for call in (lambda o: o.tell([0.0], 1.0, z), lambda o: o.expect([0.0], z)):
            optimizer = build(name, observed=True)
            match = r"outside its range from \[0\.0\] to \[1\.0\]: give"
            check_refused(optimizer, match, call, tmp_path)

    @pytest.mark.long
    @pytest.mark.parametrize(
        "reward", [float("nan"), float("inf"), None, "1.0", True, [1.0, 2.0]], ids=repr
    )
    @pytest.mark.parametrize("name", ["arms", "box", "arms-density"])
    def test_rewards(self, name: str, reward: Any, tmp_path: Path) -> None:
        for call in (lambda o: o.tell(o.pending[0], reward), lambda o: o.tell([0.0], reward, 0.4)):
            check_refused(inform(build(name)), "reward", call, tmp_path)

    @pytest.mark.long
    @pytest.mark.parametrize(
        "where", [-1, 8, True, 1.5, "a", None, [0.123], [0.0, 0.0], [float("nan")]], ids=repr
    )
    def test_arms(self, where: Any, tmp_path: Path) -> None:
        for call in (
            lambda o: o.tell(where, 1.0, 0.4),
            lambda o: o.expect(where, 0.4),
            lambda o: o.forget(where, 0.4),
            lambda o: o.tell_all([0, where], [1.0, 2.0], [0.4, 0.4]),
        ):
            check_refused(inform(build("arms")), "arm|point", call, tmp_path)

    @pytest.mark.parametrize(
        "where", [0, "a", None, [1.1], [0.1, 0.2], [float("inf")], [[0.5]]], ids=repr
    )
    def test_points_of_a_box(self, where: Any, tmp_path: Path) -> None:
        for call in (lambda o: o.tell(where, 1.0, 0.4), lambda o: o.expect(where, 0.4)):
            check_refused(build("box"), "point", call, tmp_path)

    @pytest.mark.daily(4)
    @pytest.mark.parametrize(
        ("name", "among"),
        [
            ("arms", [8]),
            ("arms", [-1]),
            ("arms", []),
            ("arms", [[0.0]]),
            ("arms", 3),
            ("box", [[1.1]]),
            ("box", [[0.1, 0.2]]),
            ("box", [0.1, 0.2]),
            ("box", []),
        ],
    )
    def test_designs_to_choose_from(self, name: str, among: Any, tmp_path: Path) -> None:
        check_refused(inform(build(name)), "arm|point", lambda o: o.ask(arms=among), tmp_path)

    @pytest.mark.parametrize(
        ("points", "rewards", "environments"),
        [
            ([3, 4], [1.0], [0.4, 0.4]),
            ([3, 4], [1.0, 2.0], [0.4]),
            ([3, 4], [1.0, 2.0], [[0.4], [0.5]]),
            ([3, 9], [1.0, 2.0], [0.4, 0.4]),
            ([3, 4], [1.0, float("nan")], [0.4, 0.4]),
            ([3, 4], [1.0, 2.0], 0.4),
            ([3, 4], [1.0, 2.0], object()),
        ],
    )
    def test_many_at_once_are_all_refused(
        self, points: Any, rewards: Any, environments: Any, tmp_path: Path
    ) -> None:
        def call(optimizer: sf.Optimizer) -> None:
            optimizer.tell_all(points, rewards, environments)

        check_refused(inform(build("arms")), "expected|NaN|none of", call, tmp_path)

    @pytest.mark.daily(4)
    @pytest.mark.parametrize(
        "designs", [[0.1], [[0.1, 0.2]], [], [[float("nan")]], "ab", 3], ids=repr
    )
    @pytest.mark.parametrize("name", ["arms", "box", "arms-shifted"])
    def test_designs_to_assess(self, name: str, designs: Any, tmp_path: Path) -> None:
        check_refused(
            inform(build(name)), "designs", lambda o: o.belief().predict(designs), tmp_path
        )

    def test_what_to_recommend_by(self, tmp_path: Path) -> None:
        optimizer = inform(build("arms"))
        check_refused(optimizer, "`by`.*expected", lambda o: o.recommend(by="upper"), tmp_path)

    def test_a_query_of_another_optimiser(self, tmp_path: Path) -> None:
        plain = sf.Optimizer(sf.Arms(LINE), sf.Method(KERNEL)).ask()
        elsewhere = build("arms-density").ask()
        for query in (plain, elsewhere):
            other = sf.Query(77, query.point, query.arm, 1, query.environment)
            match = "pass `environment=z`|none of the 3"
            check_refused(build("arms"), match, lambda o, q=other: o.tell(q, 1.0), tmp_path)

    @pytest.mark.parametrize("space", [sf.Arms(LINE), sf.Box([0.0], [1.0])], ids=["arms", "box"])
    def test_an_environment_for_a_space_that_has_none(
        self, space: sf.Arms | sf.Box, tmp_path: Path
    ) -> None:
        for call in (
            lambda o: o.tell([0.0], 1.0, environment=0.4),
            lambda o: o.tell(o.pending[0], 1.0, environment=[0.4]),
            lambda o: o.expect([0.0], 0.4),
            lambda o: o.forget([0.0], 0.4),
            lambda o: o.tell_all([[0.0]], [1.0], [[0.4]]),
        ):
            optimizer = sf.Optimizer(space, sf.Method(KERNEL))
            check_refused(optimizer, r"has none: pass `Joint\(", call, tmp_path)

    @either
    @every
    def test_before_the_first_reward(self, name: str, observed: bool) -> None:
        optimizer = build(name, observed=observed)
        for call in (
            lambda: optimizer.recommend(),
            lambda: optimizer.belief().predict(LINE),
            lambda: optimizer.belief(),
            lambda: optimizer.ask(arms=[0] if "box" not in name else [[0.5]]),
        ):
            with pytest.raises(sf.NotReady, match="no rewards yet"):
                call()
