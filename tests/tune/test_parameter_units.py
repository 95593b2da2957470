"""Units of parameters: recorded with a study, and converted where its trials go to another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import study_writer, surefoot
from surefoot.tune import StudyFileError, open_study
from surefoot.tune.ask_tell.ask_tell import open_ask_tell
from surefoot.tune.study.compatibility import DEFINITION, PARAMETER_UNITS
from surefoot.tune.study.study_import import import_study
from surefoot.types import InvalidInput

STUDY = """
[study]
name = "old"
direction = "minimize"
rounds = 9
initial = 4
[parameters]
wait = { type = "float", low = 1, high = 1000, log = true, unit = "ms" }
cache = { type = "int", low = 1, high = 64, unit = "MB", special = [0] }
mode = { type = "categorical", choices = ["a", "b"] }
"""
GIVEN = (
    '[environment]\ncontrol = "given"\nload = { type = "int", low = 1, high = 9, unit = "kQPS" }\n'
)
WAIT, CACHE = STUDY.splitlines()[7:9]
RENAMED = ('"old"', '"new"')
CONVERTED = {  # what the study file has in place of a line, and how values are changed
    "smaller": (WAIT, WAIT.replace("1000", "1000_000").replace('"ms"', '"us"'), "wait", 1000.0),
    "larger": (WAIT, WAIT.replace("= 1,", "= 0.001,").replace('"ms"', '"s"'), "wait", 0.001),
    "whole": (CACHE, CACHE.replace("64", "64_000").replace("MB", "KB"), "cache", 1000),
    "synonym": (WAIT, WAIT.replace('"ms"', '"msec"'), "wait", 1.0),
    "known in one only": (WAIT, WAIT.replace(', unit = "ms"', ""), "wait", 1.0),
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes the study file with some of its text changed, beside a study that has trials."""
    values = [(1.0, 0, "a"), (42.923, 3, "b"), (325.392, 64, "a"), (1000.0, 5, "b")]
    lines = [f"{wait},{cache},{mode},{n}" for n, (wait, cache, mode) in enumerate(values)]
    (tmp_path / "runs.csv").write_text("\n".join(["wait,cache,mode,value", *lines]))
    written = study_writer(tmp_path, STUDY, "")
    surefoot("import", written(), tmp_path / "runs.csv")
    return written


@pytest.mark.long
@pytest.mark.parametrize(("old", "new", "name", "size"), CONVERTED.values(), ids=CONVERTED)
def test_an_import_converts_them(write, old, new, name, size):
    before = [one.params for one in open_study(write()).study.get_trials()]
    path = write(RENAMED, (old, new))
    done = import_study(path, path.with_name("old.db"))
    assert (done.trials, done.outside) == (4, 0)
    after = [one.params for one in open_study(path).study.get_trials()]
    assert [one[name] for one in after] == [pytest.approx(one[name] * size) for one in before]
    assert [type(one[name]) for one in after] == [type(one[name]) for one in before]
    assert [one["mode"] for one in after] == [one["mode"] for one in before]
    if name == "cache":
        assert after[0]["cache"] == 0, "a special value has no unit"


@pytest.mark.daily(1)
@pytest.mark.parametrize("before", ["without a unit", "not recorded"])
def test_units_that_are_not_known_are_said(write, before):
    old = write(
        (WAIT, WAIT.replace(', unit = "ms"', "")) if before == "without a unit" else ("", "")
    )
    opened = open_study(old)
    stored = {**opened.study.user_attrs[DEFINITION]}
    units = {"cache": "MB"} if before == "without a unit" else None
    stored = {name: one for name, one in stored.items() if name != PARAMETER_UNITS}
    opened.study.set_user_attr(DEFINITION, stored | ({PARAMETER_UNITS: units} if units else {}))
    said: list[str] = []
    path = write(RENAMED)
    import_study(path, path.with_name("old.db"), note=said.append)
    assumed = "wait in ms" if units else "wait in ms, cache in MB"
    assert said == [f"old.db has no unit of these numbers, which are taken as they are: {assumed}"]


