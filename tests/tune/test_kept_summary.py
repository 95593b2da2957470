"""A summary is computed once for the same trials, study file and code, and is the same then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

from surefoot.tune import Summary, import_table, open_study, run, summarise
from surefoot.tune.study.kept_summary import kept_summary, summary_file

DEFAULTS = (
    ("log = true }", "log = true, default = 4096 }"),
    ("high = 1 }", "high = 1, default = 0.5 }"),
    ('"FULL"] }', '"FULL"], default = "FULL" }'),
)
LIMIT = ("[parameters]", "[constraints]\np99 = { max = 20 }\n\n[parameters]")
ROWS = [
    (1000 * (1 + i), round(i / 7, 3), ("OFF", "NORMAL", "FULL")[i % 3], 5 + i / 7 - i % 2, 15 + i)
    for i in range(8)
]
TABLE = "size,share,mode,value,p99\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)


@pytest.fixture
def path(write_study) -> Path:
    """A study with defaults, a constraint and measurements."""
    path = write_study(*DEFAULTS, LIMIT)
    (path.parent / "runs.csv").write_text(TABLE)
    import_table(path, path.parent / "runs.csv")
    return path


@pytest.fixture
def computed(monkeypatch) -> list[optuna.Study]:
    """The studies of which a summary was computed."""
    calls: list[optuna.Study] = []

    def counted(study_file, study) -> Summary:
        calls.append(study)
        return summarise(study_file, study)

    monkeypatch.setattr("surefoot.tune.study.kept_summary.summarise", counted)
    return calls


@pytest.mark.slow
def test_it_is_the_same_to_the_last_bit_and_the_storage_is_unchanged(path, computed):
    storage = path.parent / "hill.db"
    before = storage.read_bytes()
    first, second = kept_summary(*open_study(path)), kept_summary(*open_study(path))
    fresh = summarise(*open_study(path))
    assert len(computed) == 1
    assert repr(second) == repr(first) == repr(fresh)
    assert second == fresh
    assert list(second.recommended.params) == list(fresh.recommended.params)
    assert second.defaults is not None
    assert list(second.constraints) == ["p99"]
    assert storage.read_bytes() == before


@pytest.mark.slow
def test_another_trial_another_file_and_other_code_need_another_summary(
    path, computed, monkeypatch
):
    kept_summary(*open_study(path))
    (path.parent / "more.csv").write_text("size,share,mode,value,p99\n700,0.9,OFF,4.5,16\n")
    import_table(path, path.parent / "more.csv")
    assert kept_summary(*open_study(path)).trials == len(ROWS) + 1
    path.write_text(path.read_text().replace("max = 20", "max = 17"))
    kept_summary(*open_study(path))
    monkeypatch.setattr("surefoot.tune.study.kept_summary._code", lambda: "a later version")
    kept_summary(*open_study(path))
    kept_summary(*open_study(path))
    assert len(computed) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('\\"value\\": ', '\\"value\\": 1', 1),
        lambda text: json.dumps({**json.loads(text), "key": "of another study"}),
        lambda text: "[" * 100_000,
        lambda text: "\0" * 40,
        lambda text: "{}",
    ],
    ids=["half", "digit", "foreign", "nested", "zeros", "empty"],
)
def test_a_damaged_or_foreign_file_is_replaced(path, computed, content):
    first = kept_summary(*open_study(path))
    file = summary_file(open_study(path)[0])
    whole = file.read_text()
    file.write_text(content(whole))
    assert kept_summary(*open_study(path)) == first
    assert len(computed) == 2
    assert file.read_text() == whole


@pytest.mark.slow
def test_what_cannot_be_written_is_computed_each_time(path, computed):
    summary_file(open_study(path)[0]).mkdir()
    assert kept_summary(*open_study(path)) == kept_summary(*open_study(path))
    assert len(computed) == 2
    assert [one.name for one in path.parent.glob(".*.partial")] == []


@pytest.mark.slow
def test_a_run_leaves_the_summary_that_recommend_gives(write_study, computed):
    outcome = run(write_study(), rounds=4, quiet=True)
    assert len(computed) == 1
    summary = kept_summary(*open_study(write_study()))
    assert len(computed) == 1
    assert summary == outcome.summary == summarise(*open_study(write_study()))


@pytest.mark.slow
def test_a_second_look_loads_no_torch(path):
    program = (
        "import sys; from surefoot.tune import open_study\n"
        "from surefoot.tune.study.kept_summary import kept_summary\n"
        f"kept_summary(*open_study({str(path)!r}))\n"
        "print([name for name in ('torch', 'scipy', 'plotly') if name in sys.modules])"
    )
    kept_summary(*open_study(path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
