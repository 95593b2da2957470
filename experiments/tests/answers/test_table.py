"""The table of the yardstick: pairing, formulas and records, on made-up results."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from surefoot import InvalidInput
from surefoot_experiments.answers import conditions, given, record, table, tasks
from surefoot_experiments.cli import app
from surefoot_experiments.scoreboard.scores import PAIR, RELATIVE
from surefoot_experiments.scoreboard.trials import CHECKPOINTS

GAPS = {  # task: family and gaps after 15 and 30 of 30
    "a": (tasks.SMOOTH, (2.0, 0.5)),
    "b": (tasks.SMOOTH, (3.0, 0.2)),
    "c": (tasks.RUGGED, (4.0, 4.0)),
}
FACTORS = {"random": 2.0, "optuna-tpe": 1.0}


def searches(factor, rival, seeds=(7,)):
    return pd.DataFrame(
        {
            "suite": "answers",
            "task": task,
            "kind": family,
            "half": "development",
            "budget": 30,
            "evaluations": evaluations,
            "rival": rival,
            "trial": seed,
            "gap": factor * gap * (1.0 + (seed - 7)),
            "covered": 1.0,
        }
        for task, (family, gaps) in GAPS.items()
        for seed in seeds
        for evaluations, gap in zip((15, 30), gaps, strict=True)
    )


def data_sets(error, rival):
    scores = {
        "error": error,
        "random": 0.9,
        "chosen": 0.8,
        "dismissed": 3.0,
        "kept": 0.0,
        "gap": 1.0,
    }
    row = {"kind": given.CLEAN, "half": "development", "rival": rival, **scores}
    return pd.DataFrame([{"task": "set", "trial": seed, **row} for seed in (20, 21)])


def under_conditions(factor, rival):
    return pd.DataFrame(
        {
            "task": task,
            "kind": conditions.SAFE,
            "half": "development",
            "rival": rival,
            "trial": 50,
            "evaluations": evaluations,
            "gap": factor * gap,
            "on the way": 2.0,
        }
        for task, gaps in {"wall": (0.4, 0.2), "hole": (0.9, 0.3)}.items()
        for evaluations, gap in zip((20, 40), gaps, strict=True)
    )


@pytest.fixture
def now():
    parts = [data_sets(0.9, given.SUREFOOT), data_sets(1.2, given.ROBUST_GP)]
    return {
        CHECKPOINTS: searches(0.5, "surefoot"),
        given.GIVEN: pd.concat(parts),
        conditions.CONDITIONS: under_conditions(1.0, "surefoot"),
    }


@pytest.fixture
def rivals():
    random = searches(2.0, "random", seeds=(7, 8))
    return {
        CHECKPOINTS: pd.concat([random, searches(1.0, "optuna-tpe")]),
        given.GIVEN: data_sets(0.6, given.INFORMED),
        conditions.CONDITIONS: pd.concat(
            [
                under_conditions(3.0, "random"),
                under_conditions(9.0, "random").assign(trial=60, half="confirmation"),
            ]
        ),
    }


def test_gaps_are_relative_to_the_geometric_mean_of_random_search(now, rivals):
    rows = table.relative(now[CHECKPOINTS], rivals[CHECKPOINTS]).set_index(["rival", "task"])
    own = rows.loc[("surefoot", "a")]
    expected = [math.log(0.5 * gap / math.sqrt(2.0 * gap * 4.0 * gap)) for gap in (2.0, 0.5)]
    assert own[RELATIVE].tolist() == pytest.approx(expected)
    ranks = rows.groupby("rival")["rank"].unique()
    assert {name: found.tolist() for name, found in ranks.items()} == {
        "surefoot": [1.0],
        "optuna-tpe": [2.0],
        "random": [3.0],
    }


def test_what_is_closer_than_a_thousandth_of_random_searchs_gap_is_solved(now, rivals):
    near, nearer = now[CHECKPOINTS].copy(), now[CHECKPOINTS].copy()
    near["gap"], nearer["gap"] = 1e-4, 1e-5
    found = [table.relative(one, rivals[CHECKPOINTS]) for one in (near, nearer)]
    assert found[0].equals(found[1].assign(gap=found[0]["gap"], log=found[0]["log"]))
    assert found[0].loc[found[0]["rival"] == "surefoot", RELATIVE].eq(math.log(1e-3)).all()


def test_rivals_that_lack_a_run_have_no_rank(now, rivals):
    rows = rivals[CHECKPOINTS]
    lacking = rows[(rows["rival"] != "optuna-tpe") | (rows["task"] != "c")]
    ranks = table.relative(now[CHECKPOINTS], lacking).groupby("rival")["rank"].max()
    assert np.isnan(ranks["optuna-tpe"])
    assert ranks["random"] == 2.0
    lines = table.report(now, None, {**rivals, CHECKPOINTS: lacking}).splitlines()
    assert _cells(lines[0]) == ["mean, median, rank", "surefoot", "random"]
    assert "optuna-tpe has 2 of 3 tasks." in lines


def test_log_ratios_are_means_and_standard_errors_over_the_tasks_of_a_family(rivals):
    factors = {"a": 1.3, "b": 0.4, "c": 0.7}
    base = searches(0.5, "surefoot")
    now = base.assign(gap=base["gap"] * base["task"].map(factors))
    first, second = (
        one[one["rival"] == "surefoot"]
        for one in (table.relative(each, rivals[CHECKPOINTS]) for each in (now, base))
    )
    found = table.log_ratios(first, second, PAIR, RELATIVE, "evaluations")
    logs = [math.log(1.3), math.log(0.4)]
    mean = sum(logs) / 2
    error = math.sqrt(sum((each - mean) ** 2 for each in logs) / (2 - 1)) / math.sqrt(2)
    for evaluations in (15, 30):
        assert found.loc[(tasks.SMOOTH, evaluations)].tolist() == pytest.approx([mean, error])
        assert found.loc[(tasks.RUGGED, evaluations), "mean"] == pytest.approx(math.log(0.7))


def test_a_pair_is_of_the_same_task_and_seed_in_any_order(rivals):
    base = searches(0.5, "surefoot")
    shuffled = base.sample(frac=1.0, random_state=0)
    ratios = table.log_ratios(
        *(table.relative(each, rivals[CHECKPOINTS]) for each in (base, shuffled)),
        [*PAIR, "rival"],
        RELATIVE,
        "evaluations",
    )
    assert ratios["mean"].abs().max() < 1e-12


def test_the_report_has_every_family_and_a_line_for_the_commit(now, rivals):
    earlier = under_conditions(0.5, "surefoot")
    base = {**now, CHECKPOINTS: searches(1.0, "surefoot"), conditions.CONDITIONS: earlier}
    text = table.report(now, base, rivals)
    last = text.splitlines()[-1]
    assert last == (
        f"answers: {tasks.SMOOTH} -0.69 ± 0.00, {tasks.RUGGED} -0.69, "
        f"{conditions.SAFE} +0.69 ± 0.00, error {given.CLEAN} +0.00"
    )
    rows = {cells[0]: cells[1:] for cells in map(_cells, text.splitlines()) if len(cells) > 1}
    assert rows["family"][:4] == ["tasks", "gap at 15", "gap at 30", "intervals at the choice"]
    assert rows[tasks.RUGGED][-2:] == ["-0.69", "-0.69"]
    assert rows["rank of all"] == ["1.00", "2.00", "3.00"]
    gaps = ["0.6 (1.8)", "0.24 (0.73)"]
    assert rows[conditions.SAFE] == [*gaps, *["2 (2)"] * 2, *["+0.69 ± 0.00"] * 2]
    own = rows[f"{given.CLEAN}: {given.SUREFOOT}"]
    assert own == ["0.90", "1.50", "90%", "80%", "3.00", "0.00", "1.00", "+0.00"]


def test_the_first_report_has_no_ratios(now, rivals):
    assert "log ratio" not in table.report(now, None, rivals)


@pytest.mark.long
def test_a_missing_result_is_an_error_that_names_the_task_and_the_command(now, rivals):
    base = {**now, CHECKPOINTS: now[CHECKPOINTS].query("task != 'b'")}
    with pytest.raises(InvalidInput, match=r"last state, such as b: .*make answers RECORD=1"):
        table.report(now, base, rivals)
    others = {**rivals, CHECKPOINTS: rivals[CHECKPOINTS].query("task != 'c'")}
    with pytest.raises(InvalidInput, match=r"result of random, such as c: .* answers rivals"):
        table.report(now, now, others)
    base = {**now, conditions.CONDITIONS: under_conditions(1.0, "surefoot").query("task != 'hole'")}
    with pytest.raises(InvalidInput, match=r"last state, such as hole: "):
        table.report(now, base, rivals)
    others = {**rivals, given.GIVEN: rivals[given.GIVEN].query("trial != 21")}
    with pytest.raises(InvalidInput, match="result of informed-gp, such as set"):
        table.report(now, now, others)


def test_a_folder_without_a_record_says_how_to_make_one(tmp_path):
    for whose, command in ((record.BASE, "make answers RECORD=1"), (record.RIVALS, "rivals")):
        with pytest.raises(InvalidInput, match=f"no results are recorded there: .*{command}"):
            record.Record(tmp_path).read(whose)


def test_without_a_record_nothing_is_run_and_the_command_says_what_is_missing(tmp_path):
    result = CliRunner().invoke(app, ["answers", "run", "--records", str(tmp_path)])
    assert result.exit_code == 2
    assert "rivals-checkpoints.csv: no results are recorded there" in result.stderr


@pytest.mark.long
def test_new_results_replace_those_of_the_same_runs(tmp_path, now, rivals):
    kept = record.Record(tmp_path)
    kept.add(record.RIVALS, rivals, {"random": "some day"})
    kept.add(record.RIVALS, {CHECKPOINTS: searches(9.0, "optuna-tpe")}, {"optuna-tpe": "today"})
    found = kept.read(record.RIVALS)
    rows = found[CHECKPOINTS].set_index("rival")
    assert len(rows) == len(rivals[CHECKPOINTS])
    assert rows.loc["optuna-tpe", "gap"].max() == 9.0 * 4.0
    assert rows.loc["random", "gap"].max() == 2.0 * 4.0 * 2.0
    assert len(found[given.GIVEN]) == 2
    assert kept.origin() == {"random": "some day", "optuna-tpe": "today"}
    kept.add(record.BASE, now, {})
    again = table.report(kept.read(record.BASE), kept.read(record.BASE), found)
    assert again.endswith(f"error {given.CLEAN} +0.00")
    arguments = ["--half", "choose", "--records", str(tmp_path)]
    shown = CliRunner().invoke(app, ["answers", "show", *arguments]).stdout
    assert f"| {tasks.RUGGED} | 1 |" in shown
    assert shown.endswith("random: some day\n")


def _cells(text):
    return [cell.strip() for cell in text.strip("| ").split("|")]


@pytest.mark.long
def test_every_task_of_the_repository_is_recorded():
    kept = record.Record(Path(__file__).parents[3] / "experiments" / "results" / "answers")
    names = {task.name for task in tasks.tasks()}
    base, rivals = kept.read(record.BASE), kept.read(record.RIVALS)
    assert names <= set(base[CHECKPOINTS]["task"])
    found = rivals[CHECKPOINTS].groupby("rival")["task"].agg(set)
    assert all(names <= found[rival] for rival in ("random", "optuna-tpe", "optuna-cma"))
    assert {one.name for one in given.SETS} == set(base[given.GIVEN]["task"])
    for each in (base, rivals):
        found = each[conditions.CONDITIONS]
        assert {one.name for one in conditions.ALL} == set(found["task"])
    assert not table.report(base, base, rivals).count("nan")
    assert kept.origin().keys() >= {"surefoot", "random", "optuna-tpe", "optuna-cma"}
