"""One page about many results, as HTML that needs no network, or as Markdown."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup, escape

from surefoot import InvalidInput
from surefoot_experiments.harness.departures import departures_table
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.page import (
    VERDICTS,
    FigureOutput,
    command,
    scale_note,
    sentence,
    table_of,
)
from surefoot_experiments.harness.store import Result, write
from surefoot_experiments.harness.trial import count

FILE = "index.html"
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>surefoot: reproduced experiments</title>
<style>
:root { color-scheme: light dark; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: .5rem; }
img { max-width: 100%; height: auto; background: white; border-radius: 4px; }
.tables { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .75rem .25rem 0; text-align: left;
  vertical-align: top; }
.no { font-weight: bold; color: #c2410c; }
.note { opacity: .75; font-size: .9rem; }
</style>
</head>
<body>
<h1>Reproduced experiments</h1>
<p>{{ verdicts }}</p>
<div class="tables"><table><tr><th>experiment</th><th></th><th>claims that hold</th></tr>
{% for it, picture in results %}
<tr><td><a href="#{{ it.experiment }}">{{ it.experiment }}</a></td><td>{{ it.title }}</td>
<td>{{ count(it.checks).replace(" claims hold", "") }}</td></tr>
{% endfor %}
</table></div>
{% if skipped %}<p>Skipped, since they are incomplete: {{ skipped | join(", ") }}.</p>{% endif %}
{% for it, picture in results %}
<section id="{{ it.experiment }}">
<h2>{{ it.title }}</h2>
<p class="note">{{ it.paper }}. {{ it.figure }}.
{{ it.trials }} trials of {{ "{:,}".format(it.rounds) }} rounds, seed {{ it.seed }}.</p>
<img alt="{{ it.title }}" src="data:image/svg+xml;base64,{{ picture }}">
<h3>What the paper says</h3>
<p>{{ it.says | code }}</p>
<h3>Result</h3>
<p>{{ count(it.checks) }}.{{ scale_note(it) }}</p>
<div class="tables"><table><tr><th>claim</th><th>holds</th><th>measured</th></tr>
{% for check in it.checks %}
<tr><td>{{ check.claim }}</td><td{% if check.verdict == "no" %} class="no"{% endif %}>
{{- check.verdict }}</td><td>{{ check.measured }}</td></tr>
{% endfor %}
</table></div>
<h3>Setting</h3>
<p>{{ it.setting | code }}</p>
{% if it.departures is not none %}
<h3>Departures from the published setting</h3>
{% if it.departures %}
<div class="tables"><table><tr><th>row</th><th>setting</th><th>published</th><th>here</th></tr>
{% for one in it.departures %}
<tr><td>{{ one.row }}</td><td>{{ one.setting }}</td><td>{{ one.published }}</td>
<td>{{ one.here }}</td></tr>
{% endfor %}
</table></div>
{% else %}<p>None.</p>{% endif %}
{% endif %}
{% if it.data %}<p>{{ sentence(it.data.source) }}</p>{% endif %}
<p class="note"><code>{{ command(it) }}</code></p>
</section>
{% endfor %}
</body>
</html>
"""
_HEAD = """\
# Reproduced experiments

The results at the stated scale, beside what the paper says, with every departure from the paper's
setting. Final values are means over trials; seconds are of one core, all trials together.
"""
_STATED = ("surefoot", "torch", "gpytorch", "numpy")
_CODE = re.compile("`([^`]*)`")


def _with_code(text: str) -> Markup:
    """Escaped text, in which what stands between backticks is code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


_ENVIRONMENT = Environment(autoescape=True, trim_blocks=True)
_ENVIRONMENT.filters["code"] = _with_code
_TEMPLATE = _ENVIRONMENT.from_string(_PAGE)


def write_gallery(
    out: Path, names: Sequence[str], say: Callable[[str], None] = lambda line: None
) -> Path:
    """Write `OUT/index.html` about the finished results of some experiments.

    Args:
        out: The folder with the results.
        names: Names of the experiments; those without a result are left out.
        say: Called with a line about each result that cannot be read or has no picture.

    Returns:
        The path of the page.

    Raises:
        InvalidInput: There is no such folder, or the page cannot be written.
    """
    if not out.is_dir():
        raise InvalidInput(f"{out}: no such folder, expected one with results of experiments")
    results, skipped = [], []
    for name in names:
        try:
            if (result := Result.at(out / name)) is not None:
                results.append((result.manifest, _picture(out / name / "figure.svg")))
        except InvalidInput as error:
            skipped.append(name)
            say(f"{name}: skipped in the gallery: {error}")
    text = _TEMPLATE.render(
        results=results,
        skipped=skipped,
        verdicts=VERDICTS,
        count=count,
        scale_note=scale_note,
        sentence=sentence,
        command=command,
    )
    write(out / FILE, text.encode())
    return out / FILE


def summary(out: Path, experiments: Sequence[Experiment]) -> str:
    """The claims and final values of the finished results, in Markdown.

    Claims are checked again on the stored tables.

    Raises:
        InvalidInput: There is no finished result, or one cannot be read.
    """
    results = [(one, Result.at(out / one.name)) for one in experiments]
    found = [(one, result) for one, result in results if result is not None]
    if not found:
        raise InvalidInput(f"{out}: no finished result: run an experiment first")
    manifest = found[0][1].manifest
    versions = ", ".join(f"{name} {manifest.versions[name]}" for name in _STATED)
    head = f"{_HEAD}\n{VERDICTS}\n\nRun on {manifest.machine['cores']} cores; {versions}.\n\n"
    return head + "\n".join(_section(one, result) for one, result in found)


def _section(experiment: Experiment, result: Result) -> str:
    manifest, output = result.manifest, experiment.output
    tables = {path.stem: pd.read_parquet(path) for path in sorted(result.folder.glob("*.parquet"))}
    checks = output.checks(tables)
    parts = [
        f"## {experiment.name}: {experiment.title}",
        f"{experiment.figure}; {manifest.trials} trial{'s' if manifest.trials != 1 else ''} of "
        f"{manifest.rounds:,} rounds (published: "
        f"{experiment.published.trials} of {experiment.published.rounds:,}), "
        f"{manifest.seconds:,.0f} s."
        + ("" if manifest.data is None else f" Data: {manifest.data.source}."),
        f"**Paper.** {experiment.says}",
        f"**Setting.** {experiment.setting}",
    ]
    if experiment.departures is not None:
        parts.append(f"**Departures from it.**\n\n{departures_table(experiment.departures)}")
    if isinstance(output, FigureOutput):
        values = ", ".join(
            f"{' / '.join(key) if isinstance(key, tuple) else key} {value:.3g}"
            for key, value in output.ends(tables)["mean"].items()
        )
        parts.append(f"{output.measure.label}, at the end: {values}.")
    return "\n\n".join([*parts, f"{count(checks)}.\n\n{table_of(checks)}\n"])


def _picture(file: Path) -> str:
    try:
        return base64.b64encode(file.read_bytes()).decode()
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read: {error.strerror or error}") from None
