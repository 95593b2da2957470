"""One HTML page about a study: its results, their uncertainty, and the data."""

from __future__ import annotations

from pathlib import Path

from surefoot.tune.output_file import check_output, output_file
from surefoot.tune.plain_text import storable
from surefoot.tune.report.collect import collect
from surefoot.tune.report.page import page
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.study.state import StudyState

__all__ = ["check_report", "write_report", "write_state"]


def write_report(study_file: Path | str, output: Path | str) -> None:
    """Write the report of a study as one HTML file that needs no network.

    The file appears complete or not at all. The study is not changed.

    Args:
        study_file: The study file.
        output: The HTML file to write.

    Raises:
        InvalidInput: If the study file is invalid, or the output is in no folder or does not end
            with `.html` or `.htm`.
        NotReady: If the study has no measurement yet.
        StorageFailed: If the storage cannot be read.
        WriteFailed: If the output cannot be written.
    """
    output = Path(output)
    check_report(output)
    write_state(open_study(study_file).state(), output)


def check_report(output: Path) -> None:
    """Raise `InvalidInput` for a file that a report cannot be written to."""
    check_output(output, (".html", ".htm"))


def write_state(state: StudyState, output: Path, progress: str = "", reloads: bool = False) -> None:
    """Write the report of a study as it is at one time; see `write_report`.

    Args:
        state: The study.
        output: The HTML file to write.
        progress: How far the study is, shown at the top.
        reloads: Whether the page reloads itself.
    """
    text = page(collect(state), progress, reloads)
    with output_file(output) as partial:
        partial.write_text(storable(text), encoding="utf-8")
