"""The page around the figures: one HTML file that needs nothing else.

Every text that comes from the study passes through `html.escape`, and every figure through
`_embed`, so that a parameter called `<script>` is only a name.
"""

from html import escape
from importlib.resources import files

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from surefoot.tune.report.data import ReportData, Surroundings
from surefoot.tune.report.environment import note
from surefoot.tune.report.headline import headline
from surefoot.tune.report.numbers import number
from surefoot.tune.report.over_several import against, in_order
from surefoot.tune.report.over_time import convergence, measurements
from surefoot.tune.report.over_variable import over_one
from surefoot.tune.report.quantiles import quantiles
from surefoot.tune.report.slices import slice_figure
from surefoot.tune.report.table import trials_table

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


def page(data: ReportData) -> str:
    """The report as HTML."""
    here = files("surefoot.tune.report")
    parts = [
        headline(data),
        _surroundings(data),
        _over_time(data),
        _slices(data),
        _table(data),
        _tails(data),
        _reproduce(data),
    ]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(data.name)}: surefoot report</title>
<style>
{here.joinpath("style.css").read_text(encoding="utf-8")}</style>
</head>
<body>
{"".join(parts)}
<script>{get_plotlyjs()}</script>
<script>
{here.joinpath("behaviour.js").read_text(encoding="utf-8")}</script>
</body>
</html>
"""


def _surroundings(data: ReportData) -> str:
    beside = data.surroundings
    if beside is None:
        return ""
    one = len(beside.names) == 1
    figures = _embed("environment", over_one(data, beside)) if one else _several(data, beside)
    return f"""
<section>
<h2>Environment</h2>
<p class="note">{escape(note(beside))}</p>
{figures}
</section>
"""


def _several(data: ReportData, beside: Surroundings) -> str:
    drawn = "".join(
        f'<div class="slice" data-variable="{escape(name)}"><h3>{escape(name)}</h3>'
        f"{_embed(f'environment-{place}', against(data, beside, place))}</div>"
        for place, name in enumerate(beside.names)
    )
    return f'{_embed("environment", in_order(data, beside))}<div class="slices">{drawn}</div>'


def _over_time(data: ReportData) -> str:
    clipped = (
        "Values beyond the axis are drawn as triangles at its border; point at one to read it."
    )
    failed = " Grey crosses are failed trials." if data.failed else ""
    if data.surroundings is not None:
        failed += " They were taken under various environments, the band is over all of these."
    return f"""
<section>
<h2>Convergence</h2>
<p class="note">The recommendation after so many measurements: the line and its interval are
what the model of that moment believed, the diamonds what the final model says of the
same setting.</p>
{_embed("convergence", convergence(data))}
<h2>Measurements</h2>
<p class="note">Colour is the weight in the model: 1 is taken in full, near 0 is an outlier. The
band is the recommendation's interval. {clipped}{failed}</p>
{_embed("measurements", measurements(data))}
</section>
"""


def _slices(data: ReportData) -> str:
    what, predicted, elsewhere = "mean", "prediction", "whose other parameters were elsewhere"
    if data.surroundings is not None:
        what = predicted = escape(data.surroundings.risk)
        elsewhere = "each under an environment of its own and with other parameters"
    ordered = sorted(data.slices, key=lambda cut: cut.span, reverse=True)
    drawn = "".join(
        f'<div class="slice" data-parameter="{escape(cut.parameter.name)}">'
        f"<h3>{escape(cut.parameter.name)} "
        f"<small>moves the {what} by {number(cut.span, digits=3)}</small></h3>"
        f"{_embed(f'slice-{place}', slice_figure(data, cut))}</div>"
        for place, cut in enumerate(ordered)
    )
    return f"""
<section>
<h2>Parameters</h2>
<p class="note">One slice for each parameter, the one that matters most first: {predicted}
and interval along it, with every other parameter at the recommendation (orange). Grey points are
the measurements, {elsewhere}.</p>
<div class="slices">{drawn}</div>
</section>
"""


def _table(data: ReportData) -> str:
    return f"""
<section>
<h2>Trials</h2>
<p class="note">Click a column's name to sort by it. Tinted rows were treated as outliers.</p>
{trials_table(data)}
</section>
"""


def _tails(data: ReportData) -> str:
    facts = "".join(
        f"<dt>{escape(what)}</dt><dd>{escape(finding)}</dd>" for what, finding in data.tails.facts
    )
    return f"""
<section>
<h2>Noise</h2>
<p class="note">What is left of each measurement after taking away the model's prediction.</p>
<div class="tails">
<div><dl>{facts}</dl><p>{escape(data.tails.verdict)}</p>
<p class="note">Assumed by the model: {escape(data.assumed)}</p></div>
{_embed("quantiles", quantiles(data))}
</div>
</section>
"""


def _reproduce(data: ReportData) -> str:
    versions = ", ".join(f"{escape(name)} {escape(version)}" for name, version in data.versions)
    seed = "none: every run differs" if data.seed is None else str(data.seed)
    return f"""
<section>
<h2>How to reproduce</h2>
<pre>{escape(data.command)}</pre>
<dl>
<dt>seed</dt><dd>{seed}</dd>
<dt>storage</dt><dd><code>{escape(data.storage)}</code></dd>
<dt>versions</dt><dd>{versions}</dd>
<dt>report written</dt><dd>{escape(data.written)}</dd>
</dl>
<p class="note">The study file:</p>
<pre>{escape(data.study_text)}</pre>
</section>
"""


def _embed(name: str, figure: go.Figure) -> str:
    # A closing tag inside the JSON would end the script element that carries it.
    text = str(figure.to_json()).replace("<", "\\u003c")
    return (
        f'<div class="figure" data-figure="figure-{name}" style="height:{figure.layout.height}px">'
        f'</div><script type="application/json" id="figure-{name}">{text}</script>'
    )
