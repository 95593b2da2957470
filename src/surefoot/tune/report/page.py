"""The page of a report: one HTML file that needs nothing else.

The template escapes every text that comes from the study, and figures are embedded as JSON without
`<`, so that a parameter called `<script>` is only a name.
"""

import json
import re
from collections import Counter
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from surefoot.tune.definition.constraint_text import constraint_lines
from surefoot.tune.estimate_text import measured_text as number
from surefoot.tune.plain_text import finite_json
from surefoot.tune.report.contents import EnvironmentView, Estimate, Report
from surefoot.tune.report.descriptions import (
    convergence_text,
    convergence_verdict,
    drift_text,
    environment_text,
    left_to_gain_text,
    limited_text,
    measurements_text,
    paired_text,
    quantiles_text,
    slice_text,
)
from surefoot.tune.report.environment_figures import (
    against_variable,
    description,
    over_all_variables,
    over_one_variable,
)
from surefoot.tune.report.figures import (
    convergence,
    drift,
    left_to_gain,
    limited,
    measurements,
    paired,
    quantiles,
    slice_figure,
)
from surefoot.tune.report.formatting import interval_text, setting, within
from surefoot.tune.report.front_figure import front_text, fronts

_COLUMNS = {"trial", "measured", "predicted", "weight", "state", "seconds", "failure"}
"""Columns that every table of trials has."""
RELOADS = 5  # seconds between two looks at the study, and readings of a page that reloads itself


def page(report: Report, progress: str = "", reloads: bool = False) -> str:
    """The report as HTML.

    Args:
        report: What it says.
        progress: How far the study is.
        reloads: Whether the page reloads itself.
    """
    view = report.environment
    rows, front, recommended = (
        report.decision.rows,
        report.front,
        report.findings.state.recommendation,
    )
    best = rows[0].recommended if rows and front is None else Estimate(report.value)
    width = best.interval.upper - best.interval.lower
    assets = files("surefoot.tune.report").joinpath("templates")
    return _template("page.html").render(
        report=report,
        findings=report.findings,
        constraints=constraint_lines(recommended, {}, report.findings.together),
        recommended=recommended,
        environment=view,
        predicted="Measured" if best.runs else _predicted(report),
        variables=() if view is None else view.names,
        environment_note="" if view is None else description(view),
        environment_figures=[] if view is None else _environment_figures(report, view),
        value=[
            report.units.of_value(within(best.interval.mean, width)),
            within(best.interval.lower, width),
            report.units.of_value(within(best.interval.upper, width)),
        ],
        best=best,
        fronts=_fronts(report),
        counts=" · ".join(filter(None, [progress, _counts(report)])),
        reloads=RELOADS if reloads else 0,
        convergence=_embed("convergence", convergence(report), convergence_text(report)),
        convergence_verdict=convergence_verdict(report),
        left=(
            _embed("left-to-gain", left_to_gain(report), left_to_gain_text(report))
            if report.left_to_gain
            else ""
        ),
        drift=(_embed("drift", drift(report), drift_text(report)) if report.effects.trials else ""),
        pairs=[
            (row, _embed(f"pairs-{index}", paired(report, row), paired_text(report, row)))
            for index, row in enumerate(report.decision.rows)
            if row.pairs
        ],
        limits=[
            (name, _limits(report, name, str(index)))
            for index, name in enumerate(report.bounds)
            if report.readings(name)
        ],
        measurements=_embed("measurements", measurements(report), measurements_text(report)),
        slices=[
            (along, _embed(f"slice-{index}", slice_figure(report, along), slice_text(along)))
            for index, along in enumerate(report.slices)
        ],
        quantiles=_embed("quantiles", quantiles(report), quantiles_text(report)),
        style=Markup(assets.joinpath("style.css").read_text(encoding="utf-8")),
        plotly=Markup(get_plotlyjs()),
        behaviour=Markup(assets.joinpath("behaviour.js").read_text(encoding="utf-8")),
    )


def summary(report: Report) -> str:
    """The head of the report as Markdown, such as for a change that is proposed.

    Args:
        report: What it says.
    """
    best = report.findings.state.recommendation
    return _template("summary.md").render(
        report=report,
        findings=report.findings,
        constraints=constraint_lines(best, {}, report.findings.together),
        recommended=best,
        counts=_counts(report),
    )


