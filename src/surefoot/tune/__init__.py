"""Tuning a real system from a study file: what the command line does, callable from Python."""

from surefoot.tune.export import export
from surefoot.tune.objective import Failure, Measurement
from surefoot.tune.opening import belief_of, open_study
from surefoot.tune.run import Outcome, Summary, run, summarise
from surefoot.tune.study_file import StudyFile, StudyFileError

__all__ = [
    "Failure",
    "Measurement",
    "Outcome",
    "StudyFile",
    "StudyFileError",
    "Summary",
    "belief_of",
    "export",
    "open_study",
    "run",
    "summarise",
]
