"""Rules between the parameters of a study file."""

from __future__ import annotations

import pytest

from support.study_doubles import Scripted
from surefoot.tune import StudyFile, StudyFileError, import_table
from surefoot.tune.comparison.named_settings import named_setting
from surefoot.tune.stopping import Stop
from surefoot.tune.study.findings import summarise
from surefoot.tune.study.opened_study import create_study, open_study
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.workers.worker_loop import tune
from surefoot.types import InvalidInput

LAST = '"FULL"] }'
RULES = (
    LAST,
    LAST
    + """

[[require]]
rule = "size <= 4096 + 8192 * share"

[[require]]
rule = "mode != 'OFF' or share >= 0.5"
""",
)


def _rules(*rules: str) -> tuple[str, str]:
    return LAST, LAST + "".join(f"\n\n[[require]]\n{rule}" for rule in rules)


def _satisfied(params: dict) -> bool:
    within = params["size"] <= 4096 + 8192 * params["share"]
    return within and (params["mode"] != "OFF" or params["share"] >= 0.5)


@pytest.mark.long
def test_a_run_and_its_recommendation_satisfy_the_rules(write_study):
    path = write_study(RULES)
    study_file, objective = StudyFile.load(path), Scripted()
    opened = create_study(study_file)
    tune(StudyTrials(opened, 12, "a run", "w0"), objective, Stop())
    assert len(objective.asked) == 12
    assert all(map(_satisfied, objective.asked))
    best = summarise(open_study(path)).recommended
    assert best is not None
    assert _satisfied(best.params)


def test_a_row_that_violates_a_rule_is_refused_by_its_line(write_study, tmp_path):
    path, table = write_study(RULES), tmp_path / "rows.csv"
    table.write_text("size,share,mode,value\n600,0.5,OFF,1.0\n9000,0.25,FULL,2.0\n")
    with pytest.raises(InvalidInput) as refused:
        import_table(path, table)
    assert str(refused.value).endswith(
        "rows.csv: line 3: got size = 9000, share = 0.25, mode = 'FULL', which violates "
        "'size <= 4096 + 8192 * share', expected configurations that satisfy every rule of "
        "[[require]]; nothing was imported"
    )
    table.write_text("size,share,mode,value\n600,0.5,OFF,1.0\n6144,0.25,FULL,2.0\n")
    assert import_table(path, table).trials == 2


def test_a_named_configuration_satisfies_the_rules(write_study):
    study_file = StudyFile.load(write_study(RULES))
    assert named_setting(study_file, "size=600,share=0.5,mode=OFF").params["mode"] == "OFF"
    with pytest.raises(InvalidInput, match=r"violates .*mode != 'OFF' or share >= 0\.5"):
        named_setting(study_file, "size=600,share=0.4,mode=OFF")


@pytest.mark.daily(6)
@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (["rule = 'size + sizes <= 9'"], "require.0.rule: got 'size + sizes <= 9', where 'sizes'"),
        (["rule = 'share <= 1'", "rule = 'size'"], "require.1.rule: got 'size', where `size`"),
        (["rule = 'import os'"], "require.0.rule: got 'import os', which cannot be read"),
        (["rule = 3"], "require.0.rule: got 3, expected a rule such as 'a + b <= 10'"),
        (["rules = 'share <= 1'"], "require.0.rules: unknown key; did you mean `rule`?"),
        (["rule = 'share <= -1'"], "require.0.rule: no configuration was found that satisfies"),
        (
            ["rule = 'share <= 0.5'", "rule = 'size <= 600'", "rule = 'share * size >= 1000'"],
            "require.1.rule: no configuration was found that satisfies both `size <= 600` and "
            "`share * size >= 1000`",
        ),
    ],
)
def test_a_wrong_rule_is_refused_in_a_line(write_study, rules, message):
    with pytest.raises(StudyFileError) as refused:
        StudyFile.load(write_study(_rules(*rules)))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_defaults_that_violate_a_rule_are_refused(write_study):
    defaults = (
        ("log = true }", "log = true, default = 9000 }"),
        ("low = 0, high = 1 }", "low = 0, high = 1, default = 0.25 }"),
        (LAST, '"FULL"], default = "FULL" }\n\n[[require]]\nrule = "size <= 8000"'),
    )
    with pytest.raises(StudyFileError) as refused:
        StudyFile.load(write_study(*defaults))
    assert (
        "require.0.rule: got 'size <= 8000', which the defaults violate (size = 9000, share = 0.25,"
        in str(refused.value)
    )
