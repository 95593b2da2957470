"""Every example of the README and the documentation runs.

The Python blocks of a file run in order in one namespace, in an empty folder. A TOML block with a
[study] is checked as a study file.
"""

import re
from pathlib import Path

import pytest

from surefoot.tune import StudyFile

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Line numbers and texts of a page's blocks in a language."""
    text = page.read_text(encoding="utf-8")
    return [
        (text[: found.start(2)].count("\n"), found[2])
        for found in BLOCK.finditer(text)
        if found[1] == language
    ]


def having(language: str, part: str = "") -> list:
    chosen = [page for page in PAGES if any(part in text for _, text in blocks(page, language))]
    return [pytest.param(page, id=page.name) for page in chosen]


@pytest.mark.slow
@pytest.mark.parametrize("page", having("python"))
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for line, text in blocks(page, "python"):
        # Leading newlines, so that a traceback names the line of the page.
        exec(compile("\n" * line + text, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", having("toml", "[study]"))
def test_study_files_are_valid(page, tmp_path):
    for line, text in blocks(page, "toml"):
        if "[study]" in text:
            file = tmp_path / f"line_{line}.toml"
            file.write_text(text, encoding="utf-8")
            StudyFile.load(file)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target
