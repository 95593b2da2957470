"""One HTML page about a study, to be shown: what was found, how sure it is, what it rests on."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from surefoot.tune import belief_of, open_study
from surefoot.tune.report.gather import gather
from surefoot.tune.report.page import page
from surefoot.types import InvalidInput, SurefootError

__all__ = ["ReportFailed", "write_report"]


class ReportFailed(SurefootError):
    """The report could not be written."""


def write_report(study_file: Path | str, output: Path | str) -> None:
    """Write the report of a study as one HTML file that needs no network.

    The file appears complete or not at all. The study is not changed. Raises `InvalidInput` for a
    wrong study file or an output in no folder, `NotReady` before the first measurement, and
    `ReportFailed` where the file cannot be written.
    """
    output = Path(output)
    if not output.absolute().parent.is_dir():
        raise InvalidInput(f"{output}: there is no folder {output.absolute().parent}")
    if output.is_dir():
        raise InvalidInput(f"{output} is a folder, expected the name of a file")
    checked, study = open_study(study_file)
    text = page(gather(checked, study, belief_of(checked, study)))
    # Beside the file, under a name of its own, so that replacing it is one step.
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(output)
    except OSError as error:
        raise ReportFailed(f"{output}: cannot be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
