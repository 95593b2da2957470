"""Tests of `surefoot.problem`."""

from pathlib import Path

import pytest

import surefoot as sf
from surefoot.problem import CONFLICTS, check_together, conflicts_of

PAGE = Path(__file__).parents[1] / "docs" / "study-file.md"
LINE = [[0.0], [0.5], [1.0]]


def printed() -> str:
    """The table of what does not go together, as the documentation prints it."""
    excluded: dict[tuple[str, str], list[str]] = {}
    for option, other, why in CONFLICTS:
        excluded.setdefault((other, why), []).append(f"`{option}`")
    alike: dict[tuple[str, str], list[str]] = {}
    for (other, why), names in excluded.items():
        alike.setdefault((", ".join(names), why), []).append(other)
    rows = [f"| {', '.join(others)} | {names} | {why} |" for (names, why), others in alike.items()]
    return "\n".join(["| with | not | since |", "|---|---|---|", *rows])


def test_the_documentation_prints_the_table() -> None:
    assert printed() in PAGE.read_text()


def test_no_pair_is_there_twice_in_whatever_order() -> None:
    pairs = [frozenset(one[:2]) for one in CONFLICTS]
    assert len({*pairs}) == len(pairs)
    assert all(len(pair) == 2 for pair in pairs)


@pytest.mark.parametrize("one", CONFLICTS)
def test_both_are_named_with_the_reason_and_either_alone_is_right(one) -> None:
    written = {one.option: "`this`", one.other: "`that`"}
    with pytest.raises(sf.InvalidInput) as error:
        check_together(written)
    assert str(error.value) == f"`this` came with `that`, {one.why}: leave one of them out."
    for name in written:
        assert conflicts_of([name]) == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"risk": sf.Mean(), "fidelity": sf.Fidelity([1, 2], cost=[1, 2])}, "`risk`.*`fidelity`"),
        ({"guess": {"x": 1}, "space": sf.Arms(LINE)}, "`guess`.*`Arms`"),
        ({"space": sf.Arms(3), "safe": True}, "`safe`.*without coordinates"),
        ({"space": sf.Arms(3), "outcomes": {"p": sf.Watched()}}, "`outcomes`.*without"),
        (
            {"space": sf.Joint(sf.Arms(LINE), sf.FiniteEnvironment([0.0, 1.0])), "safe": True},
            "`safe`.*environment",
        ),
        ({"outcomes": {"p": 1.0}}, "expected outcomes by name"),
        ({"safe": "yes"}, "expected True or False"),
        ({"space": 3}, "`space` is 3, expected"),
    ],
)
def test_a_problem_of_what_does_not_go_together_is_refused(options, named) -> None:
    with pytest.raises(sf.InvalidInput, match=named):
        sf.Problem(**options)


def test_with_levels_measurements_are_of_designs_at_levels() -> None:
    problem = sf.Problem(sf.Box([0.0], [1.0]), fidelity=sf.Fidelity([1, 2], cost=[1, 2]))
    assert problem.domain.has_environment
    assert problem.risk_of_domain == sf.Mean()
    assert sf.Problem(problem.space).domain is problem.space


def test_without_a_space_there_is_no_optimizer() -> None:
    with pytest.raises(sf.InvalidInput, match="`space` is None, expected `Arms`"):
        sf.Optimizer(sf.Problem())


def test_several_objectives_are_searched_for_their_front_without_being_asked() -> None:
    problem = sf.Problem(sf.Box([0.0], [1.0]), {"cost": sf.Objective(maximise=False)})
    method = sf.algorithms.robust(problem)
    assert isinstance(method.policy, sf.acquisition.HypervolumeImprovement)


def test_a_problem_keeps_no_dictionary_of_its_owner() -> None:
    space = sf.parameters.Space({"a": sf.parameters.Float(0, 1)})
    guess, outcomes = {"a": 0.3}, {"m": sf.Constraint(maximum=1.0)}
    problem = sf.Problem(space, outcomes, guess=guess)
    guess["a"], outcomes["n"] = 7.0, sf.Watched()
    assert problem.guess == {"a": 0.3}
    assert [*problem.outcomes] == ["m"]
