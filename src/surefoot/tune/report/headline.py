"""The answer, first: the recommended setting, what to expect of it, and what it improves on."""

from html import escape
from statistics import median

from surefoot.tune.report.data import ReportData
from surefoot.tune.report.numbers import number, setting, within


def headline(data: ReportData) -> str:
    """The title and the recommendation."""
    width = data.value.upper - data.value.lower
    settings = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(setting(value))}</dd>"
        for name, value in data.recommended.items()
    )
    return f"""
<header>
<h1>{escape(data.name)}</h1>
<p>{_counts(data)}</p>
</header>
<section class="headline">
<div>
<p class="note">{_what(data)} at the recommended setting</p>
<div class="value">{within(data.value.mean, width)}</div>
<p>between {within(data.value.lower, width)} and {within(data.value.upper, width)}</p>
{_meaning(data)}<p class="note">{_gain(data)}</p>
</div>
<dl>{settings}</dl>
</section>
"""


def _counts(data: ReportData) -> str:
    outliers = sum(trial.outlier for trial in data.measured)
    told = [
        _plural(len(data.measured), "measurement"),
        _plural(outliers, "outlier") if outliers else "no outliers",
        _plural(len(data.failed), "failed trial") if data.failed else "no failures",
        "smaller is better" if data.direction == "minimize" else "larger is better",
    ]
    return " · ".join(told)


def _what(data: ReportData) -> str:
    beside = data.surroundings
    if beside is None:
        return "Expected"
    return f"{escape(beside.risk[0].upper() + beside.risk[1:])}, expected"


def _meaning(data: ReportData) -> str:
    beside = data.surroundings
    return "" if beside is None else f"<p>{escape(beside.meaning)}</p>\n"


def _gain(data: ReportData) -> str:
    values = [trial.value for trial in data.measured if trial.value is not None]
    told = []
    if data.surroundings is None:  # a risk is not to be compared with single measurements
        middle = median(values)
        told.append(f"{_change(data.value.mean, middle)} the median measurement, {number(middle)}")
    first = data.first
    if first is not None and len(values) > 1:
        # Belief against belief: a lucky first measurement says little of its setting.
        told.append(
            f"{_change(data.value.mean, first.mean)} the first setting tried, which the model "
            f"puts at {number(first.mean)}"
        )
    return "; ".join(told)


def _change(now: float, before: float) -> str:
    change = now - before
    # A share only means something between numbers of one sign.
    if now * before > 0 and abs(change / before) < 10:
        amount = f"{100 * abs(change / before):.0f} %"
    else:
        amount = number(abs(change), digits=3)
    return f"{amount} {'below' if change < 0 else 'above'}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
