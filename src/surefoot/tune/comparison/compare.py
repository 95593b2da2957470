"""Comparing two configurations by alternating runs in random order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from surefoot._internal import checks
from surefoot._internal.numbers import CONFIDENT
from surefoot._internal.user_warnings import warn
from surefoot.tune.comparison.comparison import (
    Comparison,
    ahead,
    better_text,
    comparison_of,
    of_further,
    pair_values,
    probability_b,
)
from surefoot.tune.comparison.comparison_file import (
    ComparisonRecord,
    Runs,
    comparison_record,
    recorded_runs,
)
from surefoot.tune.comparison.measured_limits import measured_limits
from surefoot.tune.comparison.named_settings import NamedSetting, first_setting, named_settings
from surefoot.tune.comparison.paired_test import PairedTest, least_pairs, medians_text
from surefoot.tune.definition.constraint_text import beyond_text
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.display import console_of, objectives_text, show
from surefoot.tune.estimate_text import measured_text
from surefoot.tune.measuring.measurement import (
    MAX_FAILURES,
    Failure,
    Measurement,
    in_study_units,
)
from surefoot.tune.measuring.objective import Objective, usable_objective
from surefoot.tune.measuring.setup_commands import set_up
from surefoot.tune.plain_text import printable
from surefoot.tune.stopping import Stop, stop_on_signals
from surefoot.tune.study.opened_study import with_recorded_units
from surefoot.types import InvalidInput, SurefootError

STOPPING = "Stopping when the running measurement is recorded; Ctrl-C again stops at once."
SAME = "A and B are the same configuration"


class ComparisonFailed(SurefootError):
    """Neither of the two configurations can be measured."""


@dataclass(frozen=True)
class Comparing:
    """A comparison to make, and its end.

    Args:
        study_file: The study file.
        a: The configuration to compare with.
        b: The configuration that may be better.
        pairs: Pairs at most, earlier ones included.
        confidence: Confidence of the decision.
        all_pairs: Whether to go on after a decision.
        slices: Into how many parts a run is cut, each of them in a pair of its own.
        objective: Name of the further objective that is compared; empty for the value.
        medians: The medians of B and of A, in words.
    """

    study_file: StudyFile
    a: NamedSetting
    b: NamedSetting
    pairs: int
    confidence: float
    all_pairs: bool
    slices: int = 1
    objective: str = ""
    medians: tuple[str, str] = ("the median of B", "that of A")

    def most_samples(self, record: ComparisonRecord, number: int) -> float:
        """Samples of a run of a pair; the runs of the first pair say how long they are."""
        sliced = self.slices > 1 and record.samples and number
        return math.ceil(record.samples / self.slices) if sliced else math.inf

    @property
    def minimize(self) -> bool:
        """Whether smaller values are better."""
        further = self.study_file.scheme.objectives.get(self.objective)
        return (further or self.study_file.study).direction == "minimize"

    @property
    def _unit(self) -> str:
        units = self.study_file.units
        return units.reported.get(self.objective, "") if self.objective else units.value

    @property
    def _further(self) -> dict[str, Comparing]:
        """The comparisons of further objectives by name."""
        names = () if self.objective else self.study_file.scheme.further
        return {name: replace(self, objective=name) for name in names}

    def result(self, pairs: Runs, stopped: bool = False) -> Comparison:
        """The state of the comparison after these runs."""
        found = comparison_of(
            self.a,
            self.b,
            pairs,
            self.minimize,
            self.confidence,
            stopped,
            self.study_file.constraints,
        )
        further = {
            name: one.result(of_further(pairs, name), stopped)
            for name, one in self._further.items()
        }
        first = next(iter(self.study_file.scheme.objectives), "") if further else ""
        units = self.study_file.units.reported
        return replace(
            found,
            unit=self._unit,
            limits=tuple(replace(one, unit=units.get(one.name, "")) for one in found.limits),
            objective=first,
            further=further,
            warning=self.warning,
            medians=self._medians(pairs),
        )

    def _medians(self, pairs: Runs) -> str:
        """The medians in a sentence, where no run has failed or ended early."""
        runs = (run for pair in pairs for run in pair.values())
        whole = all(isinstance(run, Measurement) and not run.ended_early for run in runs)
        a, b = pair_values(pairs if whole else [], self.minimize).values.T
        one, other = self.medians
        return medians_text((one, b), (other, a), self.minimize, self._unit, self.confidence)

    @property
    def warning(self) -> str:
        """That the configurations are under different given values; empty if they are not."""
        both, units = (self.a.params, self.b.params), self.study_file.units
        given = self.study_file.scheme.given
        names = [name for name in given if both[0].get(name) != both[1].get(name)]
        if not names:
            return ""
        a, b = (units.settings({name: one[name] for name in names if name in one}) for one in both)
        options = " ".join(f"--given {name}=VALUE" for name in names)
        return (
            f"A is under {a} and B under {b}: the difference may be that of these, which are no "
            f"choice; compare both under the same, as with {options}"
        )

    def test(self, pairs: Runs) -> PairedTest:
        """The test of B minus A after these runs."""
        return pair_values(pairs, self.minimize).test(self.confidence)

    def finished(self, pairs: Runs) -> bool:
        """Whether no further run is needed."""
        if sum(len(pair) == 2 for pair in pairs) >= self.pairs:
            return True
        leader = ahead(self.test(pairs), self.minimize)
        if self.all_pairs or leader is None:
            return False
        each = self._further.items()
        if not all(one.finished(of_further(pairs, name)) for name, one in each):
            return False
        limits = measured_limits(self.study_file.constraints, pairs, self.confidence)
        return all(one.sides[leader].keeps is not None for one in limits)


def compare(
    path: Path | str,
    a: str | None = None,
    b: str = "recommended",
    *,
    runs: int = 40,
    slices: int = 1,
    confidence: float = 0.95,
    all_runs: bool = False,
    new: bool = False,
    aa: bool = False,
    quiet: bool = False,
    console: Console | None = None,
    given: Mapping[str, Any] | None = None,
) -> Comparison:
    """Measure two configurations in pairs, in random order, until one is better.

    The runs are kept in `NAME.compare.jsonl` beside the study file; they are no trials of the
    study. The same call continues a comparison that was stopped. Handles signals while it runs, so
    it must be called from the main thread.

    Args:
        path: The study file.
        a: The configuration to compare with: `"default"`, `"recommended"`, `"trial 17"` or
            `"name=value,..."` with all parameters. By default the defaults of the study file, or
            trial 0 where there are none.
        b: The configuration that may be better.
        runs: Runs of each configuration, at most, those of earlier calls included.
        slices: Into how many parts a run is cut, each of them in a pair of its own, where the
            command prints its samples one by one: a run ends with its share of them.
        confidence: One minus the probability that two equal configurations are ever called
            different.
        all_runs: Whether to go on after the decision, for a narrower interval.
        new: Whether to begin anew instead of continuing a comparison of the same configurations.
        aa: Whether both may be the same configuration, to check the measurement itself.
        quiet: Show no progress.
        console: Where to show the progress, by default standard output.
        given: Values of the given variables of the study, by name, of `"default"`, `"recommended"`
            and each `"name=value,..."` without its own.

    Returns:
        Which is better, by how much, and how many runs are missing.

    Raises:
        InvalidInput: If a configuration cannot be used, or both are the same without `aa`; nothing
            has been measured.
        NotReady: If there is no recommendation yet.
        ComparisonFailed: If both configurations fail in five pairs in a row.
        CommandFailed: If the study file's setup or teardown fails.
        WriteFailed: If a run cannot be recorded.
        KeyboardInterrupt: At a second Ctrl-C.
    """
    checks.count("runs", runs)
    checks.count("slices", slices)
    checks.probability("confidence", confidence)
    study_file = with_recorded_units(StudyFile.load(path))
    names = first_setting(study_file) if a is None else a, b
    first, second = named_settings(study_file, names, given)
    if first.params == second.params and not aa:
        raise InvalidInput(
            f"{SAME} ({study_file.units.settings(first.params)}): choose different ones, or use "
            "--aa to check the measurement"
        )
    pairs = runs * slices
    if pairs < (least := least_pairs(confidence)):
        warn(
            f"{pairs} pair{'s' * (pairs != 1)} can hardly decide at {100 * confidence:g} % "
            f"confidence, however large the difference is: expected at least {least}"
        )
    comparing = Comparing(study_file, first, second, pairs, confidence, all_runs, slices)
    console = console_of(quiet) if console is None else console
    stop = Stop(note=lambda: show(console, STOPPING))
    with (
        usable_objective(
            study_file, lambda line: show(console, f"{line} at the end of the run")
        ) as (objective, kept),
        comparison_record(study_file, _identity(comparing), new) as record,
    ):
        if not quiet:
            _introduce(comparing, record, console)
        if comparing.finished(record.pairs):
            return comparing.result(record.pairs)
        with (
            stop_on_signals(stop),
            set_up(study_file, kept, stop, lambda text: show(console, text)),
        ):
            try:
                measure_pairs(comparing, record, objective, stop, console, quiet)
            except SystemExit:  # after SIGTERM
                for line in [] if quiet else comparing.result(record.pairs).lines():
                    show(console, line)
                raise
        stopped = stop.requested and not comparing.finished(record.pairs)
        return comparing.result(record.pairs, stopped)


def recorded_comparison(
    study_file: StudyFile, best: dict[str, Any]
) -> tuple[Comparison, Runs] | None:
    """What `compare` has measured so far of the defaults (A) and a configuration (B).

    Args:
        study_file: The study file.
        best: The configuration.

    Returns:
        The result and its runs; None where these two have not been compared.

    Raises:
        InvalidInput: If the file of comparisons has other content.
    """
    given = study_file.scheme.given
    defaults = study_file.defaults_under({n: one for n, one in best.items() if n in given})
    if defaults is None:
        return None
    settings = NamedSetting("default", defaults), NamedSetting("recommended", best)
    named = ("its median", "that of the defaults")
    comparing = Comparing(study_file, *settings, 1, CONFIDENT, False, medians=named)
    pairs = recorded_runs(study_file, _identity(comparing))
    result = comparing.result(pairs)
    return (result, pairs) if result.pairs else None


def measured_verdict(study_file: StudyFile, best: dict[str, Any]) -> str:
    """A configuration against the defaults as `compare` has measured it, in a sentence.

    Args:
        study_file: The study file.
        best: The configuration.

    Returns:
        The verdict so far; empty where these two have not been compared.
    """
    try:
        recorded = recorded_comparison(study_file, best)
    except InvalidInput as error:
        return str(error)
    if recorded is None:
        return ""
    result, _ = recorded
    verdict = result.standing
    for letter, doubt in (("B", result.doubt("B")), ("A", result.doubt("A", "the defaults"))):
        if doubt and (result.further or letter == result.ahead):
            verdict += f"{' values' * (not result.further)}, but {doubt}"
    size = "" if result.further else "".join(f", {one}" for one in result.sizes)
    known = study_file.functional
    what = f" That is of typical runs: the {known} is not compared." if known else ""
    limits = "".join(f" Limit of {one.text('the defaults', 'this')}." for one in result.limits)
    return (
        f"Measured against the defaults in {result.pairs} pair{'s' * (result.pairs != 1)} by "
        f"`surefoot compare`: {verdict} ({100 * CONFIDENT:g} % confidence){size}.{what}{limits}"
        f" {result.failed_runs('the defaults', 'this')}".rstrip()
        + f" {result.medians}"
    ).rstrip()


def measure_pairs(
    comparing: Comparing,
    record: ComparisonRecord,
    objective: Objective,
    stop: Stop,
    console: Console,
    quiet: bool = False,
) -> None:
    """Measure until the comparison is finished or a stop is requested.

    Each run is recorded before the next begins. The order within a pair and the pair's environment
    depend on the seed and the pair's number only, so a resumed comparison has the same.

    Args:
        comparing: The comparison.
        record: Where the runs are recorded.
        objective: Measures a configuration.
        stop: Ends the loop after the running measurement.
        console: Where to show the progress.
        quiet: Show no progress.

    Raises:
        ComparisonFailed: If both configurations fail in five pairs in a row, or if the first output
            has several readings or a unit that cannot be converted.
        WriteFailed: If a run cannot be recorded.
        KeyboardInterrupt: After a second Ctrl-C.
        SystemExit: After SIGTERM or SIGHUP.
    """
    study_file = comparing.study_file
    declared = study_file.declared_units
    settings = {"a": comparing.a.params, "b": comparing.b.params}
    while not comparing.finished(record.pairs):
        open_pair = bool(record.pairs) and len(record.pairs[-1]) < 2
        number = len(record.pairs) - open_pair
        order, environment = _design(study_file, record.number, number)
        for label in order:
            if number < len(record.pairs) and label in record.pairs[number]:
                continue
            stop.check()
            if stop.requested:
                return
            params = {**settings[label], **environment}
            result = objective.measure(params, stop, comparing.most_samples(record, number))
            if isinstance(result, Measurement):
                # The first run may have another name of a declared unit, as that of the study.
                names = study_file.recorded.keys() - declared.keys()
                known = record.units or {name: study_file.recorded[name] for name in names}
                result = in_study_units(result, declared, known, study_file.scheme.further)
            if isinstance(result, Failure) and result.unclear and not record.pairs:
                raise ComparisonFailed(f"{printable(result.reason)}; nothing was recorded")
            if comparing.slices > 1 and isinstance(result, Measurement) and not result.samples:
                raise ComparisonFailed(
                    "a run printed no samples, expected lines such as `sample: 12.5` of a run "
                    "that is measured in slices; nothing was recorded"
                )
            record.add(number, label, result, environment)
        if not quiet:
            show(console, _progress(comparing, record.pairs))
        _check_failures(record.pairs)


def _design(study_file: StudyFile, comparison: int, pair: int) -> tuple[list[str], dict[str, Any]]:
    """The random order of a pair, and the environment of both of its runs."""
    random = np.random.default_rng([study_file.study.seed, comparison, pair])
    order = ["a", "b"] if random.integers(2) else ["b", "a"]
    environment = study_file.scheme.environment
    if environment is None or environment.observed:
        return order, {}
    return order, environment.decode(environment.draw(int(random.integers(2**32))))


def _identity(comparing: Comparing) -> dict[str, Any]:
    """Everything that must be equal for runs to belong to the same comparison."""
    study_file = comparing.study_file
    objective, tables = study_file.objective, study_file.scheme.definition
    value = {} if objective.value is None else {"value": objective.value}
    units = study_file.declared_units
    return {
        **value,
        **({"units": units} if units else {}),
        "a": comparing.a.params,
        "b": comparing.b.params,
        "direction": study_file.study.direction,
        "objective": study_file.hide_passwords(objective.command or objective.function or ""),
        "environment": tables.get("environment", tables.get("fidelity")),
    }


def _check_failures(pairs: Runs) -> None:
    last = [run for pair in pairs[-MAX_FAILURES:] for run in pair.values()]
    failures = [run for run in last if isinstance(run, Failure)]
    if len(failures) < 2 * MAX_FAILURES:
        return
    output = printable(failures[-1].output).strip().splitlines()
    printed = f"; it printed: {output[-1][:200]}" if output else ""
    raise ComparisonFailed(
        f"both configurations failed in {MAX_FAILURES} pairs in a row, the last time: "
        f"{printable(failures[-1].reason)}{printed}; all runs are kept, and the same command "
        "continues"
    )


def _introduce(comparing: Comparing, record: ComparisonRecord, console: Console) -> None:
    for letter, setting in (("A", comparing.a), ("B", comparing.b)):
        listed = comparing.study_file.units.settings(setting.params)
        name = "" if "=" in setting.name else f"{setting.name}: "
        show(console, f"{letter}: {name}{listed}")
    if comparing.warning:
        show(console, f"Warning: {comparing.warning}")
    if comparing.a.params == comparing.b.params:
        show(console, f"{SAME}: a difference would be an error of the measurement")
    if record.pairs:
        complete = sum(len(pair) == 2 for pair in record.pairs)
        pairs = f"{complete} pair{'s' * (complete != 1)}"
        run = " and a run of the next" * (len(record.pairs[-1]) < 2)
        show(console, f"continued after {pairs}{run}; --new begins anew")


def _progress(comparing: Comparing, pairs: Runs) -> str:
    study_file, limits = comparing.study_file, comparing.study_file.constraints
    units = study_file.units.reported

    def measured(run: Measurement) -> str:
        return objectives_text(study_file, study_file.units.of_value(_with_error(run)), run.values)

    values = ", ".join(
        f"{label.upper()} {measured(run)}{beyond_text(run.values, limits, units)}"
        if isinstance(run := pairs[-1][label], Measurement)
        else f"{label.upper()} failed, {run.reason}"
        for label in ("a", "b")
    )
    probability = probability_b(comparing.test(pairs), comparing.minimize)
    several = next(iter(study_file.scheme.objectives), "")
    better = better_text(study_file.constraints) + f" in {several}" * bool(several)
    return f"pair {len(pairs)}: {values}  |  probability that B {better}: {probability:.3g}"


def _with_error(run: Measurement) -> str:
    value = measured_text(run.value)
    return f"{value} ± {run.sem:.2g}" if run.sem else value
