"""Tests of `surefoot.tune.definition.schemes`."""

import pytest

from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.study.confirm_stage import confirm_runs

GIVEN = "environment.control = 'given'"
TABLES = {  # of each scheme
    "[environment]": '[environment]\nload = { values = [1, 2] }\n[risk]\nmeasure = "mean"',
    GIVEN: '[environment]\ncontrol = "given"\nload = { type = "int", low = 1, high = 9 }',
    "[fidelity]": "[fidelity]\nseconds = { levels = [5, 120], cost = [5, 120] }",
    "[objectives]": '[objectives]\nlatency = { direction = "minimize" }\n'
    'memory = { direction = "minimize" }',
}
LINES = {  # that write a key of a file
    "confirm": "[confirm]\nshare = 0.1",
    "repeats": "[repeats]\nmost = 2",
    "stop": "[stop]\ngain = 0.1",
    "prior": '[prior]\nfrom = "old.db"',
    "environment": "[environment]\nload = { values = [1, 2] }",
    "fidelity": TABLES["[fidelity]"],
    "risk": '[risk]\nmeasure = "mean"',
    "constraints.*.safe": "[constraints]\np99 = { max = 20, safe = true }",
}
WITHIN = {  # keys of tables that every file has
    "study.safe": "safe = true",
    "study.direction": 'direction = "minimize"',
    "objective.log": "log = true",
    "objective.race": "race = true",
    "objective.value": 'value = "p95"',
    "objective.unit": 'unit = "ms"',
}


def _text(scheme, key=""):
    study, objective = ["[study]", 'name = "s"', "rounds = 9"], ["[objective]"]
    variables = {
        "[environment]": " {load}",
        "environment.control = 'given'": " {load}",
        "[fidelity]": " {seconds}",
    }
    objective.append(f'command = "b {{x}}{variables.get(scheme, "")}"')
    if scheme != "[objectives]":
        study.append(WITHIN["study.direction"])
    if key in WITHIN:
        (study if key.startswith("study.") else objective).append(WITHIN[key])
    parameters = ["[parameters]", 'x = { type = "float", low = 0, high = 1 }']
    return "\n".join([*study, *objective, *parameters, TABLES.get(scheme, ""), LINES.get(key, "")])


@pytest.mark.parametrize("scheme", ["", *TABLES])
def test_a_file_has_the_scheme_of_its_tables(tmp_path, scheme):
    (path := tmp_path / "study.toml").write_text(_text(scheme))
    found = StudyFile.load(path).scheme
    assert found.table == scheme
    assert (found.environment is not None) is bool(found.variables)


@pytest.mark.parametrize("scheme", TABLES)
def test_what_does_not_go_together_is_refused_by_its_key(tmp_path, scheme):
    (path := tmp_path / "study.toml").write_text(_text(scheme))
    excluded = StudyFile.load(path).scheme.excluded
    assert excluded
    for key, wanted in excluded.items():
        path.write_text(_text(scheme, key))
        with pytest.raises(StudyFileError) as error:
            StudyFile.load(path)
        named = str(error.value).removeprefix(f"{path}: ")
        assert named.startswith(f"{key.replace('*', 'p99')}: ")
        assert f" beside {scheme}, {wanted}" in named


@pytest.mark.parametrize("scheme", ["", *TABLES])
def test_nothing_is_measured_again_where_that_cannot_be_asked_for(tmp_path, scheme):
    (path := tmp_path / "study.toml").write_text(_text(scheme))
    study_file = StudyFile.load(path)
    assert study_file.scheme.is_replayed is ("confirm" not in study_file.scheme.excluded)
    assert (confirm_runs(study_file, 60) > 0) is study_file.scheme.is_replayed


@pytest.mark.parametrize("scheme", TABLES)
def test_all_that_does_not_go_together_is_named_at_once(tmp_path, scheme):
    (path := tmp_path / "study.toml").write_text(_text(scheme))
    tables = [key for key in StudyFile.load(path).scheme.excluded if key in LINES]
    first, *others = tables[:3]
    path.write_text("\n".join([_text(scheme, first), *(LINES[key] for key in others)]))
    with pytest.raises(StudyFileError) as error:
        StudyFile.load(path)
    assert str(error.value).startswith(f"{path}: {first}")
    if others:
        named = ", ".join(key.replace("*", "p99") for key in others)
        assert str(error.value).endswith(f"(and so {'are' if others[1:] else 'is'} {named})")


@pytest.mark.parametrize(
    "key", ["confirm", "repeats", "stop", "prior", "study.safe", "objective.log"]
)
def test_what_some_schemes_exclude_goes_with_a_single_value(tmp_path, key):
    (path := tmp_path / "study.toml").write_text(_text("", key))
    assert StudyFile.load(path).scheme.table == ""
