"""MkDocs hook: pages that are generated or lie elsewhere in the repository, and their links.

Pages of the repository outside `docs` (notes, tables of benchmarks, the changelog) are part of the
site, and links to them, which are relative to the file that has them, are translated.
"""

import posixpath
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from reference_pages import all_pages

ROOT = Path(__file__).parents[1]
RESULTS = PurePosixPath("experiments/src/surefoot_experiments")
LINK = re.compile(r"(\]\()([^)\s#]+)([^)\s]*\))")
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?https?:"""
    r"""|<link\b(?=[^>]*rel=["']?(?:stylesheet|preload|icon))[^>]*href=["']?https?:"""
    r"""|url\(["']?https?:"""
)


def elsewhere() -> dict[str, str]:
    """Where files of the repository outside `docs` are in the site."""
    tables = sorted((ROOT / RESULTS / "benchmarks").glob("*.md"))
    notes = [note.name for note in sorted((ROOT / "notes").glob("*.md"))]
    return {
        **{f"notes/{note}": f"notes/{note.replace('README', 'index')}" for note in notes},
        **{f"{RESULTS}/benchmarks/{table.name}": f"results/{table.name}" for table in tables},
        f"{RESULTS}/live/results.md": "results/live.md",
        f"{RESULTS}/papers/reproduced.md": "results/reproduced.md",
        f"{RESULTS}/scoreboard/results.md": "results/scoreboard.md",
        f"{RESULTS}/papers/library_defaults.md": "results/library_defaults.md",
        "examples/sqlite/bench.py": "examples/bench.md",
        "examples/sqlite/sqlite.toml": "examples/sqlite.md",
        "experiments/README.md": "experiments.md",
        "CHANGELOG.md": "changelog.md",
        "CONTRIBUTING.md": "contributing.md",
        "SECURITY.md": "security.md",
    }


PAGES = elsewhere()
SOURCES = {uri: source for source, uri in PAGES.items()}


def content_of(source: str) -> str:
    """A file as a page: Markdown as it is, anything else as code under its name."""
    path = ROOT / source
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    language = {".py": "python", ".toml": "toml"}[path.suffix]
    return f"# {path.name}\n\n```{language}\n{text}```\n"


def results_page() -> str:
    """The index of all tables, under their titles."""
    lines = ["# Results", "", "Tables that the benchmarks and experiments wrote.", ""]
    for source, uri in PAGES.items():
        if uri.startswith("results/"):
            title = content_of(source).splitlines()[0].removeprefix("# ")
            lines.append(f"- [{title}]({posixpath.basename(uri)})")
    return "\n".join([*lines, ""])


def translated(markdown: str, uri: str) -> str:
    """The text of a page with links to files of the repository as links within the site."""
    source = SOURCES.get(uri, f"docs/{uri}")

    def link(found: re.Match[str]) -> str:
        before, target, after = found.groups()
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = PAGES.get(path) or (
            path.removeprefix("docs/") if path.startswith("docs/") else None
        )
        if place is None:
            return found[0]
        return before + posixpath.relpath(place, posixpath.dirname(uri) or ".") + after

    return LINK.sub(link, markdown)


def on_files(files: Files, config: Any, **_: Any) -> Files:
    pages = all_pages() | {"results/index.md": results_page()}
    pages |= {uri: content_of(source) for source, uri in PAGES.items()}
    for uri, content in pages.items():
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return translated(markdown, page.file.src_uri)


def on_post_build(config: Any, **_: Any) -> None:
    """Refuse a site whose pages would fetch anything from another one."""
    for page in Path(config["site_dir"]).rglob("*.html"):
        found = FETCHED.search(page.read_text(encoding="utf-8"))
        if found:
            raise PluginError(f"{page}: {found[0]} is loaded from the network")
