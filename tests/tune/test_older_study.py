"""Studies with `[prior]`: what cannot be used is refused before anything is created."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import study_writer, surefoot

OLDER = """
study = { name = "older", direction = "minimize", rounds = 3 }
objective = { command = "sh -c 'echo {threads}'" }
parameters = { threads = { type = "int", low = 1, high = 32, default = 4 } }
"""
REFUSED = {
    "other names": ("threads", "workers", "has 0 finished trials with values of workers in their"),
    "other range": ("low = 1, high = 32, default = 4", "low = 64, high = 99", "has 0 finished"),
    "other direction": ("minimize", "maximize", "the study is to minimize, expected maximize"),
}


@pytest.fixture
def older(tmp_path: Path) -> Callable[..., Path]:
    """Writes a newer study file with some of its text changed, beside a study that is done."""
    surefoot("tune", study_writer(tmp_path, OLDER, "")())
    (tmp_path / "study.toml").rename(tmp_path / "older.toml")
    newer = OLDER.replace('"older"', '"newer"') + '[prior]\nfrom = "older.db"\n'
    return study_writer(tmp_path, newer, "")


@pytest.mark.daily(1)
@pytest.mark.parametrize("kind", REFUSED)
def test_one_that_cannot_be_used_is_refused_before_anything_is_created(
    older: Callable[..., Path], kind: str
) -> None:
    old, new, said = REFUSED[kind]
    path = older((old, new))
    for command in ("check", "tune", "ask"):
        assert "study.toml: prior.from: " in (output := surefoot(command, path, code=2))
        assert said in output
    assert not path.with_name("newer.db").exists()


@pytest.mark.long
def test_one_of_the_same_parameters_is_used(older: Callable[..., Path]) -> None:
    path = older(("rounds = 3", "rounds = 2"))
    assert "measurement: 4" in surefoot("check", path)
    assert not path.with_name("newer.db").exists()
    assert "2 of 2 rounds finished" in surefoot("tune", path)


@pytest.mark.parametrize("source", ["newer.db", "copy.db"])
def test_one_with_measurements_of_the_study_itself_is_refused(tmp_path: Path, source: str) -> None:
    newer = OLDER.replace('"older"', '"newer"')
    path = study_writer(tmp_path, newer, "")()
    surefoot("tune", path)
    shutil.copy(tmp_path / "newer.db", tmp_path / "copy.db")
    path.write_text(f'{newer}[prior]\nfrom = "{source}"\n')
    for command in ("tune", "recommend", "status", "ask"):
        said = surefoot(command, path, code=2)
        assert "study.toml: prior.from: has measurements of this very study" in said
    path.write_text(newer)
    assert "3 of 3 rounds" in surefoot("status", path)
