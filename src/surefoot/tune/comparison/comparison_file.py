"""The runs of comparisons, one JSON line each, in `NAME.compare.jsonl` beside the study file."""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import VALUE, Failure, Measurement
from surefoot.tune.measuring.quantity import Quantity
from surefoot.tune.output_file import WriteFailed, append_line, read_lines
from surefoot.tune.system import try_lock
from surefoot.types import InvalidInput

T = TypeVar("T")
Runs = list[dict[str, Measurement | Failure]]  # by pair: results of "a" and "b", as far as measured


@dataclass(frozen=True)
class ComparisonRecord:
    """The runs of one comparison, and the file to which new ones are appended.

    A run is on the disk before the next begins, so it survives `kill -9`; a line that a dead
    process has begun is removed.

    Args:
        path: The file.
        number: Number of the comparison in the file, from 1.
        pairs: Results by pair, in order; the last pair may lack one.
    """

    path: Path
    number: int
    pairs: Runs

    def add(
        self,
        pair: int,
        label: str,
        result: Measurement | Failure,
        environment: Mapping[str, Any],
    ) -> None:
        """Record a run.

        Raises:
            WriteFailed: If the file cannot be written.
        """
        if isinstance(result, Measurement):
            environment = result.environment or environment
            optional = {
                "sem": result.sem,
                "ended early": result.ended_early,
                "samples": result.samples,
                "worker": result.worker,
                "unit": result.number.unit,
                "constraints": result.values,
                "sems": {name: one.sem for name, one in result.others.items() if one.sem},
                "units": {name: one.unit for name, one in result.others.items()},
            }
            found = {"value": result.value, **{key: one for key, one in optional.items() if one}}
        else:
            found = {name: getattr(result, name) for name in ("output", "blameless")}
            found["failure"] = result.reason
        line = {
            "comparison": self.number,
            "pair": pair,
            "setting": label,
            **found,
            "seconds": round(result.seconds, 6),
            "time": round(time.time(), 3),
            **({"environment": dict(environment)} if environment else {}),
        }
        append_line(self.path, line)
        if pair == len(self.pairs):
            self.pairs.append({})
        self.pairs[pair][label] = result

    @property
    def samples(self) -> int:
        """Number of samples of a whole run, as the first one has them; 0 before it."""
        runs = (run for pair in self.pairs for run in pair.values())
        return next((run.samples for run in runs if isinstance(run, Measurement)), 0)

    @property
    def units(self) -> dict[str, str]:
        """The units of the first measurement by name; empty before it."""
        runs = (run for pair in self.pairs for run in pair.values())
        measured = (run.readings for run in runs if isinstance(run, Measurement))
        return {name: one.unit for name, one in next(measured, {}).items()}


@contextlib.contextmanager
def comparison_record(
    study_file: StudyFile, settings: Mapping[str, Any], new: bool
) -> Iterator[ComparisonRecord]:
    """Open the latest comparison of these settings, or begin one.

    Args:
        study_file: The study file.
        settings: The compared configurations, as JSON, equal if a comparison is continued.
        new: Whether to begin a comparison even if there is one.

    Yields:
        The comparison, of which this process is the only writer.

    Raises:
        InvalidInput: If the file has other content, or another process writes to it.
        WriteFailed: If the file cannot be written.
    """
    path = comparison_path(study_file)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise WriteFailed(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            if not try_lock(descriptor):
                raise InvalidInput(
                    f"{path}: another comparison of this study is running, expected one at a time"
                )
        headers, runs = _parse(read_lines(path, repair=True), path)
        same = _with_settings(headers, settings)
        number = max(headers, default=0) + 1 if new or not same else same[-1]
        if number not in headers:
            line = {"comparison": number, "settings": dict(settings)}
            append_line(path, line)
        yield ComparisonRecord(path, number, runs.get(number, []))
    finally:
        os.close(descriptor)


def comparison_path(study_file: StudyFile) -> Path:
    """The file of a study's comparisons."""
    return study_file.folder / f"{study_file.study.name}.compare.jsonl"


def recorded_runs(study_file: StudyFile, settings: Mapping[str, Any]) -> Runs:
    """The runs of the latest comparison of these settings so far, which changes nothing.

    Args:
        study_file: The study file.
        settings: The compared configurations, as JSON.

    Raises:
        InvalidInput: If the file has other content.
    """
    path = comparison_path(study_file)
    if not path.exists():
        return []
    headers, runs = _parse(read_lines(path), path)
    same = _with_settings(headers, settings)
    return runs.get(same[-1], []) if same else []


def _with_settings(headers: Mapping[int, Any], settings: Mapping[str, Any]) -> list[int]:
    wanted = json.loads(json.dumps(dict(settings)))
    return [number for number, header in headers.items() if header == wanted]


def _parse(lines: list[bytes], path: Path) -> tuple[dict[int, Any], dict[int, Runs]]:
    """The settings and runs in complete lines."""
    headers: dict[int, Any] = {}
    runs: dict[int, Runs] = {}
    for position, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
            number = _count(line["comparison"])
            if "settings" in line:
                headers[number] = _of(dict, line["settings"])
                continue
            pairs = runs.setdefault(number, [])
            pair, label, result = _count(line["pair"]), line["setting"], _result(line)
            if number not in headers or label not in ("a", "b"):
                raise ValueError
            if pair == len(pairs):
                pairs.append({})
            pairs[pair][label] = result
        except (ValueError, KeyError, TypeError, IndexError, OverflowError):
            raise InvalidInput(
                f"{path}: line {position} is not one of a comparison; restore the file, or move it "
                "away to begin anew"
            ) from None
    return headers, runs


def _result(line: dict[str, Any]) -> Measurement | Failure:
    seconds = _number(line["seconds"])
    if "value" in line:
        others, errors, units = (
            _of(dict, line.get(key, {})) for key in ("constraints", "sems", "units")
        )
        readings = {VALUE: _quantity(line["value"], line.get("sem", 0.0), line.get("unit", ""))}
        for name, one in others.items():
            readings[name] = _quantity(one, errors.get(name, 0.0), units.get(name, ""))
        return Measurement(
            readings,
            seconds,
            _of(dict, line["environment"]) if "environment" in line else None,
            worker=_of(str, line.get("worker", "")),
            ended_early=_of(bool, line.get("ended early", False)),
            samples=_count(line.get("samples", 0)),
        )
    reason, output = _of(str, line["failure"]), _of(str, line["output"])
    return Failure(reason, output, seconds, _of(bool, line["blameless"]))


def _quantity(value: Any, sem: Any, unit: Any) -> Quantity:
    return Quantity(_number(value), _number(sem), _of(str, unit))


def _of(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError
    return float(value)
