"""One HTML page of many results. It holds everything it needs and opens without network."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from surefoot.experiments import manifest as manifests
from surefoot.experiments.page import command, scale_note, sentence
from surefoot.experiments.whole import explained, write_text

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


def write_gallery(out: Path, names: Sequence[str]) -> Path:
    """Write `OUT/index.html` about the finished results of these names; gives its path."""
    path = out / FILE
    found = [
        (name, content) for name in names if (content := manifests.read(out / name)) is not None
    ]
    with explained(path):
        sections = [_section(out / name, content) for name, content in found]
    write_text(path, _page([content for _, content in found], sections))
    return path


def _page(contents: Sequence[dict[str, Any]], sections: Sequence[str]) -> str:
    rows = "".join(
        f'<tr><td><a href="#{escape(content["experiment"])}">{escape(content["experiment"])}</a>'
        f"</td><td>{escape(content['title'])}</td><td>{_held(content)}</td></tr>"
        for content in contents
    )
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
<div class="tables"><table><tr><th>experiment</th><th></th><th>claims that hold</th></tr>
{rows}</table></div>
{"".join(sections)}
</body>
</html>
"""


def _section(folder: Path, content: dict[str, Any]) -> str:
    picture = base64.b64encode((folder / "figure.svg").read_bytes()).decode()
    name, title = escape(content["experiment"]), escape(content["title"])
    checks = "".join(
        f"<tr><td>{escape(check['claim'])}</td>"
        f"<td{'' if check['holds'] else ' class=no'}>{'yes' if check['holds'] else 'no'}</td>"
        f"<td>{escape(check['measured'])}</td></tr>"
        for check in content["checks"]
    )
    data = content["data"]
    source = f"<p>{escape(sentence(data['source']))}</p>" if data else ""
    return f"""<section id="{name}">
<h2>{title}</h2>
<p class="note">{escape(content["paper"])}. {escape(content["figure"])}.
{content["trials"]} trials of {content["rounds"]:,} rounds, seed {content["seed"]}.</p>
<img alt="{title}" src="data:image/svg+xml;base64,{picture}">
<h3>What the paper says</h3>
<p>{escape(content["says"])}</p>
<h3>What came out</h3>
<p>{_held(content)} claims hold.{escape(scale_note(content))}</p>
<div class="tables"><table><tr><th>claim</th><th>holds</th><th>measured</th></tr>{checks}
</table></div>
<h3>How it was played</h3>
<p>{escape(content["setting"])}</p>
{source}
<p class="note"><code>{escape(command(content))}</code></p>
</section>
"""


def _held(content: dict[str, Any]) -> str:
    return f"{sum(check['holds'] for check in content['checks'])} of {len(content['checks'])}"
