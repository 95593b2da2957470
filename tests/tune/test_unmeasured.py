"""Constraints and objectives that no trial has measured: said wherever a recommendation is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import study_writer, surefoot
from surefoot.tune import import_table, open_study
from surefoot.tune.ask_tell.answers import Prediction
from surefoot.tune.ask_tell.ask_tell import open_ask_tell, status_of
from surefoot.tune.report import write_report
from surefoot.tune.study.findings import summarise
from surefoot.types import InvalidInput

PLAIN = """
[study]
name = "demo"
direction = "minimize"
rounds = 30

[parameters]
x = { type = "float", low = 0, high = 1, default = 0.5 }
"""
SEVERAL = """
[study]
name = "demo"
rounds = 30
[objectives]
first = { direction = "minimize" }
cost = { direction = "minimize" }
speed = { direction = "maximize" }

[parameters]
x = { type = "float", low = 0, high = 1, default = 0.5 }
"""
LOAD = 'load = { type = "float", low = 0, high = 1 }\n'
LIMITS = "[constraints]\np99 = {{ max = 20 {} }}\nmem = {{ max = 3 }}\n"
ONE_LIMIT = "[constraints]\np99 = { max = 20 }\n"
SAID = "p99 has no measurement yet"
STUDIES = {
    "alone": PLAIN + ONE_LIMIT,
    "beside a measured one": PLAIN + LIMITS.format(""),
    "safe": PLAIN + LIMITS.format(", safe = true"),
    "fidelity": PLAIN + ONE_LIMIT + "[fidelity]\ns = { levels = [1, 2], cost = [1, 2] }\n",
    "given": PLAIN + ONE_LIMIT + f'[environment]\ncontrol = "given"\n{LOAD}',
    "several objectives": SEVERAL.replace('cost = { direction = "minimize" }\n', "") + ONE_LIMIT,
}


def measured(folder: Path, text: str, *, rows: int = 12) -> Path:
    """A study of which everything but p99 and cost has been measured."""
    study = study_writer(folder, text, "")()
    columns = {"x": "x", "value": "value"}
    columns |= {"mem": "constraint_mem"} if "mem" in text else {}
    columns |= {"speed": "objective_speed"} if "speed" in text else {}
    columns |= {"load": "load"} if "load" in text else {}
    columns |= {"s": "environment_s"} if "levels" in text else {}
    lines = [",".join(columns.values())]
    for index in range(rows):
        x = (0.31 + 0.618 * index) % 1.0
        known = {"x": x, "value": 10 + (x - 0.7) ** 2 + 0.01 * (index % 3), "mem": 5 * x}
        known |= {"speed": x, "load": 0.5, "s": 2}
        lines.append(",".join(f"{known[name]:.6f}" for name in columns))
    (folder / "runs.csv").write_text("\n".join(lines))
    import_table(study, folder / "runs.csv")
    return study


@pytest.mark.long
@pytest.mark.parametrize("text", STUDIES.values(), ids=STUDIES)
def test_a_constraint_without_a_measurement_is_never_satisfied(tmp_path, text):
    study = measured(tmp_path, text)
    given = ("--given", "load=0.5") if "load" in text else ()
    printed = json.loads(surefoot("recommend", study, "--json", *given))
    assert printed["feasible"] is False
    assert printed["feasibility"] is None
    assert printed["unmeasured"] == ["p99"]
    shown = surefoot("recommend", study, *given)
    assert shown.startswith("No feasible configuration yet; nearest, ")
    assert SAID in shown
    assert SAID in status_of(study).lines
    (predicted,) = open_ask_tell(study).predict([{"x": 0.5, **({"load": 0.5} if given else {})}])
    assert SAID in predicted.line
    assert predicted.as_dict["unmeasured"] == ["p99"]
    if given:
        assert SAID in surefoot("recommend", study)
    write_report(study, tmp_path / "report.html")
    assert SAID in (tmp_path / "report.html").read_text()


@pytest.mark.long
def test_what_is_not_measured_leaves_the_order_to_the_rest(tmp_path):
    """The best by the constraints that are measured, as if the other one were not declared."""
    study = measured(tmp_path, STUDIES["beside a measured one"])
    best = open_study(study).state().recommendation
    (other := tmp_path / "other").mkdir()
    plain = STUDIES["beside a measured one"].replace("p99 = { max = 20  }\n", "")
    known = open_study(measured(other, plain)).state().recommendation
    assert (known.feasible, known.unmeasured) == (True, ())
    assert (best.params, best.value) == (known.params, known.value)
    assert best.feasibility == known.feasibility


@pytest.mark.long
@pytest.mark.parametrize("name", ["alone", "beside a measured one", "safe"])
def test_the_search_goes_on_until_the_constraint_is_measured(tmp_path, name):
    study = measured(tmp_path, STUDIES[name])
    session = open_ask_tell(study)
    for _ in range(3):
        (asked,) = session.ask(1)
        x = asked.params["x"]
        others = {"p99": 15 + x} | ({"mem": 5 * x} if name != "alone" else {})
        session.tell(asked.id, 10 + (x - 0.7) ** 2, values=others)
    assert status_of(study).unmeasured == ()
    summary = summarise(open_study(study))
    assert summary.recommended is not None
    assert summary.recommended.unmeasured == ()
    assert "p99" in summary.constraints


class TestObjectives:
    def test_one_without_a_measurement_is_said(self, tmp_path):
        study = measured(tmp_path, SEVERAL)
        said = "cost has no measurement yet"
        assert said in surefoot("recommend", study)
        printed = json.loads(surefoot("recommend", study, "--json"))
        assert any(said in text for text in printed["warnings"])
        assert said in status_of(study).lines
        (predicted,) = open_ask_tell(study).predict(["default"])
        assert isinstance(predicted, Prediction)
        assert said in predicted.line
        assert said in _report(study)
        with pytest.raises(InvalidInput, match=f"--prefer: {said}; leave its limit out"):
            _ = summarise(open_study(study), limits={"cost": 10.0}).recommended

    @pytest.mark.long
    def test_trials_that_lack_one_are_shown_without_it(self, tmp_path):
        study = measured(tmp_path, SEVERAL)
        session = open_ask_tell(study)
        for _ in range(2):
            (asked,) = session.ask(1)
            x = asked.params["x"]
            session.tell(asked.id, 10 + x, values={"cost": 3 * x, "speed": x})
        page = _report(study)
        assert "has no measurement yet" not in page
        assert page.count("cost") > 2
        (predicted,) = open_ask_tell(study).predict(["default"])
        assert predicted.unmeasured == ()
        assert set(predicted.objectives) == {"first", "cost", "speed"}


def _report(study: Path) -> str:
    output = study.parent / "report.html"
    write_report(study, output)
    return output.read_text()
