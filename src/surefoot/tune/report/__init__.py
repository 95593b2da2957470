"""One HTML page about a study: its results, their uncertainty, and the data."""

from __future__ import annotations

from pathlib import Path

from surefoot.tune.output_file import check_output, output_file
from surefoot.tune.plain_text import storable
from surefoot.tune.report.collect import collect
from surefoot.tune.report.page import page
from surefoot.tune.study.opened_study import open_study

__all__ = ["write_report"]


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
    check_output(output, (".html", ".htm"))
    text = page(collect(open_study(study_file).state()))
    with output_file(output) as partial:
        partial.write_text(storable(text), encoding="utf-8")
