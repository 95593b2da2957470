"""Atomic writes: the old content or the new, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefoot._internal.files import atomic_write


def test_a_file_is_created_and_replaced(tmp_path: Path):
    path = tmp_path / "table.csv"
    for content in ("first", "second"):
        with atomic_write(path) as partial:
            assert partial.parent == tmp_path
            partial.write_text(content)
            assert not path.exists() or path.read_text() == "first"
        assert path.read_text() == content
    assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ValueError])
def test_an_error_leaves_the_old_content_and_no_other_file(tmp_path: Path, error):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def write() -> None:
        with atomic_write(path) as partial:
            partial.write_text("half")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]


def test_a_block_that_writes_nothing_is_an_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "table.csv"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["missing/run", "folder"])
def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path, where: str):
    (tmp_path / "folder").mkdir()
    path = tmp_path / where
    with pytest.raises(OSError) as caught, atomic_write(path) as partial:
        partial.write_text("text")
    assert caught.value.filename == str(path)
    assert ".partial" not in str(caught.value)
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
