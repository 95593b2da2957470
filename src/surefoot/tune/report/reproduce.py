"""What is needed to run a study again, fit to be shown to others."""

import platform
import re
import shlex
from importlib.metadata import version

from surefoot.tune import StudyFile

PACKAGES = ("surefoot", "torch", "gpytorch", "botorch", "optuna", "numpy")


def command(study_file: StudyFile) -> str:
    """The command line that runs the study, from the study file's folder."""
    return f"surefoot tune {shlex.quote(study_file.path.name)}"


def storage(study_file: StudyFile) -> str:
    """Where the trials are kept."""
    given = study_file.study.storage
    if given is None:
        return f"{study_file.study.name}.db, beside the study file"
    return without_passwords(given)


def versions() -> tuple[tuple[str, str], ...]:
    """The packages that the numbers come from, with their versions."""
    python = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return (*((name, version(name)) for name in PACKAGES), ("Python", python))


def without_passwords(text: str) -> str:
    """`text` with the password of every address in it replaced by stars."""
    return re.sub(r"(://[^\s:/@\"']*:)[^\s\"']+@", r"\1***@", text)
