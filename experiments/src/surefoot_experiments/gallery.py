"""One HTML page of many results. It holds everything it needs and opens without network."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from surefoot.types import InvalidInput
from surefoot_experiments import manifest as manifests
from surefoot_experiments.experiment import Check, count
from surefoot_experiments.page import VERDICTS, command, scale_note, sentence
from surefoot_experiments.whole import write_text

FILE = "index.html"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
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
"""


def write_gallery(
    out: Path, names: Sequence[str], say: Callable[[str], None] = lambda line: None
) -> Path:
    """Write `OUT/index.html` about the finished results of these names; gives its path.

    One that cannot be read or has no picture is named on the page as left out, and `say` is told
    why.
    """
    contents, sections, left_out = [], [], []
    for name in names:
        try:
            content = manifests.read(out / name)
            if content is not None:
                sections.append(_section(out / name, content))
                contents.append(content)
        except InvalidInput as error:
            left_out.append(name)
            say(f"{name}: left out of the gallery: {error}")
    path = out / FILE
    write_text(path, _page(contents, sections, left_out))
    return path


def _page(
    contents: Sequence[dict[str, Any]], sections: Sequence[str], left_out: Sequence[str]
) -> str:
    rows = "".join(
        f'<tr><td><a href="#{escape(content["experiment"])}">{escape(content["experiment"])}</a>'
        f"</td><td>{escape(content['title'])}</td><td>{_held(content)}</td></tr>"
        for content in contents
    )
    missing = ", ".join(map(escape, left_out))
    note = f"<p>Left out, since not all of it is there: {missing}.</p>" if left_out else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>surefoot: the figures</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>The figures, played anew</h1>
<p>{escape(VERDICTS)}</p>
<div class="tables"><table><tr><th>experiment</th><th></th><th>claims that hold</th></tr>
{rows}</table></div>
{note}
{"".join(sections)}
</body>
</html>
"""


def _section(folder: Path, content: dict[str, Any]) -> str:
    file = folder / "figure.svg"
    try:
        picture = base64.b64encode(file.read_bytes()).decode()
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read: {error.strerror or error}") from None
    name, title = escape(content["experiment"]), escape(content["title"])
    claims = [Check.of(check) for check in content["checks"]]
    rows = "".join(
        f"<tr><td>{escape(check.claim)}</td>"
        f"<td{' class=no' * (check.verdict == 'no')}>{check.verdict}</td>"
        f"<td>{escape(check.measured)}</td></tr>"
        for check in claims
    )
    data = content.get("data")
    source = f"<p>{escape(sentence(data['source']))}</p>" if data else ""
    return f"""<section id="{name}">
<h2>{title}</h2>
<p class="note">{escape(content["paper"])}. {escape(content["figure"])}.
{content["trials"]} trials of {content["rounds"]:,} rounds, seed {content["seed"]}.</p>
<img alt="{title}" src="data:image/svg+xml;base64,{picture}">
<h3>What the paper says</h3>
<p>{escape(content["says"])}</p>
<h3>What came out</h3>
<p>{count(claims)}.{escape(scale_note(content))}</p>
<div class="tables"><table><tr><th>claim</th><th>holds</th><th>measured</th></tr>{rows}
</table></div>
<h3>How it was played</h3>
<p>{escape(content["setting"])}</p>
{source}
<p class="note"><code>{escape(command(content))}</code></p>
</section>
"""


def _held(content: dict[str, Any]) -> str:
    return count([Check.of(check) for check in content["checks"]]).replace(" claims hold", "")
