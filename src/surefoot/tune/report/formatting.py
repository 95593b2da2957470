"""Numbers, configurations and trials as text for people."""

import html
import math
from typing import Any

from surefoot.tune.estimate_text import measured_text as number
from surefoot.tune.report.contents import Interval, Trial


def escape(text: str) -> str:
    """Text in a figure, whose tags and entities Plotly reads, but not that of a quote."""
    return html.escape(text, quote=False)


def within(value: float, width: float) -> str:
    """`value` to the second digit of `width`, the length of its interval."""
    if not (math.isfinite(value) and math.isfinite(width)) or width <= 0:
        return number(value)
    finest = math.floor(math.log10(width)) - 1
    return number(value) if abs(value) >= 1e7 or finest < -7 else f"{value:,.{max(0, -finest)}f}"


def setting(value: Any) -> str:
    """A parameter's value: integers in full, other numbers rounded, the rest as they are."""
    return number(value) if isinstance(value, float) else str(value)


def interval_text(interval: Interval) -> str:
    """An interval to the precision that its width allows."""
    width = interval.upper - interval.lower
    ends = f" ({within(interval.lower, width)} to {within(interval.upper, width)})"
    return f"{within(interval.mean, width)}{ends if width or interval.mean else ''}"


def settings_html(values: dict[str, Any]) -> str:
    """Values by name, for a figure's hover text, which is HTML."""
    return "<br>".join(
        f"{escape(name)} = {escape(setting(value))}" for name, value in values.items()
    )


def trial_html(trial: Trial) -> str:
    """A trial, for a figure's hover text."""
    lines = (
        f"trial {trial.number}",
        "" if trial.value is None else f"measured {number(trial.value)}",
        "" if trial.predicted is None else f"predicted {interval_text(trial.predicted)}",
        "" if trial.weight is None else f"weight {trial.weight:.2f}{': outlier' * trial.outlier}",
        f"failed: {escape(trial.failure[:120])}" if trial.failure else "",
        settings_html({**trial.params, **trial.environment}),
        settings_html(trial.constraints),
    )
    return "<br>".join(filter(None, lines))
