"""Designs beside an environment: what an optimiser on a `Joint` keeps to, and what it refuses."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Distribution, Normal, Uniform, constraints

import surefoot as sf
from kernel_cases import table
from reference import covariance, gaussian_process
from reference import risk as reference
from surefoot import algorithms
from surefoot.acquisition import NoisyExpectedImprovement, RiskKnowledgeGradient, ScorePolicy
from surefoot.algorithms import cvar_ucb, stable_opt, v_ucb
from surefoot.risks import Risk
from surefoot.spaces.environments import truncated_normal

LINE = torch.linspace(0.0, 1.0, 8, dtype=torch.float64).unsqueeze(-1)
MASSES = np.array([2, 5, 3])
VALUES = [0.0, 0.4, 1.0]
DENSITY = sf.ContinuousEnvironment(truncated_normal(0.5, 0.2, 0.0, 1.0))
NOISE = sf.ContinuousEnvironment(Uniform(-0.1, 0.1))
TABLE = table(4)
MOMENT = sf.Moment(1.0, 100.0)
RIDGE = 0.1


def finite() -> sf.FiniteEnvironment:
    return sf.FiniteEnvironment(VALUES, MASSES / 10)


def shifted(x: Tensor, z: Tensor) -> Tensor:
    """The design that comes of x under control noise z."""
    return x + z


JOINTS: dict[str, Callable[..., sf.Joint]] = {
    "arms": lambda **kind: sf.Joint(sf.Arms(LINE), finite(), **kind),
    "bare": lambda **kind: sf.Joint(sf.Arms(4), finite(), **kind),
    "arms-density": lambda **kind: sf.Joint(sf.Arms(LINE), DENSITY, **kind),
    "arms-shifted": lambda **kind: sf.Joint(sf.Arms(LINE), NOISE, perturbation=shifted, **kind),
    "box": lambda **kind: sf.Joint(sf.Box([0.0], [1.0]), finite(), **kind),
    "box-density": lambda **kind: sf.Joint(sf.Box([0.0], [1.0]), DENSITY, **kind),
    "box-shifted": lambda **kind: sf.Joint(
        sf.Box([0.0], [1.0]), NOISE, perturbation=shifted, **kind
    ),
}
IN_A_FILE = ["arms", "bare", "box"]

every = pytest.mark.parametrize("name", JOINTS)
either = pytest.mark.parametrize("observed", [False, True], ids=["chosen", "observed"])


def build(name: str, seed: int = 0, observed: bool = False, **parts: Any) -> sf.Optimizer:
    kernel = sf.kernels.squared_exponential(0.3)
    if name == "bare":
        kernel = sf.kernels.precomputed(TABLE)
    given = {"risk": sf.VaR(0.3), "policy": ScorePolicy(values=16), "ridge": RIDGE, **parts}
    return sf.Optimizer(JOINTS[name](observed=observed), kernel, seed=seed, **given)


def places(joint: sf.Joint, number: int, seed: int = 3) -> tuple[Tensor, Tensor]:
    """Designs (number, dx) and environments (number, dz), some designs more than once."""
    generator = torch.Generator().manual_seed(seed)
    z = joint.environment.sample(number, generator)
    if isinstance(joint.design, sf.Box):
        return joint.design.sample(number, generator), z
    arms = torch.randint(len(joint.design), (number,), generator=generator)
    return joint.design.points[arms], z


def noisy(x: Tensor, z: Tensor, step: int, spike: float = 20.0) -> float:
    """A reward that is a function of the pair and the step alone; every 7th has a spike."""
    wave = float(torch.sin(5.0 * x.sum() + 3.0 * z.sum()) + 0.1 * np.sin(97.0 * step))
    return wave + (spike if step % 7 == 6 else 0.0)


def inform(optimizer: sf.Optimizer, number: int = 6, spike: float = 20.0) -> sf.Optimizer:
    """Tell rewards of pairs that were not asked for."""
    x, z = places(optimizer.space, number)
    rewards = [noisy(*pair, step, spike) for step, pair in enumerate(zip(x, z, strict=True))]
    optimizer.tell_all(x, rewards, z)
    return optimizer


def drive(optimizer: sf.Optimizer, rounds: int, first: int = 0) -> list[list[float]]:
    """Ask and tell so many rounds; the designs and environments."""
    asked = []
    for step in range(first, first + rounds):
        query = optimizer.ask()
        z, told = query.environment, None
        if z is None:
            generator = torch.Generator().manual_seed(step)
            z = told = optimizer.space.environment.sample(1, generator)[0]
        asked.append([*query.point.tolist(), *z.tolist()])
        optimizer.tell(query, noisy(query.point, z, step), told)
    return asked


def of_the_space(joint: sf.Joint, query: sf.Query) -> bool:
    """Whether the query is of a design, and of an environment unless the world draws it."""
    design, environment, z = joint.design, joint.environment, query.environment
    if isinstance(design, sf.Arms):
        right = query.arm is not None and torch.equal(design.points[query.arm], query.point)
    else:
        right = query.arm is None and design.contains(query.point)
    if joint.observed:
        return right and z is None
    if isinstance(environment, sf.FiniteEnvironment):
        index = (environment.points == z).all(-1)
        return right and bool(index.any()) and float(environment.weights[index]) > 0.0
    return right and bool(((z >= environment.lower) & (z <= environment.upper)).all())


def state(optimizer: sf.Optimizer, folder: Path) -> bytes:
    optimizer.save(folder / "state")
    return (folder / "state").read_bytes()


def again(path: Path, optimizer: sf.Optimizer, name: str) -> sf.Optimizer:
    """The optimiser from its file, with the space where that cannot be in it."""
    optimizer.save(path)
    if name in IN_A_FILE:
        return sf.Optimizer.load(path)
    return sf.Optimizer.load(path, space=JOINTS[name](observed=optimizer.space.observed))


class TestAsking:
    """What a query is."""

    @either
    @every
    def test_every_query_is_of_the_space(self, name: str, observed: bool) -> None:
        optimizer = build(name, observed=observed)
        assert of_the_space(optimizer.space, optimizer.ask())
        inform(optimizer)
        for query in optimizer.ask_batch(1 if "box" in name else 3):
            assert of_the_space(optimizer.space, query)

    @either
    @every
    def test_the_same_seed_gives_the_same_run(self, name: str, observed: bool) -> None:
        rounds = 2 if "box" in name else 5
        left, right = (drive(build(name, observed=observed), rounds) for _ in range(2))
        assert left == right

    @pytest.mark.parametrize("name", ["box", "box-density"])
    def test_another_seed_gives_another_run(self, name: str) -> None:
        assert drive(build(name, 0), 2) != drive(build(name, 1), 2)

    @pytest.mark.parametrize("name", ["arms", "arms-density", "box-density"])
    def test_looking_changes_nothing(self, name: str) -> None:
        watched, alone = inform(build(name)), inform(build(name))
        _ = watched.recommend(), watched.recommend(by="lower"), watched.width, watched.weights
        watched.assess(LINE)
        assert drive(watched, 1) == drive(alone, 1)

    def test_first_points_are_spread_over_designs(self) -> None:
        queries = build("arms", initial=8).ask_batch(8)
        assert sorted(query.arm for query in queries) == [*range(8)]

    @pytest.mark.parametrize("name", ["arms", "bare", "arms-shifted"])
    def test_only_the_arms_that_are_listed(self, name: str) -> None:
        optimizer = inform(build(name))
        for query in (optimizer.ask(arms=[2, 1]), optimizer.ask(arms=torch.tensor([1, 2]))):
            assert query.arm in (1, 2)
            assert of_the_space(optimizer.space, query)
        assert optimizer.ask(arms=[3]).arm == 3

    @pytest.mark.parametrize("name", ["box", "box-density"])
    def test_only_the_designs_that_are_listed(self, name: str) -> None:
        optimizer = inform(build(name))
        query = optimizer.ask(arms=[[0.123], [0.456]])
        assert query.point.tolist() in ([0.123], [0.456])
        assert of_the_space(optimizer.space, query)

    def test_of_the_designs_listed_the_one_of_largest_upper_bound(self) -> None:
        optimizer = inform(build("arms"))
        _, _, upper = optimizer.assess(LINE)
        among = [0, 3, 5, 6]
        assert optimizer.ask(arms=among).arm == among[int(upper[among].argmax())]

    @pytest.mark.parametrize("name", ["arms", "arms-density", "box"])
    def test_a_batch_is_spread_out(self, name: str) -> None:
        optimizer = inform(build(name))
        pairs = [
            torch.cat([query.point, query.environment])
            for query in (optimizer.ask_batch(4) if name == "box" else optimizer.ask_batch(8))
        ]
        apart: list[Tensor] = []
        for pair in pairs:
            if all(float((pair - other).norm()) > 0.02 for other in apart):
                apart.append(pair)
        assert len(apart) >= 3

    def test_a_batch_is_spread_out_where_the_world_draws_the_environment(self) -> None:
        queries = inform(build("arms", observed=True)).ask_batch(8)
        assert len({query.arm for query in queries}) >= 3

    def test_a_pair_that_is_being_measured_is_not_measured_more(self) -> None:
        optimizer = inform(build("arms"))
        query = optimizer.ask()
        for _ in range(200):
            optimizer.expect(query.arm, query.environment)
        second = optimizer.ask()
        assert [second.arm, *second.environment] != [query.arm, *query.environment]

    def test_measured_until_the_variance_has_fallen(self) -> None:
        """By 1 + n variance / ridge = 3, and never more often than all before."""
        optimizer = inform(build("arms", repeat_until=3.0), 4)
        repeats = []
        for step in range(14):
            posterior, told = optimizer.posterior, len(optimizer.history)
            query = optimizer.ask()
            pair = torch.cat([query.point, query.environment]).unsqueeze(0)
            wanted = int(np.ceil(2.0 * RIDGE / float(posterior.variance(pair))))
            assert query.repeats == max(1, min(wanted, told))
            repeats.append(query.repeats)
            for _ in range(query.repeats):
                assert [other.id for other in optimizer.pending] == [query.id]
                optimizer.tell(query, noisy(query.point, query.environment, step))
            assert optimizer.pending == []
        assert max(repeats) > 1
        assert len(optimizer.history) == 4 + sum(repeats)

    @pytest.mark.parametrize("name", ["arms", "arms-density", "box"])
    def test_failed_pairs_are_kept_away_from(self, name: str) -> None:
        optimizer = inform(build(name))
        failed, times = [], 2 if name == "box" else 5
        for _ in range(times):
            query = optimizer.ask()
            failed.append([*query.point.tolist(), *query.environment.tolist()])
            optimizer.forget(query)
        assert len({tuple(pair) for pair in failed}) == times
        assert optimizer.pending == []
        assert len(optimizer.history) == 6

    def test_a_query_given_up_without_failing_is_asked_again(self) -> None:
        optimizer = inform(build("arms"))
        query = optimizer.ask()
        optimizer.forget(query, failed=False)
        second = optimizer.ask()
        assert second.arm == query.arm
        assert torch.equal(second.environment, query.environment)

    @pytest.mark.parametrize("name", ["arms", "box", "box-density"])
    def test_every_measurement_so_far_has_failed(self, name: str) -> None:
        optimizer = build(name)
        for _ in range(10):
            query = optimizer.ask()
            assert of_the_space(optimizer.space, query)
            optimizer.forget(query)

    @either
    @pytest.mark.parametrize("name", ["arms", "box", "arms-density"])
    def test_changing_a_query_changes_nothing(self, name: str, observed: bool) -> None:
        joint = JOINTS[name](observed=observed)
        given = {"risk": sf.VaR(0.3), "policy": ScorePolicy(values=16), "ridge": RIDGE}
        optimizer = inform(sf.Optimizer(joint, sf.kernels.squared_exponential(0.3), **given))
        z = joint.environment.upper
        before = LINE.clone(), z.clone()
        for query in (optimizer.ask(), optimizer.expect([0.0], z)):
            query.point.add_(5.0)
            if query.environment is not None:
                query.environment.add_(5.0)
        if isinstance(optimizer.space.design, sf.Arms):
            assert torch.equal(optimizer.space.design.points, before[0])
            assert torch.equal(joint.design.points, before[0])
        assert torch.equal(optimizer.space.environment.upper, before[1])
        assert torch.equal(joint.environment.upper, before[1])


class TestTelling:
    """Rewards late, out of order, uncalled for, of several environments, and by whatever name."""

    @every
    def test_late_out_of_order_twice_and_uncalled_for(self, name: str) -> None:
        optimizer = build(name)
        first, second, third = optimizer.ask_batch(3)
        optimizer.tell(third, 1.0)
        optimizer.tell(first, 2.0)
        assert [query.id for query in optimizer.pending] == [second.id]
        optimizer.tell(third, 3.0)
        x, z = places(optimizer.space, 1, seed=11)
        optimizer.tell(x[0], 4.0, z[0])
        optimizer.tell(second, 5.0)
        assert optimizer.pending == []
        assert optimizer.history.rewards.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]

    @every
    def test_several_environments_for_one_design(self, name: str) -> None:
        optimizer = build(name, observed=True)
        query = optimizer.ask()
        z = optimizer.space.environment.sample(5, torch.Generator().manual_seed(1))
        for step, value in enumerate(z):
            optimizer.tell(query, noisy(query.point, value, step), value)
            assert optimizer.pending == []
        assert len(optimizer.history) == 5
        assert optimizer.recommend().arm == query.arm

    def test_a_query_may_be_told_under_another_environment(self) -> None:
        optimizer = build("arms")
        query = optimizer.expect(3, 0.4)
        optimizer.tell(query, 1.0, environment=[1.0])
        assert optimizer.pending == []
        assert torch.equal(optimizer.history.sites[0], torch.stack([LINE[3, 0], torch.tensor(1.0)]))

    @pytest.mark.parametrize("where", [5, np.int64(5), torch.tensor(5), LINE[5]], ids=repr)
    def test_a_design_by_its_index_or_its_point(self, where: object) -> None:
        optimizer = build("arms")
        optimizer.tell(where, 1.0, 0.4)
        found = optimizer.recommend()
        assert found.arm == 5
        assert torch.equal(found.point, LINE[5])

    @pytest.mark.parametrize(
        "z",
        [
            0.5,
            1,
            [0.5],
            (1,),
            np.float32(0.5),
            np.int64(1),
            np.array(0.5),
            np.array([0.5]),
            torch.tensor(0.5),
            torch.tensor([0.5]),
            torch.tensor(1),
        ],
        ids=repr,
    )
    def test_an_environment_of_one_coordinate_by_any_kind_of_number(self, z: object) -> None:
        for environment in (sf.FiniteEnvironment([0.0, 0.5, 1.0]), DENSITY):
            joint = sf.Joint(sf.Arms(LINE), environment)
            optimizer = sf.Optimizer(joint, sf.kernels.linear(), risk=sf.VaR(0.3))
            optimizer.tell(0, 1.0, z)
            assert float(optimizer.history.sites[0, 1]) in (0.5, 1.0)

    def test_values_of_very_different_sizes_are_told_apart(self) -> None:
        values = [1e-9, 1e-6, 1e-3, 1.0, 1e3]
        joint = sf.Joint(sf.Arms(LINE), sf.FiniteEnvironment(values))
        optimizer = sf.Optimizer(joint, sf.kernels.linear(), risk=sf.VaR(0.3))
        for z in values:
            optimizer.tell(0, 1.0, z)
        assert optimizer.history.sites[:, 1].tolist() == values

    @either
    def test_all_that_the_world_may_draw_can_be_told(self, observed: bool) -> None:
        """Of 20,000 values of a normal, one in three thousand lies beyond those looked at first."""
        environment = sf.ContinuousEnvironment(Normal(0.0, 1.0))
        drawn = environment.sample(20_000, torch.Generator().manual_seed(5))
        joint = sf.Joint(sf.Arms(LINE), environment, observed=observed)
        optimizer = sf.Optimizer(joint, sf.kernels.squared_exponential(1.0), risk=sf.VaR(0.3))
        for z in (drawn.min(), drawn.max()):
            optimizer.tell(0, 1.0, z)
        assert len(optimizer.history) == 2

    def test_the_pair_of_a_query_settles_it_and_another_environment_does_not(self) -> None:
        optimizer = build("arms")
        query = optimizer.expect(3, 0.4)
        optimizer.tell(3, 1.0, environment=1.0)
        assert [other.id for other in optimizer.pending] == [query.id]
        optimizer.tell(3, 1.0, environment=0.4)
        assert optimizer.pending == []

    def test_the_design_of_a_query_settles_it_where_the_world_draws_the_environment(self) -> None:
        optimizer = build("arms", observed=True)
        query = optimizer.ask()
        optimizer.tell((query.arm + 1) % 8, 1.0, environment=0.4)
        assert len(optimizer.pending) == 1
        optimizer.tell(query.arm, 1.0, environment=1.0)
        assert optimizer.pending == []

    def test_one_expected_is_pending(self) -> None:
        optimizer = inform(build("arms"))
        expected = optimizer.expect(3, 0.4)
        assert of_the_space(optimizer.space, expected)
        asked = optimizer.ask()
        assert [query.id for query in optimizer.pending] == [expected.id, asked.id]
        optimizer.tell(expected, 1.0)
        assert [query.id for query in optimizer.pending] == [asked.id]

    @pytest.mark.parametrize("name", ["arms", "bare", "box", "arms-shifted"])
    def test_one_by_one_is_all_at_once(self, name: str) -> None:
        slowly, at_once = build(name), inform(build(name), 12)
        x, z = places(slowly.space, 12)
        for step in range(12):
            slowly.tell(x[step], noisy(x[step], z[step], step), z[step])
        points = slowly.space.seen.lower + torch.rand(9, slowly.space.seen.dimension).double()
        if name == "bare":
            points = slowly.space.seen.points
        for one, other in zip(
            slowly.posterior.mean_and_deviation(points),
            at_once.posterior.mean_and_deviation(points),
            strict=True,
        ):
            torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)

    def test_many_queries_at_once(self) -> None:
        optimizer = build("arms")
        optimizer.tell_all(optimizer.ask_batch(3), [1.0, 2.0, 3.0])
        assert optimizer.pending == []
        observed = build("arms", observed=True)
        observed.tell_all(observed.ask_batch(3), [1.0, 2.0, 3.0], [[0.0], [0.4], [1.0]])
        assert observed.pending == []
        assert observed.history.sites[:, 1].tolist() == [0.0, 0.4, 1.0]

    @either
    def test_one_query_told_twice_at_once(self, observed: bool) -> None:
        optimizer = build("arms", observed=observed)
        query = optimizer.ask()
        z = [0.4] if observed else query.environment
        optimizer.tell_all([query, query], [1.0, 2.0], [z, z])
        assert optimizer.pending == []
        second = optimizer.ask()
        z = [0.4] if observed else second.environment
        optimizer.tell_all([second.arm, second.arm], [1.0, 2.0], [z, z])
        assert optimizer.pending == []
        assert len(optimizer.history) == 4

    @pytest.mark.parametrize(
        ("name", "features"),
        [
            ("arms", sf.Exact()),
            ("arms-density", sf.Exact()),
            ("box", sf.Exact()),
            ("box-shifted", sf.Exact()),
            ("arms", sf.QuadratureFourier(16)),
            ("box", sf.QuadratureFourier(16)),
        ],
    )
    def test_the_order_of_tells_does_not_matter_to_least_squares(
        self, name: str, features: object
    ) -> None:
        forwards, backwards = build(name, features=features), build(name, features=features)
        x, z = places(forwards.space, 15)
        for step in range(15):
            for optimizer, turn in ((forwards, step), (backwards, 14 - step)):
                optimizer.tell(x[turn], noisy(x[turn], z[turn], turn), z[turn])
        for one, other in zip(forwards.assess(LINE), backwards.assess(LINE), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-7)


@dataclass
class Expected:
    """What is pending, by hand: ids, designs and environments in order of asking."""

    pending: list[sf.Query]
    rewards: int = 0

    def settle(self, arm: int, z: float, observed: bool) -> None:
        for query in self.pending:
            if query.arm == arm and (observed or float(query.environment) == z):
                self.pending.remove(query)
                return


STEPS = st.tuples(
    st.sampled_from(["ask", "expect", "first", "last", "again", "pair", "forget", "load"]),
    st.integers(0, 7),
    st.sampled_from([0.0, 0.4, 1.0]),
)


@pytest.mark.parametrize("observed", [False, True], ids=["chosen", "observed"])
@settings(max_examples=40, deadline=None, database=None, derandomize=True)
@given(steps=st.lists(STEPS, max_size=25))
def test_whatever_is_done_in_whatever_order(
    observed: bool, steps: list[tuple[str, int, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    optimizer, expected = build("arms", observed=observed), Expected([])
    told: list[sf.Query] = []
    designs: set[int] = set()

    def tell(query: sf.Query, z: float) -> None:
        optimizer.tell(query, z, z if observed else None)
        designs.add(query.arm)
        expected.rewards += 1

    for what, arm, z in steps:
        if what == "ask":
            expected.pending.append(optimizer.ask())
        elif what == "expect" and not observed:
            expected.pending.append(optimizer.expect(arm, z))
        elif what in ("first", "last") and expected.pending:
            query = expected.pending.pop(0 if what == "first" else -1)
            tell(query, z)
            told.append(query)
        elif what == "again" and told:
            tell(told[arm % len(told)], z)
        elif what == "pair":
            expected.settle(arm, z, observed)
            optimizer.tell(arm, z, z)
            designs.add(arm)
            expected.rewards += 1
        elif what == "forget" and expected.pending:
            optimizer.forget(expected.pending.pop(0), failed=arm > 3)
        elif what == "load":
            path = tmp_path_factory.mktemp("run") / "run"
            optimizer = again(path, optimizer, "arms")
        assert [q.id for q in optimizer.pending] == [q.id for q in expected.pending]
        assert len(optimizer.history) == expected.rewards
    assert of_the_space(optimizer.space, optimizer.ask())
    if designs:
        found = optimizer.recommend()
        assert found.arm in designs
        assert found.lower <= found.value <= found.upper


FORMULA = covariance.squared_exponential(np.array([0.3]))


class TestBelief:
    """The posterior is of the points that the model sees, and the risk is of that."""

    @pytest.mark.parametrize("name", JOINTS)
    def test_the_posterior_is_that_of_regression_on_what_is_seen(self, name: str) -> None:
        optimizer = inform(build(name), 15)
        joint = optimizer.space
        x, z = (part.numpy() for part in places(joint, 15))
        if name == "bare":
            pulled = 3.0 * x + (z == np.array(VALUES)).argmax(-1)[:, None]
            k = covariance.lookup(TABLE)
        else:
            pulled = x + z if name.endswith("shifted") else np.concatenate([x, z], 1)
            k = FORMULA
        rewards = optimizer.history.rewards.numpy()
        points = pulled[:7] + (0.0 if name == "bare" else 0.07)
        mean, variance = gaussian_process.exact(k, pulled, rewards, RIDGE, points)
        ours = optimizer.posterior.mean_and_deviation(torch.from_numpy(points))
        np.testing.assert_allclose(ours[0], mean, atol=1e-6)
        np.testing.assert_allclose(ours[1], np.sqrt(variance), atol=1e-6)

    @pytest.mark.parametrize("name", ["arms-shifted", "box-shifted"])
    def test_control_noise_is_seen_in_the_designs_own_coordinates(self, name: str) -> None:
        optimizer = inform(build(name))
        x, z = places(optimizer.space, 6)
        assert optimizer.space.seen.dimension == 1
        torch.testing.assert_close(optimizer.history.sites, x + z, rtol=0.0, atol=0.0)

    def test_noise_whose_size_depends_on_the_design(self) -> None:
        joint = sf.Joint(sf.Box([0.0], [1.0]), NOISE, perturbation=lambda x, z: x + x * z)
        kernel = sf.kernels.squared_exponential(0.3)
        optimizer = sf.Optimizer(joint, kernel, risk=sf.VaR(0.3), ridge=RIDGE)
        optimizer.tell([0.5], 1.0, 0.1)
        assert optimizer.history.sites.tolist() == [[0.55]]
        value, lower, upper = optimizer.assess([[0.0]])  # where there is none
        mean, deviation = optimizer.posterior.mean_and_deviation(torch.zeros(1, 1).double())
        reach = optimizer.width * deviation
        torch.testing.assert_close(value, mean)
        torch.testing.assert_close(
            torch.cat([lower, upper]), torch.cat([mean - reach, mean + reach])
        )

    @pytest.mark.parametrize("name", ["arms", "bare", "box"])
    @pytest.mark.parametrize(
        ("risk", "literal"),
        [
            (sf.VaR(0.3), lambda f: reference.var(f, MASSES, Fraction(3, 10))),
            (sf.CVaR(0.3), lambda f: reference.cvar(f, MASSES, Fraction(3, 10))),
            (sf.WorstCase(), lambda f: reference.worst_case(f, MASSES)),
            (sf.Mean(), lambda f: reference.mean(f, MASSES)),
        ],
        ids=["var", "cvar", "worst-case", "mean"],
    )
    def test_a_risk_is_that_of_the_bounds(
        self, name: str, risk: Risk, literal: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        optimizer = inform(build(name, risk=risk), 10)
        designs = torch.arange(4.0).double().unsqueeze(-1) if name == "bare" else LINE
        numbers = np.arange(12.0)[:, None]
        seen = np.array([[x, z] for x in LINE[:, 0].tolist() for z in VALUES])
        points = torch.from_numpy(numbers if name == "bare" else seen)
        mean, deviation = (
            part.numpy().reshape(-1, 3) for part in optimizer.posterior.mean_and_deviation(points)
        )
        reach = optimizer.width * deviation
        expected = [literal(values) for values in (mean, mean - reach, mean + reach)]
        for ours, theirs in zip(optimizer.assess(designs), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-8)

    @either
    @every
    def test_the_best_design_of_those_measured(self, name: str, observed: bool) -> None:
        optimizer = inform(build(name, observed=observed), 10)
        x, _ = places(optimizer.space, 10)
        value, lower, upper = optimizer.assess(x)
        assert bool(((lower <= value) & (value <= upper)).all())
        for by, score in (("mean", value), ("lower", lower)):
            found, best = optimizer.recommend(by=by), int(score.argmax())
            assert torch.equal(found.point, x[best])
            numbers = [float(part[best]) for part in (value, lower, upper)]
            assert [found.value, found.lower, found.upper] == pytest.approx(numbers)

    def test_the_safer_design_by_its_lower_bound(self) -> None:
        """One measured often and a little worse, one measured once."""
        optimizer = build("arms")
        for z in VALUES:
            optimizer.tell_all([0] * 30, [1.0] * 30, [[z]] * 30)
            optimizer.tell(7, 1.4, z)
        assert optimizer.recommend().arm == 7
        assert optimizer.recommend(by="lower").arm == 0

    @pytest.mark.parametrize("name", ["arms", "arms-density", "box", "box-shifted"])
    @pytest.mark.parametrize("estimator", [sf.LeastSquares(), sf.Huber()], ids=repr)
    def test_a_kernel_is_learnt(self, name: str, estimator: object) -> None:
        optimizer = v_ucb(JOINTS[name](), level=0.3, estimator=estimator)
        assert optimizer.hyperparameters is None
        inform(optimizer, 24, spike=0.0)
        assert of_the_space(optimizer.space, optimizer.ask())
        assert optimizer.hyperparameters is not None
        scales = optimizer.hyperparameters.kernel.base_kernel.lengthscale
        assert scales.numel() == optimizer.space.seen.dimension
        found = optimizer.recommend()
        assert found.lower <= found.value <= found.upper
        assert abs(found.value) < 1.5

    @pytest.mark.parametrize("name", ["arms", "box"])
    def test_a_kernel_is_learnt_where_the_environment_has_one_value(self, name: str) -> None:
        joint = sf.Joint(JOINTS[name]().design, sf.FiniteEnvironment([0.3]))
        optimizer = v_ucb(joint, level=0.3)
        x, z = places(joint, 12)
        optimizer.tell_all(x, [noisy(*pair, 0) for pair in zip(x, z, strict=True)], z)
        found = optimizer.recommend()
        assert found.lower <= found.value <= found.upper

    @pytest.mark.parametrize("algorithm", [cvar_ucb, v_ucb])
    def test_named_algorithms_run(self, algorithm: Callable[..., sf.Optimizer]) -> None:
        kernel = sf.kernels.squared_exponential(0.3)
        drive(algorithm(JOINTS["arms"](), kernel, level=0.3, ridge=RIDGE), 5)
        drive(stable_opt(JOINTS["arms"](), kernel, ridge=RIDGE), 5)


class TestSaving:
    """The same run from a file."""

    @either
    @every
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
        for ours, theirs in zip(loaded.assess(designs), optimizer.assess(designs), strict=True):
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

    @pytest.mark.parametrize(
        ("name", "other", "said"),
        [
            ("box-density", sf.Joint(sf.Box([0.0], [0.1]), DENSITY), r"its design\.upper differ"),
            ("box-density", sf.Joint(sf.Arms(LINE), finite()), r"kind of design \(Box and Arms\)"),
            ("box-density", sf.Joint(sf.Box([0.0], [1.0]), finite()), "kind of environment"),
            ("box-density", JOINTS["box-density"](observed=True), "its observed differ"),
            ("box-density", JOINTS["box-shifted"](), "its perturbation differ"),
            ("box-density", sf.Box([0.0], [1.0]), r"kind \(Joint and Box\)"),
            ("box-density", "box", "expected `Arms`, `Box` or `Joint`"),
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

    @pytest.mark.parametrize("name", ["arms", "box", "arms-density", "box-shifted"])
    def test_a_pickled_optimiser_goes_on_with_the_same_run(self, name: str) -> None:
        optimizer = inform(build(name))
        copy = pickle.loads(pickle.dumps(optimizer))
        assert drive(copy, 1) == drive(optimizer, 1)

    @every
    def test_saving_changes_nothing(self, name: str, tmp_path: Path) -> None:
        optimizer = inform(build(name))
        assert state(optimizer, tmp_path) == state(optimizer, tmp_path)


ESTIMATORS = [
    sf.LeastSquares(),
    sf.Huber(),
    sf.StudentT(),
    sf.Truncation(MOMENT),
    sf.AdaptiveTruncation(MOMENT),
    sf.MedianOfMeans(3),
]
FEATURES = {
    "exact": sf.Exact(),
    "nystrom": sf.Nystrom(sf.LeverageSampling(3.0)),
    "nystrom-adaptive": sf.Nystrom(sf.LeverageSampling(3.0, resample="adaptive")),
    "quadrature": sf.QuadratureFourier(16),
}


@pytest.mark.parametrize("name", ["arms", "box"])
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda part: type(part).__name__)
def test_compositions_run(name: str, features: str, estimator: object) -> None:
    """15 rounds, in the box mostly of designs that are listed, which takes less time."""
    optimizer = build(name, features=FEATURES[features], estimator=estimator)
    last = 14 if isinstance(estimator, sf.LeastSquares | sf.Huber) else 0
    for step in range(15):
        free = name == "arms" or step in (0, last)
        query = optimizer.ask() if free else optimizer.ask(arms=LINE)
        assert of_the_space(optimizer.space, query)
        info = optimizer.tell(query, noisy(query.point, query.environment, step))
        assert np.isfinite([info.width, info.information_gain]).all()
    value, lower, upper = optimizer.assess(LINE)
    assert bool(torch.isfinite(torch.stack([value, lower, upper])).all())
    assert bool(((lower <= value) & (value <= upper)).all())
    found = optimizer.recommend()
    assert found.lower <= found.value <= found.upper


class NoDensity(Distribution):
    """Can be drawn from, and nothing else."""

    support = constraints.interval(0.0, 1.0)
    arg_constraints: ClassVar[dict] = {}

    def __init__(self) -> None:
        super().__init__(torch.Size([1]), validate_args=False)

    def sample(self, sample_shape: torch.Size = torch.Size()) -> Tensor:
        return torch.rand(*sample_shape, 1, dtype=torch.float64)


class TestDistributionsWithoutADensity:
    """They will do where no value is chosen by its density."""

    def parts(self, observed: bool = False) -> tuple[sf.Joint, Kernel]:
        environment = sf.ContinuousEnvironment(NoDensity())
        joint = sf.Joint(sf.Arms(LINE), environment, observed=observed)
        return joint, sf.kernels.squared_exponential(0.3)

    def test_refused_where_values_are_chosen_by_it(self, tmp_path: Path) -> None:
        def choose() -> None:
            optimizer = v_ucb(*self.parts(), level=0.3, lacing="prob")
            optimizer.tell(0, 1.0, 0.5)
            before = state(optimizer, tmp_path)
            try:
                optimizer.ask()
            finally:
                assert state(optimizer, tmp_path) == before

        with pytest.raises(sf.InvalidInput, match=r'log_prob.*lacing="unif"'):
            choose()

    def test_any_lacing_value_can_be_asked(self) -> None:
        optimizer = v_ucb(*self.parts(), level=0.3, lacing="unif")
        for query_pair in drive(optimizer, 4):
            assert 0.0 <= query_pair[1] <= 1.0

    def test_none_is_needed_for_the_worst_case(self) -> None:
        drive(algorithms.stable_opt(*self.parts()), 4)

    def test_an_optimiser_of_parts_hears_which_policy_needs_none(self) -> None:
        named = r'NoDensity has no `log_prob`.*ScorePolicy\(lacing="unif"\)'
        refused(named, lambda: sf.Optimizer(*self.parts(), risk=sf.Mean()))

    def test_none_is_needed_where_the_world_draws(self) -> None:
        drive(v_ucb(*self.parts(observed=True), level=0.3), 4)


PERTURBATIONS: dict[str, object] = {
    "number": lambda x, z: x.sum(),
    "(n,)": lambda x, z: (x + z).squeeze(-1),
    "(1, d)": lambda x, z: (x + z)[:1],
    "(n, d, 1)": lambda x, z: (x + z)[..., None],
    "nan": lambda x, z: (x + z) * float("nan"),
    "none": lambda x, z: None,
    "numpy": lambda x, z: (x + z).numpy(),
    "index": lambda x, z: x[:, [3]] + z,
    "value": lambda x, z: np.linalg.inv(x.numpy()),
    "one-argument": lambda x: x,
    "no-function": 3,
}
LEVELS = [0, 1, -0.1, 1.5, float("nan"), float("inf"), "0.1", None, True]
KERNEL = sf.kernels.squared_exponential(0.3)


def refused(match: str, call: Callable[[], object]) -> None:
    with pytest.raises(sf.InvalidInput, match=f"(?s){match}"):
        call()


class TestRefusedParts:
    """What cannot be put together."""

    @pytest.mark.parametrize("level", LEVELS, ids=repr)
    def test_levels(self, level: Any) -> None:
        joint = JOINTS["arms"]()
        for call in (
            lambda: sf.VaR(level),
            lambda: sf.CVaR(level),
            lambda: v_ucb(joint, KERNEL, level=level),
            lambda: cvar_ucb(joint, KERNEL, level=level),
        ):
            refused("`level` is .* strictly between 0 and 1", call)

    @settings(max_examples=50, deadline=None, database=None, derandomize=True)
    @given(level=st.floats().filter(lambda level: not 0.0 < level < 1.0))
    def test_any_level_outside(self, level: float) -> None:
        refused("strictly between 0 and 1", lambda: sf.VaR(level))
        refused("strictly between 0 and 1", lambda: sf.CVaR(level))

    @pytest.mark.parametrize(
        ("weights", "match"),
        [
            ([0.5, 0.5], "2 `weights` came with 3 points.*pass 3"),
            ([0.5, 0.6, -0.1], "-0.1, expected probabilities of at least 0"),
            ([0.5, 0.6, 0.1], r"sum to 1\.2, expected 1: pass `weights / weights\.sum\(\)`"),
            ([0.0, 0.0, 0.0], "sum to 0"),
            ([float("nan"), 0.5, 0.5], "NaN"),
            ([[0.2, 0.5, 0.3]], r"shape \(1, 3\)"),
            ("abc", "weights"),
        ],
    )
    def test_weights(self, weights: Any, match: str) -> None:
        refused(match, lambda: sf.FiniteEnvironment([0.0, 0.4, 1.0], weights))

    @settings(max_examples=50, deadline=None, database=None, derandomize=True)
    @given(weights=st.lists(st.floats(0.0, 10.0), min_size=3, max_size=3))
    def test_any_weights_that_do_not_sum_to_1(self, weights: list[float]) -> None:
        if abs(sum(weights) - 1.0) > 1e-5:
            refused("sum to", lambda: sf.FiniteEnvironment([0.0, 0.4, 1.0], weights))
        if sum(weights) > 1e-6:
            shares = np.array(weights) / np.sum(weights)
            kept = sf.FiniteEnvironment([0.0, 0.4, 1.0], shares).weights
            np.testing.assert_allclose(kept, shares, atol=1e-12)

    @pytest.mark.parametrize("kind", PERTURBATIONS)
    @pytest.mark.parametrize("design", [sf.Arms(LINE), sf.Box([0.0], [1.0])], ids=["arms", "box"])
    def test_perturbations(self, design: sf.Arms | sf.Box, kind: str) -> None:
        given: Any = PERTURBATIONS[kind]
        match = r"`perturbation`.*expected.*\(.*, d"
        refused(match, lambda: sf.Joint(design, finite(), perturbation=given))

    def test_a_perturbation_that_is_not_a_number_for_some_designs(self) -> None:
        box, noise = sf.Box([0.05], [1.0]), sf.FiniteEnvironment([0.0, -0.1], [0.99, 0.01])
        match = "`perturbation` gives values that are NaN.*for some"
        refused(match, lambda: sf.Joint(box, noise, perturbation=lambda x, z: (x + z).sqrt()))

    @pytest.mark.parametrize("name", ["features", "estimator", "policy", "width"])
    @pytest.mark.parametrize("given", ["huber", 3, object()], ids=["name", "number", "object"])
    def test_what_is_no_part(self, name: str, given: object) -> None:
        parts: Any = {name: given}
        refused(
            f"`{name}` (is .*expected|must be .*got)",
            lambda: sf.Optimizer(sf.Arms(LINE), KERNEL, **parts),
        )

    def test_a_class_in_place_of_a_part(self) -> None:
        for parts in ({"estimator": sf.Huber}, {"features": sf.Nystrom}, {"policy": ScorePolicy}):
            given: Any = parts
            refused(
                "(is|got) <class", lambda given=given: sf.Optimizer(sf.Arms(LINE), KERNEL, **given)
            )

    def test_a_perturbation_of_a_box_without_a_gradient(self) -> None:
        def held(x: Tensor, z: Tensor) -> Tensor:
            return (x + z).detach()

        assert sf.Joint(sf.Arms(LINE), finite(), perturbation=held).seen.dimension == 1
        box = sf.Box([0.0], [1.0])
        refused("differentiable", lambda: sf.Joint(box, finite(), perturbation=held))

    @pytest.mark.parametrize(
        ("match", "call"),
        [
            ("`design` is", lambda: sf.Joint(finite(), finite())),
            ("`design` is", lambda: sf.Joint(JOINTS["arms"](), finite())),
            ("`environment` is.*FiniteEnvironment", lambda: sf.Joint(sf.Arms(LINE), [0.0, 1.0])),
            ("pass `Arms\\(points\\)`", lambda: sf.Joint(sf.Arms(4), DENSITY)),
            ("without a `risk`.*pass one", lambda: sf.Optimizer(JOINTS["arms"](), KERNEL)),
            (
                r"no environment: pass\s`Joint",
                lambda: sf.Optimizer(sf.Arms(LINE), KERNEL, risk=sf.VaR(0.3)),
            ),
            ("`space` is.*Joint", lambda: v_ucb(sf.Arms(LINE), KERNEL, level=0.3)),
            (
                "spaces without an environment",
                lambda: build("arms", policy=NoisyExpectedImprovement()),
            ),
            (
                "for a `Joint` space",
                lambda: sf.Optimizer(sf.Arms(LINE), KERNEL, policy=RiskKnowledgeGradient()),
            ),
            ("`risk` is 0.3", lambda: build("arms", risk=0.3)),
            ("`risk` is 'var'", lambda: build("arms", risk="var")),
            ("`risk` is .*VaR", lambda: build("arms", risk=sf.VaR)),
            ("`lacing`", lambda: v_ucb(JOINTS["arms"](), KERNEL, level=0.3, lacing="both")),
            ("`ridge` came without", lambda: v_ucb(JOINTS["arms"](), level=0.3, ridge=0.1)),
            ("needs a kernel", lambda: v_ucb(JOINTS["bare"](), level=0.3)),
            (
                "PivotedCholesky",
                lambda: v_ucb(
                    JOINTS["arms"](), level=0.3, features=sf.Nystrom(sf.LeverageSampling())
                ),
            ),
            (
                "2 coordinates",
                lambda: v_ucb(
                    JOINTS["arms"](), sf.kernels.squared_exponential([0.1, 0.2, 0.3]), level=0.3
                ),
            ),
            (
                r"4 rows",
                lambda: v_ucb(JOINTS["bare"](), sf.kernels.precomputed(np.eye(4)), level=0.3),
            ),
        ],
    )
    def test_parts_that_do_not_fit(self, match: str, call: Callable[[], object]) -> None:
        refused(match, call)

    @pytest.mark.parametrize(
        "call",
        [
            lambda joint: algorithms.gp_ucb(joint, KERNEL),
            lambda joint: algorithms.robust_ucb(joint, KERNEL),
            lambda joint: algorithms.robust_ucb(joint),
            lambda joint: algorithms.bkb(joint, KERNEL, noise=0.1),
            lambda joint: algorithms.bbkb(joint, KERNEL, noise=0.1),
            lambda joint: algorithms.tgp_ucb(joint, KERNEL, moment=MOMENT),
            lambda joint: algorithms.ata_gp_ucb(joint, KERNEL, moment=MOMENT),
        ],
        ids=["gp_ucb", "robust_ucb", "robust_ucb-learnt", "bkb", "bbkb", "tgp_ucb", "ata_gp_ucb"],
    )
    def test_algorithms_without_a_risk(self, call: Callable[[sf.Joint], object]) -> None:
        refused("space", lambda: call(JOINTS["arms"]()))


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
            match = "the world draws it: pass `environment=z`"
            check_refused(inform(build(name, observed=True)), match, call, tmp_path)

    def test_a_design_without_an_environment(self, tmp_path: Path) -> None:
        for call in (
            lambda o: o.tell(3, 1.0),
            lambda o: o.expect(3),
            lambda o: o.forget(3),
            lambda o: o.tell_all([3, 4], [1.0, 2.0]),
        ):
            check_refused(inform(build("arms")), "pass `environment=z`", call, tmp_path)

    @pytest.mark.parametrize(
        ("z", "match"),
        [
            (0.5, r"none of the 3 values it can take \(the nearest is \[0\.4\]\)"),
            ([0.4, 0.4], r"shape \(2,\), expected \(1,\)"),
            ([[0.4]], r"expected \(1,\): pass `environment\.squeeze"),
            ([], r"expected \(1,\)"),
            (float("nan"), "NaN"),
            ([float("inf")], "infinite"),
            ("0.4", "`environment` is"),
            ({"z": 0.4}, "`environment` is"),
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

    @pytest.mark.parametrize(
        "reward", [float("nan"), float("inf"), None, "1.0", True, [1.0, 2.0]], ids=repr
    )
    @pytest.mark.parametrize("name", ["arms", "box", "arms-density"])
    def test_rewards(self, name: str, reward: Any, tmp_path: Path) -> None:
        for call in (lambda o: o.tell(o.pending[0], reward), lambda o: o.tell([0.0], reward, 0.4)):
            check_refused(inform(build(name)), "reward", call, tmp_path)

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
        ],
    )
    def test_many_at_once_are_all_refused(
        self, points: Any, rewards: Any, environments: Any, tmp_path: Path
    ) -> None:
        def call(optimizer: sf.Optimizer) -> None:
            optimizer.tell_all(points, rewards, environments)

        check_refused(inform(build("arms")), "expected|NaN|none of", call, tmp_path)

    @pytest.mark.parametrize(
        "designs", [[0.1], [[0.1, 0.2]], [], [[float("nan")]], "ab", 3], ids=repr
    )
    @pytest.mark.parametrize("name", ["arms", "box", "arms-shifted"])
    def test_designs_to_assess(self, name: str, designs: Any, tmp_path: Path) -> None:
        check_refused(inform(build(name)), "designs", lambda o: o.assess(designs), tmp_path)

    def test_what_to_recommend_by(self, tmp_path: Path) -> None:
        optimizer = inform(build("arms"))
        check_refused(optimizer, "`by`.*expected", lambda o: o.recommend(by="upper"), tmp_path)

    def test_a_query_of_another_optimiser(self, tmp_path: Path) -> None:
        plain = sf.Optimizer(sf.Arms(LINE), KERNEL).ask()
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
            optimizer = sf.Optimizer(space, KERNEL)
            check_refused(optimizer, r"has none: pass `Joint\(", call, tmp_path)

    @either
    @every
    def test_before_the_first_reward(self, name: str, observed: bool) -> None:
        optimizer = build(name, observed=observed)
        for call in (
            lambda: optimizer.recommend(),
            lambda: optimizer.assess(LINE),
            lambda: optimizer.posterior,
            lambda: optimizer.ask(arms=[0] if "box" not in name else [[0.5]]),
        ):
            with pytest.raises(sf.NotReady, match="no rewards yet"):
                call()
        assert len(optimizer.weights) == 0


def test_telling_all_settles_every_query_that_is_pending_there() -> None:
    """As telling them one by one does, on plain spaces too."""
    plain = sf.algorithms.gp_ucb(sf.Arms(4), sf.kernels.precomputed(np.eye(4)))
    for _ in range(2):
        plain.expect(1)
    plain.tell_all([1, 1], [0.5, 0.6])
    assert plain.pending == []


def test_assessing_a_space_without_an_environment_gives_the_mean_and_the_bounds() -> None:
    for space in (sf.Arms(LINE), sf.Box([0.0], [1.0])):
        plain = sf.Optimizer(space, KERNEL, ridge=RIDGE)
        plain.tell_all([[0.0], [0.4]] if isinstance(space, sf.Box) else [0, 2], [0.5, -0.2])
        points = LINE[:3]
        mean, deviation = plain.posterior.mean_and_deviation(points)
        expected = mean, mean - plain.width * deviation, mean + plain.width * deviation
        for found, wanted in zip(plain.assess(points), expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
