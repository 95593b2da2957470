"""Text alternatives of the figures, and verdicts on them, in sentences."""

from surefoot.tune.definition.constraint_text import limit_words
from surefoot.tune.estimate_text import measured_text as number
from surefoot.tune.report.contents import Checkpoint, DecisionRow, EnvironmentView, Report, Slice
from surefoot.tune.report.formatting import interval_text, setting


def convergence_text(report: Report) -> str:
    """The recommendation's value at the first and the last checkpoint."""
    first, last = report.history[0], report.history[-1]
    return (
        f"Line chart: the recommendation's predicted value against the number of measurements. "
        f"After {first.trials}: {interval_text(first.then)}; after {last.trials}: "
        f"{interval_text(last.then)}. The table below has every point."
    )


def outside(history: tuple[Checkpoint, ...]) -> int:
    """Number of final predictions outside the interval of their time."""
    return sum(not each.then.lower <= each.now.mean <= each.then.upper for each in history[:-1])


def convergence_verdict(report: Report) -> str:
    """Whether the intervals of the past have held, in words; empty without a past."""
    past, missed = len(report.history) - 1, outside(report.history)
    if past < 1:
        return ""
    if not missed:
        return "Every diamond is in the band."
    count = f"{missed} of {past} earlier diamonds outside the band"
    if 2 * missed <= past:
        return f"{count}."
    return (
        f"{count}: those intervals were too narrow. Measure the recommended configuration again "
        "before you rely on its interval."
    )


def left_to_gain_text(report: Report) -> str:
    """Text alternative of the probability that more is left to gain."""
    latest = f"{report.left_to_gain[-1]:.3g}"
    return (
        f"Line chart: the probability that more than {100 * report.gain:g} % is left to gain, "
        f"against the number of measurements; {latest} at the end."
    )


def drift_text(report: Report) -> str:
    """The range of the drift."""
    means = [interval.mean for interval in report.effects.drift]
    return (
        f"Prediction for the recommended configuration over time: first {number(means[0])}, last "
        f"{number(means[-1])}, between {number(min(means))} and {number(max(means))}."
    )


def measurements_text(report: Report) -> str:
    """The spread of the measurements, and how many are outliers or failures."""
    values = sorted(trial.value for trial in report.measured if trial.value is not None)
    outliers = sum(trial.outlier for trial in report.measured)
    return (
        f"Scatter plot: {len(values)} measurements by trial, from {number(values[0])} to "
        f"{number(values[-1])}, {outliers} of them treated as outliers, and {len(report.failed)} "
        "failed trials. The table of trials has every value."
    )


def limited_text(report: Report, name: str) -> str:
    """How many measurements of a limited quantity are beyond its limit."""
    trials = report.readings(name)
    beyond = sum(name in trial.violated for trial, _ in trials)
    words = limit_words(report.bounds[name], report.units.reported.get(name))
    return (
        f"Scatter plot: {len(trials)} measurements of {name} by trial, {beyond} of them beyond its "
        f"limit, {words}. The table of trials has every value."
    )


def paired_text(report: Report, row: DecisionRow) -> str:
    """In how many pairs the recommendation has the smaller number."""
    differences = [(a.value or 0.0) - (b.value or 0.0) for a, b in row.pairs]
    return (
        f"Paired dot plot: {row.name} of the {report.decision.other} and of the recommendation in "
        f"{len(row.pairs)} pairs of runs; the recommendation has the smaller number in "
        f"{sum(one > 0.0 for one in differences)}. The table above has the medians."
    )


def slice_text(along: Slice) -> str:
    """Where the prediction along a parameter is smallest and largest."""
    by_mean = sorted(zip(along.values, along.predicted, strict=True), key=lambda pair: pair[1].mean)
    (low, least), (high, most) = by_mean[0], by_mean[-1]
    return (
        f"Prediction along {along.parameter.name}: smallest, {number(least.mean)}, at "
        f"{setting(low)}; largest, {number(most.mean)}, at {setting(high)}; recommended "
        f"{setting(along.recommended)}."
    )


def quantiles_text(report: Report) -> str:
    """Text alternative of the normal quantile plot; the findings beside it are its content."""
    return (
        f"Normal quantile plot of {len(report.measured)} residuals. Points off the line at the "
        "ends are heavier tails than those of normal noise; the list beside it has the numbers."
    )


def environment_text(view: EnvironmentView, name: str) -> str:
    """The range of the prediction over the environment."""
    means = [interval.mean for interval in view.predicted]
    return (
        f"Prediction for the recommended configuration over {name}: from {number(min(means))} to "
        f"{number(max(means))}, with the {view.risk.name} marked."
    )
