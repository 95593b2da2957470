"""Tuning a real system from a study file: what the command line does, callable from Python."""

from surefoot.tuning.export import export
from surefoot.tuning.objective import Failure, Measurement
from surefoot.tuning.opening import belief_of, open_study
from surefoot.tuning.run import Outcome, Summary, run, summarise
from surefoot.tuning.study_file import StudyFile, StudyFileError

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