def test_a_study_without_a_unit_has_that_of_what_it_takes_over(write):
    old, new, _, _ = CONVERTED["known in one only"]
    path = write(RENAMED, (old, new))
    import_study(path, path.with_name("old.db"))
    with pytest.raises(StudyFileError, match=r"parameters.wait.unit: got 's', but .* in ms"):
        open_study(write(RENAMED, ('"ms"', '"s"')))


def test_a_unit_that_cannot_be_converted_is_refused(write):
    path = write(RENAMED, ('"ms"', '"points"'))
    said = r"old.db: wait is in ms, and that of study.toml is in points, expected a unit that can"
    with pytest.raises(InvalidInput, match=said):
        import_study(path, path.with_name("old.db"))
    assert not path.with_name("new.db").exists()
    path = write(RENAMED, ('"ms"', '"points"'), ("[parameters]", PRIOR))
    with pytest.raises(StudyFileError, match=r"prior.from: .*wait is in ms"):
        open_ask_tell(path)


OBJECTIVE = """[objective]\ncommand = "sh -c 'echo 1' {wait} {cache} {mode}"\n"""
PRIOR = '[prior]\nfrom = "old.db"\n[parameters]'


def test_a_prior_is_in_the_units_of_the_study(write):
    """It begins at what the older study recommends."""
    best = open_study(write()).state().recommendation.params
    old, new, _, size = CONVERTED["larger"]
    path = write(RENAMED, ("[parameters]", OBJECTIVE + PRIOR), (old, new))
    surefoot("tune", path, "--rounds", "1", "--quiet")
    (first,) = open_study(path).study.get_trials()
    assert first.params == {**best, "wait": pytest.approx(best["wait"] * size)}


class TestEditing:
    """The unit in the study file of a study that has trials."""

    @pytest.mark.long
    @pytest.mark.parametrize("unit", ["s", "points"])
    def test_another_one_is_refused(self, write, unit):
        path = write(('"ms"', f'"{unit}"'))
        said = f"parameters.wait.unit: got '{unit}', but .* values in ms; write unit = 'ms' and the"
        for opening in (open_study, open_ask_tell):
            with pytest.raises(StudyFileError, match=said):
                opening(path)
        assert "unit = 'ms'" in surefoot("ask", path, code=2)

    def test_one_that_means_the_same_is_not(self, write):
        assert open_ask_tell(write(('"ms"', '"msec"'))).ask(1)

    @pytest.mark.long
    def test_one_that_is_dropped_is_kept(self, write):
        assert open_ask_tell(write((', unit = "ms"', ""))).ask(1)
        with pytest.raises(StudyFileError, match="values in ms"):
            open_study(write(('"ms"', '"s"')))

    @pytest.mark.long
    def test_a_study_from_before_they_were_recorded_gets_one(self, write):
        study = open_study(write()).study
        stored = {**study.user_attrs[DEFINITION]}
        del stored[PARAMETER_UNITS]
        study.set_user_attr(DEFINITION, stored)
        assert open_ask_tell(write(('"ms"', '"s"'))).ask(1)
        with pytest.raises(StudyFileError, match="values in s"):
            open_study(write())

    def test_without_a_trial_it_is_free(self, tmp_path):
        write = study_writer(tmp_path, STUDY, "")
        open_ask_tell(write())
        assert open_ask_tell(write(('"ms"', '"s"'))).ask(1)


def test_a_given_variable_has_one_too(tmp_path):
    write = study_writer(tmp_path, STUDY + GIVEN, "")
    open_ask_tell(write()).ask(1, {"load": "7"})
    with pytest.raises(StudyFileError, match=r"environment.load.unit: got 'MQPS', but .* in kQPS"):
        open_study(write(("kQPS", "MQPS")))
