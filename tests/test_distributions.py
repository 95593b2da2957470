"""The wheels and source distributions that are handed out."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest

import surefoot

ROOT = Path(__file__).parents[1]
SOURCES = {"surefoot": ROOT, "surefoot_experiments": ROOT / "experiments"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make dist` builds."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    for source in SOURCES.values():
        subprocess.run(build, cwd=source, check=True, capture_output=True)
    return folder


def wheel(built: Path, name: str) -> ZipFile:
    (path,) = built.glob(f"{name}-*.whl")
    return ZipFile(path)


def metadata(built: Path, name: str) -> Message:
    content = wheel(built, name)
    (path,) = (one for one in content.namelist() if one.endswith(".dist-info/METADATA"))
    return message_from_bytes(content.read(path))


@pytest.mark.long
@pytest.mark.parametrize("name", SOURCES)
def test_a_wheel_has_the_files_of_its_package_and_no_others(built: Path, name: str) -> None:
    source = SOURCES[name] / "src"
    files = [one for one in (source / name).rglob("*.*") if one.suffix != ".pyc" and one.is_file()]
    held = [one for one in wheel(built, name).namelist() if ".dist-info/" not in one]
    assert {one.relative_to(source).as_posix() for one in files} <= {*held}
    assert {one.partition("/")[0] for one in held} == {name}


@pytest.mark.parametrize("name", SOURCES)
def test_a_distribution_says_what_it_is(built: Path, name: str) -> None:
    found = metadata(built, name)
    assert found["Version"] == surefoot.__version__
    assert found["Description-Content-Type"] == "text/markdown"
    text = str(found.get_payload())
    assert len(text) > 200
    relative = re.findall(r"\]\((?!https?:|#)[^)]+\)", text)
    assert not relative, "an index cannot follow them"


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_distribution_has_what_it_is_built_from(built: Path, name: str) -> None:
    (path,) = built.glob(f"{name}-*.tar.gz")
    with tarfile.open(path) as archive:
        inner = {one.partition("/")[2] for one in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", f"src/{name}/__init__.py"} <= inner


def test_the_extras_of_the_library_are_declared_in_its_wheel(built: Path) -> None:
    extras = metadata(built, "surefoot").get_all("Provides-Extra", [])
    assert {"tune", "optuna", "botorch", "sklearn", "mcp", "plot"} <= {*extras}
