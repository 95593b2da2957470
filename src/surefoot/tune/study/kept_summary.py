"""The summary of a study, kept in a file so that it is computed only once.

Reading it needs neither torch nor a fit. It is valid for exactly the trials and the study file that
it was computed from, and for the same code; any other file in its place is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial

import surefoot
from surefoot._internal.files import atomic_write
from surefoot.integrations.optuna import PredictedConstraint, StudyRecommendation
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.study.storage import reading
from surefoot.tune.study.study import AgainstDefaults, Summary, summarise

LARGEST = 2**24  # bytes of a file that is read
PACKAGES = ("torch", "gpytorch", "linear-operator", "scipy", "numpy", "optuna")


def summary_file(study_file: StudyFile) -> Path:
    """Where the summary is kept: `.NAME.summary.json` beside the study file."""
    return study_file.folder / f".{study_file.study.name}.summary.json"


def kept_summary(study_file: StudyFile, study: optuna.Study) -> Summary:
    """The summary of a study from its file, computed and kept there if that is not possible.

    The file is replaced in one step and nothing is locked. One that cannot be read or written, or
    is damaged, is as good as none.

    Args:
        study_file: The checked study file.
        study: Its study, with the default sampler.

    Returns:
        The summary, the same to the last bit either way.

    Raises:
        StorageFailed: If the storage cannot be read.
    """
    path = summary_file(study_file)
    with reading(study_file):
        key = _key(study_file, study)
    known = _read(path, key, study_file)
    if known is not None:
        return known
    summary = summarise(study_file, study)
    if summary.recommended is not None:
        _write(path, key, summary)
    return summary


def _key(study_file: StudyFile, study: optuna.Study) -> str:
    """Hash of all that a summary depends on."""
    content = {
        "code": _code(),
        "study file": repr(study_file.contents),
        "study": [study.study_name, study.direction.name, study.user_attrs],
        "trials": [_described(trial) for trial in study.get_trials(deepcopy=False)],
    }
    return _hash(json.dumps(content, sort_keys=True, default=repr))


def _described(trial: FrozenTrial) -> list[Any]:
    times = (trial.datetime_start, trial.datetime_complete)
    distributions = {name: repr(one) for name, one in trial.distributions.items()}
    return [
        *(trial.number, trial.state.name, trial.values, trial.params, distributions),
        *(trial.user_attrs, trial.system_attrs, *map(str, times)),
    ]


@cache
def _code() -> str:
    """Hash of surefoot's source and of the versions of what it computes with."""
    folder = Path(surefoot.__file__).parent
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        found.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes() + b"\0")
    versions = [platform.python_version(), platform.machine(), surefoot.__version__]
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions.append(version(package))
    return f"{found.hexdigest()} {' '.join(versions)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _write(path: Path, key: str, summary: Summary) -> None:
    content = json.dumps(
        {
            "trials": summary.trials,
            "failed": summary.failed,
            "recommended": asdict(summary.recommended),  # type: ignore[arg-type]
            "defaults": None if summary.defaults is None else asdict(summary.defaults),
            "constraints": {
                name: {key: value for key, value in vars(one).items() if key != "limit"}
                for name, one in summary.constraints.items()
            },
            "warnings": summary.warnings,
            "effects": summary.effects,
            "over_environment": summary.over_environment,
        }
    )
    kept = {"key": key, "summary": content, "hash": _hash(key + content)}
    with contextlib.suppress(OSError), atomic_write(path) as partial:
        partial.write_text(json.dumps(kept), encoding="utf-8")


def _read(path: Path, key: str, study_file: StudyFile) -> Summary | None:
    """The summary in a file, None unless it is whole and has the key."""
    with contextlib.suppress(
        OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError
    ):
        if not path.is_file() or path.stat().st_size > LARGEST:
            return None
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["key"] == key and kept["hash"] == _hash(key + kept["summary"]):
            return _decode(json.loads(kept["summary"]), study_file)
    return None


def _decode(content: dict[str, Any], study_file: StudyFile) -> Summary:
    against = content["defaults"]
    return Summary(
        trials=content["trials"],
        failed=content["failed"],
        recommended=StudyRecommendation(**content["recommended"]),
        risk=study_file.risk_description,
        defaults=None if against is None else AgainstDefaults(**against),
        constraints={
            name: PredictedConstraint(study_file.constraints[name], **one)
            for name, one in content["constraints"].items()
        },
        warnings=tuple(content["warnings"]),
        units=study_file.units,
        effects=tuple(content["effects"]),
        over_environment=tuple(content["over_environment"]),
    )
