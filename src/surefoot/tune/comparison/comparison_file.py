"""The runs of comparisons, one JSON line each, in `NAME.compare.jsonl` beside the study file."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import Failure, Measurement, in_study_units, recorded
from surefoot.tune.output_file import append_line, only_writer, read_lines
from surefoot.types import InvalidInput

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
        line = {"comparison": self.number, "pair": pair, "setting": label}
        under = {"environment": dict(environment)} if environment else {}
        append_line(self.path, {**line, **under, **result.record, "time": round(time.time(), 3)})
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
    with only_writer(path, "another comparison of this study"):
        headers, runs = _parse(read_lines(path, repair=True), path, study_file)
        same = _with_settings(headers, settings)
        number = max(headers, default=0) + 1 if new or not same else same[-1]
        if number not in headers:
            append_line(path, {"comparison": number, "settings": dict(settings)})
        yield ComparisonRecord(path, number, runs.get(number, []))


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
    headers, runs = _parse(read_lines(path), path, study_file)
    same = _with_settings(headers, settings)
    return runs.get(same[-1], []) if same else []


def _with_settings(headers: Mapping[int, Any], settings: Mapping[str, Any]) -> list[int]:
    wanted = json.loads(json.dumps(dict(settings)))
    return [number for number, header in headers.items() if header == wanted]


def _parse(
    lines: list[bytes], path: Path, study_file: StudyFile
) -> tuple[dict[int, Any], dict[int, Runs]]:
    """The settings and runs in complete lines, in the units that the study has by now."""
    headers: dict[int, Any] = {}
    runs: dict[int, Runs] = {}
    for position, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
            number = _count(line["comparison"])
            if "settings" in line:
                headers[number] = {**line["settings"]}
                continue
            pairs = runs.setdefault(number, [])
            pair, label, result = _count(line["pair"]), line["setting"], recorded(line)
            if isinstance(result, Measurement):
                known, further = study_file.recorded, study_file.scheme.further
                now = in_study_units(result, study_file.declared_units, known, further)
                result = now if isinstance(now, Measurement) else result
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


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError
    return value
