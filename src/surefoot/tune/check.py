"""Measurements of the defaults, to see what is read from the output; nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from surefoot.tune.comparison.named_settings import (
    NamedSetting,
    given_values,
    named_setting,
    named_settings,
)
from surefoot.tune.definition.command_template import shell_notes
from surefoot.tune.definition.constraint_text import limit_words
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import (
    Failure,
    Measurement,
    in_study_units,
    positive,
)
from surefoot.tune.measuring.objective import usable_objective
from surefoot.tune.measuring.setup_commands import set_up
from surefoot.tune.plain_text import LISTED, printable
from surefoot.tune.stopping import Stop, stop_on_signals
from surefoot.tune.study.opened_study import check_study, default_sampler
from surefoot.tune.study.schedule import without_effect
from surefoot.tune.study.trials import suggest_all

STOPPING = "Stopping when the measurement has ended; Ctrl-C again stops at once."


@dataclass(frozen=True)
class Checked:
    """A measurement of one configuration and what was read.

    Args:
        study_file: The study file.
        setting: The configuration.
        environment: The environment that it was measured in, if that is chosen.
        result: The last measurement, in the study's units, or the failure.
        values: All measured values of it, where it was measured several times.
        stopped: Whether Ctrl-C ended it.
    """

    study_file: StudyFile
    setting: NamedSetting
    environment: Mapping[str, Any]
    result: Measurement | Failure
    values: Sequence[float] = ()
    stopped: bool = False

    def lines(self) -> list[str]:
        """Lines about what was measured and read."""
        result, units = self.result, self.study_file.units
        given = ", ".join(f"{name}={value}" for name, value in self.setting.params.items())
        under = ", ".join(f"{name}={value}" for name, value in self.environment.items())
        unit = units.value or ("" if isinstance(result, Failure) else result.number.unit)
        noise = self._noise_lines(unit) if len(self.values) > 1 else []
        if isinstance(result, Failure):
            output = printable(result.output).strip().splitlines()[-LISTED:]
            run = f" in run {len(self.values) + 1}" * bool(self.values)
            found = [*noise, f"no measurement{run}: {printable(result.reason)}"]
            found += ["the end of the output:", *(f"  | {line}" for line in output)] * bool(output)
        else:
            number = replace(result.number, unit=unit)
            source = f", read from `{printable(number.text)}`" if number.text else ""
            what = next(iter(self.study_file.scheme.objectives), "measurement")
            limits = {
                name: f", {limit_words(one, units.reported.get(name))}"
                for name, one in self.study_file.constraints.items()
            }
            under_observed = result.environment or {}
            found = [
                f"{what}: {number}{source}",
                *(f"{name}: {one}{limits.get(name, '')}" for name, one in result.others.items()),
                *(f"environment {name}: {value:g}" for name, value in under_observed.items()),
                *([f"worker: {printable(result.worker)}"] if result.worker else []),
                *noise,
            ]
        late = without_effect(self.study_file, self.study_file.study.rounds)
        notes = [*shell_notes(self.study_file.objective.commands), late]
        return [
            f"{self.setting.name}: {given}",
            *([f"at {under}"] if under else []),
            *found,
            *(f"warning: {note}" for note in notes if note),
            f"seconds: {result.seconds:.3g}; nothing was recorded",
        ]

    def _noise_lines(self, unit: str) -> list[str]:
        """How large the noise is, and the difference that `compare` finds as a rule."""
        units = replace(self.study_file.units, value=unit)
        scatter, level = float(np.std(self.values, ddof=1)), abs(float(np.mean(self.values)))
        share = f" ({100.0 * scatter / level:.2g} %)" if level > 0.0 else ""
        shown = ", ".join(f"{value:.5g}" for value in self.values)
        return [
            f"{len(self.values)} measurements: {units.of_value(shown)}",
            f"noise: standard deviation {units.of_value(f'{scatter:.3g}')}{share}; 40 pairs of "
            f"`surefoot compare` find a difference of {units.of_value(f'{0.72 * scatter:.2g}')} "
            "half of the time if the noise is normal, and far smaller ones beside a few outliers",
        ]


def check(
    path: Path | str,
    config: str | None = None,
    note: Callable[[str], None] = lambda text: None,
    given: Mapping[str, Any] | None = None,
    repeat: int = 1,
) -> Checked:
    """Measure one configuration and say what was read; no study is created or changed.

    Runs `setup` before and `teardown` after it. Handles signals while it runs, so it must be called
    from the main thread.

    Args:
        path: The study file.
        config: The configuration, as for `compare`; by default the defaults, or where the study
            file has none the first configuration that a new study would measure.
        note: Shows a message.
        given: Values of the given variables of the study, by name, where `config` has none.
        repeat: How often to measure it, until it fails.

    Returns:
        What was measured and read.

    Raises:
        StudyFileError: If the study file is invalid, or its storage cannot be used.
        InvalidInput: If the configuration cannot be used.
        CommandFailed: If the study file's setup or teardown fails.
        KeyboardInterrupt: At a second Ctrl-C.
    """
    study_file = StudyFile.load(path)
    check_study(study_file)
    if config is None:
        setting = _first(study_file, given_values(study_file, given or {}))
    else:
        (setting,) = named_settings(study_file, [config], given)
    environment, stop = study_file.scheme.environment, Stop(note=lambda: note(STOPPING))
    under: dict[str, Any] = {}
    if environment is not None and not environment.observed:
        under = environment.decode(environment.draw(study_file.study.seed))
    with (
        usable_objective(study_file, note) as (objective, kept),
        stop_on_signals(stop),
        set_up(study_file, kept, stop, note),
    ):
        values: list[float] = []
        units: Mapping[str, str] = {}
        while True:
            result = _read(study_file, objective.measure({**setting.params, **under}, stop), units)
            if isinstance(result, Measurement):
                units = result.units
                values.append(result.number.value)
            if isinstance(result, Failure) or stop.requested or len(values) >= repeat:
                break
    return Checked(study_file, setting, under, result, values, stop.requested)


def _read(
    study_file: StudyFile, result: Measurement | Failure, units: Mapping[str, str]
) -> Measurement | Failure:
    """A measurement in the study's units, and those of an earlier one."""
    if isinstance(result, Measurement):
        result = in_study_units(result, study_file.declared_units, units, study_file.scheme.further)
    return positive(result) if study_file.objective.log else result


def _first(study_file: StudyFile, given: Mapping[str, Any]) -> NamedSetting:
    """The defaults, or the first configuration of a new study."""
    if study_file.defaults is not None:
        return named_setting(study_file, "default", given)
    study = optuna.create_study(
        direction=study_file.study.direction, sampler=default_sampler(study_file)
    )
    if given:
        study.enqueue_trial(dict(given))
    trial = study.ask()
    suggest_all(trial, study_file.space)
    return NamedSetting("first configuration", study_file.space.restricted(trial.params))