def as_json(report: Report) -> str:
    """The report for programs: what `recommend --json` prints, and more beside it.

    Args:
        report: What it says.
    """
    content = report.findings.as_dict() | {
        "name": report.name,
        "written": report.written,
        "decision": asdict(report.decision),
        "history": [asdict(one) for one in report.history],
        "rows": [asdict(one) for one in report.trials],
    }
    return json.dumps(finite_json(content), indent=1)


@cache
def _template(name: str) -> Any:
    templates = Environment(
        loader=PackageLoader("surefoot.tune.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        interval=interval_text,
        number=number,
        setting=setting,
        cell=_cell,
        prose=_prose,
        own=_own,
    )
    return templates.get_template(name)


def _fronts(report: Report) -> list[Markup]:
    """The front over every two of its objectives; none of a single objective."""
    if report.front is None:
        return []
    text = front_text(report.front.front)
    drawn = enumerate(fronts(report).values())
    return [_embed(f"front-{index}", figure, text) for index, figure in drawn]


def _limits(report: Report, name: str, place: str) -> list[tuple[str, Markup]]:
    """A limited quantity over the trials, and over its most influential parameters."""
    drawn = [("", limited(report, name), limited_text(report, name))]
    for one in report.limit_slices.get(name, ()):
        drawn.append((one.parameter.name, slice_figure(report, one, name), slice_text(one)))
    return [
        (over, _embed(f"limit-{place}-{index}", figure, text))
        for index, (over, figure, text) in enumerate(drawn)
    ]


def _predicted(report: Report) -> str:
    """Name of the number at the top."""
    view, front = report.environment, report.front
    what = [
        "" if view is None else view.risk.name,
        "" if report.estimand == "location" else f"{report.estimand} of measurements",
        "" if front is None else front.front.names[0],
    ]
    named = " of ".join(filter(None, what))
    return f"{named[0].upper()}{named[1:]}, predicted" if named else "Predicted"


def _embed(name: str, figure: go.Figure, text: str) -> Markup:
    """An element for a figure with its text alternative, and its JSON.

    A closing tag in the JSON would end the script element.
    """
    json = Markup(str(figure.to_json()).replace("<", "\\u003c"))
    return Markup(
        '<div class="figure" role="img" aria-label="{text}" data-figure="figure-{name}" '
        'style="height:{height}px"></div>'
        '<script type="application/json" id="figure-{name}">{json}</script>'
    ).format(name=name, height=figure.layout.height, json=json, text=text)


def _environment_figures(report: Report, view: EnvironmentView) -> list[tuple[str, Markup]]:
    """The main figure, and one for each variable where there are several, with their names."""
    if len(view.names) == 1:
        text = environment_text(view, view.names[0])
        return [("", _embed("environment", over_one_variable(report, view), text))]
    text = environment_text(view, "all environments, from the worst to the best")
    figures = [("", _embed("environment", over_all_variables(report, view), text))]
    for column, name in enumerate(view.names):
        figure, text = against_variable(report, view, column), environment_text(view, name)
        figures.append((name, _embed(f"environment-{column}", figure, text)))
    return figures


def _prose(text: str) -> Markup:
    """A sentence as HTML: code between backticks, and no line that begins with a % sign."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"(?<=\d) %", "&nbsp;%", marked))


def _own(title: str, kind: str) -> str:
    """Title of a column of the study's own, which says what it is where the table has its name."""
    return f"{title} ({kind})" if title in _COLUMNS else title


def _cell(value: Any, text: bool = False) -> str:
    """A value in the table of trials."""
    if value is None:
        return ""
    return number(value) if isinstance(value, float) and not text else setting(value)


def _counts(report: Report) -> str:
    failed = len(report.failed)
    return " · ".join(
        [
            _plural(len(report.measured), "measurement"),
            _outliers(report) or "no outliers",
            _plural(failed, "failed trial") if failed else "no failures",
            *_directions(report),
        ]
    )


def _outliers(report: Report) -> str:
    """How many measurements are treated as outliers, by quantity; empty where none is."""
    first = "them" if report.front is None else report.front.front.names[0]
    every = (name for one in report.trials for name in (*[first] * one.outlier, *one.outlying))
    found = " and ".join(f"{count} of {name}" for name, count in Counter(every).items())
    return f"{found} treated as outliers" if found else ""


def _directions(report: Report) -> list[str]:
    """Which values are better, of each objective."""
    if report.front is None:
        return ["smaller is better" if report.direction == "minimize" else "larger is better"]
    maximised = report.front.front.maximised.items()
    return [f"{'larger' if larger else 'smaller'} {name} is better" for name, larger in maximised]


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
