"""Keeping and discarding changes: an exact martingale, and a session that survives its process."""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from support.commands import surefoot
from surefoot.cli import app
from surefoot.tune.judging.judge import DISCARD, KEEP, Rules, Session, judge
from surefoot.tune.judging.rank_bets import IMPROVEMENTS, evidence
from surefoot.tune.output_file import only_writer
from surefoot.types import InvalidInput

BENCH = """
import sys
from pathlib import Path
better, fails = float(sys.argv[1]), sys.argv[2:] == ["fail"]
count = Path("count")
number = int(count.read_text()) if count.exists() else 0
count.write_text(str(number + 1))
sys.exit(1) if fails else print(10 + number * 7919 % 101 / 100 - better)
"""
RULES = {"pool": 12, "most": 20, "proposals": 3}


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Command that measures a change by its improvement, in an empty folder."""
    (tmp_path / "bench.py").write_text(BENCH)
    monkeypatch.chdir(tmp_path)
    return lambda *given: " ".join([sys.executable, "bench.py", *map(str, given)])


def last(pool, runs, seed: int = 0) -> float:
    """Logarithm of the capital after all runs."""
    return list(evidence(pool, runs, seed=seed))[-1].log_capital


@pytest.mark.long
@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0, 8.0, 16.0, 1e9], [-1e9, 0.0, 1.0, 1.1, 2, 3]])
def test_the_capital_is_one_on_average_whatever_the_noise(values):
    capitals = [math.exp(last(order[:3], order[3:])) for order in itertools.permutations(values)]
    assert np.mean(capitals) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.long
def test_the_order_of_equal_runs_is_drawn():
    capitals = [math.exp(last([1.0] * 4, [1.0] * 3, seed)) for seed in range(500)]
    assert np.mean(capitals) == pytest.approx(1.0, abs=5 * np.std(capitals) / 500**0.5)


@pytest.mark.parametrize("runs", [5, 6, 7, 8, 12, 60])
@pytest.mark.parametrize("proposals", [1, 3, 30, 1000])
@pytest.mark.parametrize("error", [0.2, 0.05, 0.001])
def test_what_is_accepted_keeps_a_proposal_that_is_better_in_every_run(runs, proposals, error):
    rules = Rules(pool=runs, most=runs, proposals=proposals, error=error)
    try:
        rules.check()
    except InvalidInput as refused:
        least = int(re.search(r"at least (\d+) of each", str(refused))[1])
        assert least > runs
        # So many orders of all runs are equally likely without a change; bets are on eight sizes.
        assert math.comb(2 * runs, runs) / (len(IMPROVEMENTS) + 1) < proposals / error
        runs = least
        rules = Rules(pool=runs, most=runs, proposals=proposals, error=error)
    random = np.random.default_rng(runs)
    pool = list(random.normal(size=runs))
    for better in ([-50.0] * runs, list(random.normal(size=runs) - 50.0), range(-500, -500 + runs)):
        assert rules.decide(pool, list(better), 0) == KEEP


@pytest.mark.parametrize("better", [6.0, 100.0, 1e6])
@pytest.mark.parametrize("runs", [60, 600, 700, 5000])
def test_the_more_runs_the_incumbent_has_the_sooner_what_is_far_better_is_kept(runs, better):
    """Student-t noise reaches the further out, the more of it there is."""
    random = np.random.default_rng(runs)
    rules = Rules(pool=runs, most=runs)
    rules.check()
    pool = list(random.standard_t(3, runs))
    decided = rules.decide(pool, list(random.standard_t(3, 12 if better > 6 else 60) - better), 0)
    assert decided == KEEP


def test_an_error_that_needs_many_runs_says_how_many():
    with pytest.raises(InvalidInput, match=r"expected at least \d\d+ of each"):
        Rules(error=1e-100).check()


def test_a_failure_decides_nothing_where_half_of_the_incumbents_runs_fail():
    pool = [10.0 + 0.01 * i for i in range(30)] + [math.inf] * 30
    runs = [math.inf if i % 10 == 0 else 9.0 + 0.01 * i for i in range(40)]
    assert Rules().decide(pool, runs[:5], 0) != DISCARD
    assert Rules().decide(pool, runs, 0) == KEEP
    assert Rules().decide(pool[:-1], runs[:5], 0) == DISCARD


SESSION = [{"rules": asdict(Rules())}, {"incumbent": "echo 1"}]


@pytest.mark.daily(5)
@pytest.mark.parametrize(
    "content",
    [
        "folder",
        "{}",
        *(
            "\n".join([*map(json.dumps, SESSION), line, ""])
            for line in ('{"x": 1}', "[1]", '"text"', '{"of": "incumbent", "value": "fast"}')
        ),
        "missing",
        "print(1)",
        b"\xff\xfe\x00",
    ],
)
def test_a_file_that_is_no_session_is_refused_and_stays(bench, content):
    file = Path("nowhere/s.jsonl" if content == "missing" else "s.jsonl")
    if content == "folder":
        file.mkdir()
    elif content != "missing":
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = file.read_bytes() if file.is_file() else None
    command = ("judge", file, "--incumbent", "echo 1", "--proposal", "echo 2", "--runs", "8")
    assert len(surefoot(*command, code=2).splitlines()) == 1
    assert (file.read_bytes() if file.is_file() else None) == before


def test_a_proposal_that_fails_is_discarded():
    pool = [float(i) for i in range(20)]
    assert Rules().decide(pool, [math.inf], 0) == DISCARD
    assert Rules("maximize").decide([-math.inf, *pool], [25.0, math.inf], 0) == DISCARD


@pytest.mark.parametrize("run", [1e200, -1e200, 1e308])
def test_a_run_of_any_size_is_judged(run):
    pool = [float(i) for i in range(60)]
    assert Rules().decide(pool, [run] * 60, 0) == (KEEP if run < 0 else DISCARD)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_improvement_is_kept_in_its_direction(sign):
    random = np.random.default_rng(0)
    rules = Rules("minimize" if sign > 0 else "maximize")
    pool, runs = sign * random.standard_t(2, 60), sign * (random.standard_t(2, 30) - 5.0)
    assert rules.decide(list(pool), list(runs), 0) == KEEP
    assert rules.decide(list(pool), list(-runs), 0) == DISCARD


runs_of = st.lists(st.sampled_from([1.0, 1.25, 1.5, 3.0, 40.0, math.inf]), min_size=1, max_size=9)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(runs_of, runs_of, st.sampled_from([(2.0**-30, 0.0), (2.0, 64.0), (2.0**30, -(2.0**20))]))
def test_a_decision_does_not_depend_on_the_unit(pool, runs, unit):
    size, zero = unit
    rules = Rules(pool=5, most=9, proposals=2, error=0.4)
    other = [[size * one + zero for one in each] for each in (pool * 2, runs)]
    assert rules.decide(*other, 0) == rules.decide(pool * 2, runs, 0)


@pytest.mark.daily(1)
@pytest.mark.parametrize("numbers", [0, 1, 10, 30])
@pytest.mark.parametrize("value", [-5.0, 0.0, 0.5, 2.0, 1e9])
def test_no_proposal_that_works_is_given_up_since_the_incumbent_fails(numbers, value):
    pool = [1.0 + 0.01 * i for i in range(numbers)] + [math.inf] * (60 - numbers)
    rules = Rules()
    for count in range(1, rules.most):
        assert rules.decide(pool, [value + 1e-3 * i for i in range(count)], 0) != DISCARD
    if numbers <= 1:
        assert rules.decide(pool, [value + 1e-3 * i for i in range(40)], 0) == KEEP


@pytest.mark.daily(1)
@pytest.mark.parametrize("printed", ["1", "-5", "0.5"])
def test_an_incumbent_without_a_number_decides_nothing_and_may_be_mended(bench, printed):
    def command(incumbent: str, proposal: str) -> tuple[int, list[str]]:
        given = ["judge", "s.jsonl", "--incumbent", incumbent, "--proposal", proposal]
        result = CliRunner().invoke(app, [*given, "--runs", "12"])
        return result.exit_code, result.output.splitlines()

    Path("works").write_text(f"echo {printed}\n")
    for script in ("exit 3", "echo hi", "exit 3"):
        Path("broken").write_text(f"{script}\n")
        code, said = command("sh broken", "sh works")
        assert code == 1
        assert len(said) == 6  # a run each, and the error
        assert said[-1].startswith("incumbent: no number in 5 of 5 runs, the last time: ")
    assert not any("decision" in line or "proposal" in line for line in _lines("s.jsonl"))
    Path("broken").write_text("echo 1e6\n")
    code, said = command("sh broken", "sh works")
    assert (code, said[-1][:23]) == (0, "keep (proposal 1 of 30,")
    assert sum(one.get("value") == 1e6 for one in _lines("s.jsonl")) == 12


def _lines(file: str) -> list[dict]:
    return [json.loads(line) for line in Path(file).read_text().splitlines()][1:]


@pytest.mark.long
@pytest.mark.parametrize(
    ("proposal", "decision"),
    [("9 s", DISCARD), ("900 us", KEEP), ("11 ms", KEEP), ("0.013 sec", DISCARD)],
)
def test_runs_are_compared_in_the_unit_of_the_first(bench, proposal, decision):
    given = ("s.jsonl", "echo 12 ms", f"echo {proposal}")
    noted = []
    assert judge(*given, note=noted.append, **RULES).decision == decision
    assert {one["unit"] for one in _lines("s.jsonl") if "value" in one} == {"ms"}
    assert all(line.endswith(" ms") for line in noted)


@pytest.mark.daily(2)
@pytest.mark.parametrize(("first", "other"), [("ms", "MB"), ("ms", ""), ("", "ms"), ("ms", "min")])
@pytest.mark.parametrize("of", ["incumbent", "proposal"])
def test_a_run_in_a_unit_of_something_else_is_refused_and_decides_nothing(bench, first, other, of):
    rules = {"pool": 6, "most": 6, "proposals": 3}
    session = Session.open(Path("s.jsonl"), rules)
    for _ in range(6 if of == "proposal" else 1):
        session.record({"of": "incumbent", "value": 12.0, "unit": first})
    incumbent = f"echo 12 {first}" if of == "proposal" else f"echo 9 {other}"
    before = [one for one in _lines("s.jsonl") if "value" in one]
    with pytest.raises(InvalidInput, match=rf"{of}: the measurement is .* of the session are"):
        judge("s.jsonl", incumbent, f"echo 9 {other}")
    assert [one for one in _lines("s.jsonl") if "value" in one] == before
    assert not any("decision" in one for one in _lines("s.jsonl"))


@pytest.mark.long
def test_runs_of_one_incumbent_are_not_those_of_another(bench):
    rules = {"pool": 12, "most": 12, "proposals": 5}
    assert judge("s.jsonl", bench(0), bench(-9), **rules).decision == DISCARD
    before = Path("s.jsonl").read_text()
    with pytest.raises(InvalidInput, match=r"its 12 runs in s.jsonl are of .* 0'"):
        judge("s.jsonl", bench(8), bench(5))  # worse than this one, and better than that one
    assert Path("s.jsonl").read_text() == before
    assert judge("s.jsonl", bench(0), bench(5)).decision == KEEP
    assert judge("s.jsonl", bench(5), bench(1)).decision == DISCARD  # the kept one
    with pytest.raises(InvalidInput, match="give the same, or begin another session"):
        judge("s.jsonl", bench(0), bench(1))


@pytest.mark.long
def test_a_session_goes_on_where_it_was_interrupted(bench, tmp_path):
    given = ("session.jsonl", bench(0), bench(5))
    lines = []

    def stop(line: str) -> None:
        lines.append(line)
        if len(lines) == 13:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge(*given, note=stop, **RULES)
    with Path("session.jsonl").open("a") as file:
        file.write('{"of": "propo')  # as kill -9 leaves it
    result = judge(*given)
    assert (result.decision, result.number) == (KEEP, 1)
    assert int(Path("count").read_text()) == 12 + result.runs
    result = judge("session.jsonl", bench(5), bench(5))
    assert (result.decision, result.number) == (DISCARD, 2)
    events = [json.loads(line) for line in Path("session.jsonl").read_text().splitlines()]
    assert sum(event.get("of") == "incumbent" for event in events) == 24  # anew after the change


def test_a_session_has_its_rules_and_its_number_of_proposals(bench):
    for _ in range(RULES["proposals"]):
        assert judge("s.jsonl", bench(0), bench(0, "fail"), **RULES).decision == DISCARD
    with pytest.raises(InvalidInput, match="had all its 3 proposals"):
        judge("s.jsonl", bench(0), bench(9))
    with pytest.raises(InvalidInput, match=r"got error = 0.2, but the session began with 0.05"):
        judge("s.jsonl", bench(0), bench(9), error=0.2)
    before = Path("bench.py").read_text()
    with pytest.raises(InvalidInput, match="is not a session of `surefoot judge`"):
        judge("bench.py", bench(0), bench(9))
    assert Path("bench.py").read_text() == before


def test_an_abandoned_proposal_is_spent(tmp_path):
    session = Session.open(tmp_path / "s.jsonl", RULES)
    for name in ("a", "b", "c"):
        session.propose(name)
    assert session.decisions == [DISCARD, DISCARD]
    before = session.file.read_bytes()
    with pytest.raises(InvalidInput, match=r"had all its 3 proposals, .* 'c' is undecided: go on"):
        session.propose("d")
    assert session.file.read_bytes() == before
    session.propose("c")  # goes on
    assert session.proposal == "c"


def test_what_is_refused_after_the_last_proposal_changes_nothing(bench):
    session = Session.open(Path("s.jsonl"), RULES)
    for name in ("a", "b", "c"):
        session.propose(name)
    before = session.file.read_bytes()
    with pytest.raises(InvalidInput, match="'c' is undecided: go on"):
        judge("s.jsonl", bench(0), bench(9))
    assert session.file.read_bytes() == before


def test_what_only_a_shell_understands_is_said(bench):
    with pytest.warns(UserWarning, match="proposal has `|`, which is passed as an argument"):
        judge("s.jsonl", bench(0), f"{bench(9)} | tail -1", **RULES)


def test_a_session_has_one_writer(bench):
    with only_writer(Path("s.jsonl"), "this test"):
        with pytest.raises(InvalidInput, match="another judgement of this session is running"):
            judge("s.jsonl", bench(0), bench(9), **RULES)
        assert Path("s.jsonl").read_bytes() == b""
    with pytest.raises(InvalidInput, match="`pool`"):
        judge("new.jsonl", bench(0), bench(9), pool=1)
    assert not Path("new.jsonl").exists()


@pytest.mark.long
def test_the_command_tells_the_decision_by_its_exit_code(bench):
    def command(change: float, *more: str) -> tuple[int, str]:
        given = ["judge", "s.jsonl", "--incumbent", bench(0), "--proposal", bench(change), *more]
        result = CliRunner().invoke(app, given)
        return result.exit_code, result.output.splitlines()[-1]

    code, said = command(5, "--runs", "12", "--proposals", "5")
    assert (code, said[:26]) == (0, "keep (proposal 1 of 5, 3 r")
    assert command(-5)[0] == 3
    assert command(5, "--runs", "13")[0] == 2
