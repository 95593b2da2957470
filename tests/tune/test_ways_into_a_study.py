"""Whatever way a number comes into a study, it is in the unit of the others, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import surefoot
from surefoot.integrations.optuna import STANDARD_ERROR
from surefoot.tune import NoStudy, StudyFile, StudyFileError, import_table, open_study
from surefoot.tune.ask_tell.ask_tell import open_ask_tell
from surefoot.tune.comparison.comparison_file import comparison_path
from surefoot.tune.study import table_import
from surefoot.tune.study.opened_study import OpenedStudy
from surefoot.tune.study.study_import import import_study
from surefoot.types import InvalidInput, SurefootError

STUDY = """
study = { name = "ways", direction = "minimize", rounds = 9, storage = "journal:///ways.log" }
objective = { command = "sh print.sh {n}"UNIT }
parameters = { n = { type = "int", low = 1, high = 90, default = 7 } }
"""
FIRST = {"in ms": ("ms", ""), "without a unit": ("", ""), "declared later": ("", ', unit = "ms"')}
MILLISECONDS = {"12 ms": 12.0, "0.012 s": 12.0, "12000 us": 12.0, "12 MB": None}
EXPECTED: dict[str, dict[str, float | None]] = {
    "in ms": {**MILLISECONDS, "12": None},
    "without a unit": {**dict.fromkeys(MILLISECONDS), "12": 12.0},
    "declared later": {**MILLISECONDS, "12": 12.0},
}


def written(folder: Path, name: str = "ways", unit: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(STUDY.replace("UNIT", unit).replace("ways", name))
    return path


def printing(path: Path, text: str) -> None:
    (path.parent / "print.sh").write_text(f"echo '{text}'\n")


def by_tune(path: Path, number: str, rounds: int = 3) -> None:
    printing(path, number)
    surefoot("tune", path, "--rounds", rounds, "--quiet")


def by_tell(path: Path, number: str) -> None:
    study = open_ask_tell(path)
    study.tell(study.ask()[0].id, number)


def by_a_table(path: Path, number: str) -> None:
    value, _, unit = number.partition(" ")
    table = path.with_name("table.csv")
    table.write_text(f"n,value,unit_value\n9,{value},{unit}\n")
    import_table(path, table)


def by_a_study(path: Path, number: str) -> None:
    other = written(path.parent / "other")
    by_tune(other, number, rounds=1)
    import_study(path, other.with_name("ways.log"))


WAYS = {"tune": by_tune, "tell": by_tell, "table": by_a_table, "study": by_a_study}
TAKEN = {("table", "12"), ("study", "12")}  # as they are, which is said


def values(path: Path) -> list[float]:
    return [one.value for one in open_study(path).state().trials if one.value is not None]


@pytest.mark.daily(16)
@pytest.mark.parametrize("number", EXPECTED["in ms"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", FIRST)
def test_a_number_is_in_the_unit_of_the_others(
    tmp_path: Path, first: str, way: str, number: str
) -> None:
    printed, declared = FIRST[first]
    path = written(tmp_path)
    by_tune(path, f"12 {printed}".strip(), rounds=2)
    written(tmp_path, unit=declared)
    before, expected = values(path), EXPECTED[first][number]
    assert set(before) == {12.0}
    if expected is None and (way, number) not in TAKEN:
        with pytest.raises((SurefootError, AssertionError), match=r"in (MB|ms|s|us)"):
            WAYS[way](path, number)
        assert values(path) == before
        return
    WAYS[way](path, number)
    assert len(values(path)) == len(before) + (way != "study")  # whose trial is there
    assert set(values(path)) == {12.0}


def test_the_first_number_that_is_told_decides_the_unit(tmp_path: Path) -> None:
    study = open_ask_tell(written(tmp_path))
    one, two, three = study.ask(3)
    assert study.tell(one.id, "12.5±0.4 ms").outcome == "the value 12.5 ms"
    assert study.tell(two.id, "0.013 s", sem="300 us").value == 13.0
    with pytest.raises(InvalidInput, match="is without a unit, and those of the study are in ms"):
        study.tell(three.id, 14.0)
    assert study.tell(one.id, "12500±400 us").value == 12.5, "it is the same outcome"
    trials = study.opened.state().trials
    assert [one.user_attrs[STANDARD_ERROR] for one in trials[:2]] == [0.4, 0.3]


def test_a_refused_first_number_decides_nothing(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace('{n}"', '{n}", log = true'))
    study = open_ask_tell(path)
    (asked,) = study.ask()
    with pytest.raises(InvalidInput, match="expected a number above 0"):
        study.tell(asked.id, "-12 s")
    assert study.tell(asked.id, "12 ms").value == 12.0


def test_a_function_without_a_unit_has_none(tmp_path: Path) -> None:
    path = written(tmp_path)
    text = path.read_text().replace('command = "sh print.sh {n}"', 'function = "measured:value"')
    path.write_text(text)
    (tmp_path / "measured.py").write_text("def value(n):\n    return 12.0 + n\n")
    surefoot("tune", path, "--rounds", 1, "--quiet")
    with pytest.raises(InvalidInput, match="is in ms, and those of the study are without a unit"):
        by_tell(path, "12 ms")


def test_a_printed_unit_is_shown_and_a_comparison_is_in_it(tmp_path: Path) -> None:
    """Programs that scale their unit print one below 1 ms and another above it."""
    path = written(tmp_path)
    (tmp_path / "print.sh").write_text('[ $1 -lt 20 ] && echo "90$1 us" || echo "1.$1 ms"\n')
    surefoot("tune", path, "--quiet")
    assert " us (" in surefoot("recommend", path)
    assert " us (" in surefoot("predict", path, "n=7")
    surefoot("compare", path, "--a", "n=30", "--b", "n=31", "--runs", 4)
    lines = [json.loads(one) for one in comparison_path(open_study(path).study_file).open()]
    found = {one["setting"]: (one["value"], one["unit"]) for one in lines if "value" in one}
    assert found == {"a": (1300.0, "us"), "b": (1310.0, "us")}


def test_a_comparison_that_began_in_another_unit_is_in_that_of_the_study(tmp_path: Path) -> None:
    path = written(tmp_path)
    printing(path, "12000 us")
    compared = ("compare", path, "--a", "n=3", "--b", "n=4", "--runs")
    surefoot(*compared, 1)
    by_tune(path, "12.5 ms", rounds=1)
    printing(path, "12.5 ms")
    assert "pair 2: A 12.5 ms, B 12.5 ms" in surefoot(*compared, 2)
    found = open_study(path).state().study_file
    lines = [json.loads(one) for one in comparison_path(found).open()]
    assert [one["value"] for one in lines if "value" in one] == [12000.0, 12000.0, 12.5, 12.5]


def test_a_study_without_a_unit_is_imported_without_one(tmp_path: Path) -> None:
    old, path = written(tmp_path / "old"), written(tmp_path / "new")
    by_tune(old, "12", rounds=1)
    said: list[str] = []
    for _ in range(2):
        import_study(path, old.with_name("ways.log"), note=said.append)
    assert said == [], "nothing is taken to be in a unit"
    with pytest.raises(AssertionError, match="those of the study are without a unit"):
        by_tune(path, "12 ms", rounds=2)
    assert values(path) == [12.0]


def test_two_imports_at_once_are_in_one_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path)
    create, table = table_import.create_study, tmp_path / "other.csv"
    table.write_text("n,value,unit_value\n10,0.013,s\n")

    def beaten(study_file: StudyFile) -> OpenedStudy:
        """Another import has just begun the study."""
        monkeypatch.setattr(table_import, "create_study", create)
        import_table(path, table)
        return create(study_file)

    monkeypatch.setattr(table_import, "create_study", beaten)
    with pytest.raises(InvalidInput, match="another process has just added numbers in s"):
        by_a_table(path, "12 ms")
    by_a_table(path, "12 ms")
    assert values(path) == [0.013, 0.012]


def test_a_parameter_without_a_unit_has_none(tmp_path: Path) -> None:
    path, table = written(tmp_path), tmp_path / "table.csv"
    table.write_text("n,value,unit_n\n80,12,MB\n")
    import_table(path, table)
    surefoot("export", path, "-o", tmp_path / "again.csv")
    assert "unit_params_n" in (tmp_path / "again.csv").read_text()
    other = written(tmp_path / "other")
    by_tune(other, "12", rounds=1)
    with pytest.raises(InvalidInput, match="n is in MB, and that of ways"):
        import_table(other, table)


def test_a_unit_of_one_operation_is_read_from_a_table_too(tmp_path: Path) -> None:
    path = written(tmp_path, unit=', unit = "ms"')
    by_a_table(path, "12 us/op")
    by_tune(path, "13 us/op", rounds=2)
    assert values(path) == [0.012, 0.013]


def test_a_declared_unit_may_be_printed_by_another_name(tmp_path: Path) -> None:
    path = written(tmp_path, unit=', unit = "requests/s"')
    by_tune(path, "13 req/s", rounds=1)
    by_a_table(path, "12 requests/s")
    by_tune(path, "14 req/s")
    assert values(path) == [13.0, 12.0, 14.0]


@pytest.mark.long
def test_what_is_exported_means_the_same_in_another_unit(tmp_path: Path) -> None:
    old = written(tmp_path / "old", unit=', unit = "ms"')
    old.write_text(old.read_text().replace("high = 90", 'high = 90, unit = "MB"'))
    (old.parent / "print.sh").write_text('echo "1$1 ms"\n')
    surefoot("tune", old, "--quiet")
    surefoot("export", old, "-o", old.with_name("table.csv"))
    new = written(tmp_path / "new", unit=', unit = "s"')
    text = new.read_text().replace("low = 1, high = 90", 'low = 1, high = 90000, unit = "kB"')
    new.write_text(text.replace("default = 7", "default = 7000"))
    import_table(new, old.with_name("table.csv"))
    before, after = open_study(old).state().trials, open_study(new).state().trials
    assert [one.params["n"] * 1000 for one in before] == [one.params["n"] for one in after]
    assert [one.value for one in before] == [pytest.approx(1000.0 * one.value) for one in after]
    assert import_table(new, old.with_name("table.csv")).trials == 0, "they are there"


def test_units_of_a_table_that_are_unlike_are_refused(tmp_path: Path) -> None:
    path, table = written(tmp_path), tmp_path / "table.csv"
    table.write_text("n,value,unit_value\n9,3,ms\n10,4,s\n")
    with pytest.raises(InvalidInput, match="line 3: got 's' in column 'unit_value', expected 'ms'"):
        import_table(path, table)
    with pytest.raises(NoStudy):
        open_study(path)
    said: list[str] = []
    declared = written(tmp_path, unit=', unit = "ms"')
    table.write_text("n,value\n9,3\n")
    import_table(declared, table, note=said.append)
    assert said == [
        "table.csv has no unit of these numbers, which are taken as they are: the measurement in ms"
    ]


SEVERAL = """
study = { name = "ways", rounds = 3, storage = "journal:///ways.log" }
objective = { command = "sh print.sh {n}" }
parameters = { n = { type = "int", low = 1, high = 90 } }
[objectives]
"""
SIZE, TIME = 'size = { direction = "minimize" }\n', 'time = { direction = "minimize" }\n'


def several(folder: Path, *objectives: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "ways.toml"
    path.write_text(SEVERAL + "".join(objectives))
    (folder / "print.sh").write_text('echo "size=$((1000 + $1))"; echo "time=$((20 - $1))"\n')
    return path


def test_the_values_of_trials_are_of_the_first_objective(tmp_path: Path) -> None:
    path = several(tmp_path / "old", SIZE, TIME)
    surefoot("tune", path, "--quiet")
    several(tmp_path / "old", TIME, SIZE)
    wanted = "objectives: got 'time' first, but the study in .* has 'size' first; restore"
    with pytest.raises(StudyFileError, match=wanted):
        open_study(path)
    other = several(tmp_path / "new", TIME, SIZE)
    with pytest.raises(
        InvalidInput, match="the first of its objectives is 'size', expected 'time'"
    ):
        import_study(other, path.with_name("ways.log"))
    with pytest.raises(NoStudy):
        open_study(other)
    same = several(tmp_path / "new", SIZE, TIME)
    assert import_study(same, path.with_name("ways.log")).trials == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((SIZE, SIZE.replace(" }", ', value = "time" }')), "the objective has changed"),
        ((TIME, TIME.replace(" }", ', value = "time" }')), "what is read of time has changed"),
    ],
)
def test_another_number_of_the_output_is_said(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    path = several(tmp_path, SIZE, TIME)
    surefoot("tune", path, "--quiet")
    path.write_text(path.read_text().replace(*change))
    assert said in surefoot("tune", path, "--rounds", 4)


def test_further_objectives_are_converted_and_named(tmp_path: Path) -> None:
    path = several(tmp_path, SIZE, TIME)
    (tmp_path / "print.sh").write_text('echo "size=9 kB"; echo "time=900 us"\n')
    assert "trial 0: size 9 kB, time 900 us" in surefoot("tune", path, "--rounds", 1)
    (tmp_path / "print.sh").write_text('echo "size=9 kB"; echo "time=1.2 ms"\n')
    assert "trial 1: size 9 kB, time 1200 us" in surefoot("tune", path, "--rounds", 2)


def test_the_page_about_telling_can_be_typed(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/ask-tell.md").read_text()
    path = tmp_path / "cache.toml"
    path.write_text(page.split("```toml\n", 1)[1].split("```", 1)[0])
    number = page.split("`surefoot tell cache.toml 0 ", 1)[1]
    open_ask_tell(path).ask(2)
    assert number.startswith('"12.5±0.4 ms" p99="18.3±0.5"')
    open_ask_tell(path).tell(0, 12.5, values={"p99": 18.3})
    told = open_ask_tell(path).tell(1, "12.5±0.4 ms", values={"p99": "18.3±0.5"})
    assert told.value == 12.5
