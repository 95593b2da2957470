"""Tuning a system from a study file: what the command line does, callable from Python."""

from typing import TYPE_CHECKING

from surefoot._internal.extras import check_installed
from surefoot._internal.lazy import lazily

if TYPE_CHECKING:
    from surefoot.tune.ask_tell.ask_tell import AskTell, NothingToAsk, open_ask_tell
    from surefoot.tune.comparison.compare import ComparisonFailed, compare
    from surefoot.tune.comparison.comparison import Comparison, Difference
    from surefoot.tune.definition.study_file import StudyFile, StudyFileError
    from surefoot.tune.measuring.measurement import Failure, Measurement
    from surefoot.tune.output_file import WriteFailed
    from surefoot.tune.running import Outcome, run
    from surefoot.tune.study.findings import Findings, summarise
    from surefoot.tune.study.location import NoStudy
    from surefoot.tune.study.opened_study import OpenedStudy, open_study
    from surefoot.tune.study.state import StudyState
    from surefoot.tune.study.table_import import import_table
    from surefoot.tune.study.tables import export
    from surefoot.tune.study.trial_attributes import is_round

check_installed(
    "tune", "optuna", "sqlalchemy", "pydantic", "typer", "rich", "jinja2", "markupsafe", "plotly"
)
_NAMES = {
    "ask_tell.ask_tell": ("AskTell", "NothingToAsk", "open_ask_tell"),
    "comparison.compare": ("ComparisonFailed", "compare"),
    "comparison.comparison": ("Comparison", "Difference"),
    "definition.study_file": ("StudyFile", "StudyFileError"),
    "measuring.measurement": ("Failure", "Measurement"),
    "output_file": ("WriteFailed",),
    "running": ("Outcome", "run"),
    "study.opened_study": ("OpenedStudy", "open_study"),
    "study.state": ("StudyState",),
    "study.location": ("NoStudy",),
    "study.findings": ("Findings", "summarise"),
    "study.table_import": ("import_table",),
    "study.tables": ("export",),
    "study.trial_attributes": ("is_round",),
}

__all__ = [
    "AskTell",
    "Comparison",
    "ComparisonFailed",
    "Difference",
    "Failure",
    "Findings",
    "Measurement",
    "NoStudy",
    "NothingToAsk",
    "OpenedStudy",
    "Outcome",
    "StudyFile",
    "StudyFileError",
    "StudyState",
    "WriteFailed",
    "compare",
    "export",
    "import_table",
    "is_round",
    "open_ask_tell",
    "open_study",
    "run",
    "summarise",
]

__getattr__ = lazily(
    __name__, {name: f"{__name__}.{home}" for home, names in _NAMES.items() for name in names}
)
