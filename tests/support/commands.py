"""Study files with their benchmarks, and the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from surefoot.cli import app


def study_writer(folder: Path, study: str, bench: str) -> Callable[..., Path]:
    """Function that writes a study file with some of its text changed, and `bench.py` beside it.

    Args:
        folder: Where they are written.
        study: Text of the study file.
        bench: Text of the benchmark.
    """

    def write(*changes: tuple[str, str]) -> Path:
        path, text = folder / "study.toml", study
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
        (folder / "bench.py").write_text(bench)
        return path

    return write


def surefoot(*arguments: object, code: int | None = 0) -> str:
    """Output of a command that ends with this exit code, or with any."""
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert code is None or result.exit_code == code, result.output
    return result.output
