"""Tuning a system from a study file: what the command line does, callable from Python."""

from surefoot._internal.extras import extra

with extra("tune"):
    from surefoot.tune.comparison.compare import ComparisonFailed, compare
    from surefoot.tune.comparison.comparison import Comparison, Difference
    from surefoot.tune.definition.study_file import StudyFile, StudyFileError
    from surefoot.tune.measuring.measurement import Failure, Measurement
    from surefoot.tune.output_file import WriteFailed
    from surefoot.tune.run import Outcome, run
    from surefoot.tune.study.opened_study import OpenedStudy, open_study
    from surefoot.tune.study.state import StudyState
    from surefoot.tune.study.storage import NoStudy
    from surefoot.tune.study.summary import Summary, summarise
    from surefoot.tune.study.table_import import import_table
    from surefoot.tune.study.tables import export
    from surefoot.tune.study.trial_attributes import is_round

__all__ = [
    "Comparison",
    "ComparisonFailed",
    "Difference",
    "Failure",
    "Measurement",
    "NoStudy",
    "OpenedStudy",
    "Outcome",
    "StudyFile",
    "StudyFileError",
    "StudyState",
    "Summary",
    "WriteFailed",
    "compare",
    "export",
    "import_table",
    "is_round",
    "open_study",
    "run",
    "summarise",
]
