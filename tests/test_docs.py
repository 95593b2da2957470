"""Every example of the README and the documentation runs.

The Python blocks of a file run in order in one namespace, in an empty folder, and the last one
asserts what the page claims. A TOML block with a [study] is checked as a study file.
"""

import ast
import io
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surefoot.cli import app
from surefoot.tune import StudyFile
from surefoot.tune.ask_tell.ask_tell import open_ask_tell
from surefoot.tune.ask_tell.verbs import serve_lines

ROOT = Path(__file__).parents[1]
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "experiments/README.md")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
]
NOTES = sorted((ROOT / "notes").glob("*.md"))  # their examples belong to earlier versions
GENERATED = ROOT / "docs" / "reference"  # by `make docs`, which checks links to it
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
    return [pytest.param(page, id=named(page)) for page in chosen]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.daily(2)
@pytest.mark.parametrize("page", having("python"))
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for line, text in blocks(page, "python"):
        # Leading newlines, so that a traceback names the line of the page.
        exec(compile("\n" * line + text, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", having("python"))
def test_python_examples_end_in_an_assertion(page):
    statements = [node for _, text in blocks(page, "python") for node in ast.parse(text).body]
    last = statements[-1]
    assertions = [node for node in ast.walk(last) if isinstance(node, ast.Assert)]
    assert assertions, f"line {blocks(page, 'python')[-1][0]}: the last example asserts nothing"
    for assertion in assertions:
        names = [node for node in ast.walk(assertion.test) if isinstance(node, ast.Name)]
        assert names, f"`{ast.unparse(assertion)}` depends on nothing that the example computes"


def test_requests_have_the_answers_of_the_page(tmp_path):
    page = ROOT / "docs" / "ask-tell.md"
    study = tmp_path / "cache.toml"
    study.write_text(blocks(page, "toml")[0][1])
    ((_, text),) = blocks(page, "jsonl")
    *lines, answers = [*text.splitlines(), io.StringIO()]
    requests = io.StringIO("".join(f"{line}\n" for line in lines[::2]))
    serve_lines(open_ask_tell(study), requests, answers)
    assert answers.getvalue().splitlines() == lines[1::2]


@pytest.mark.parametrize("page", having("toml", "[study]"))
def test_study_files_are_valid(page, tmp_path):
    for line, text in blocks(page, "toml"):
        if "[study]" in text:
            file = tmp_path / f"line_{line}.toml"
            file.write_text(text, encoding="utf-8")
            StudyFile.load(file)


@pytest.mark.parametrize("page", [*PAGES, *NOTES], ids=named)
def test_links_within_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            file = (page.parent / target).resolve()
            assert file.exists() or file.parent == GENERATED, target


TITLED = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)


def walked_through() -> list:
    """Pages that write a study file of their own and run surefoot's commands on it."""
    chosen = [
        page
        for page in PAGES
        if any(name.endswith(".toml") for name, _ in TITLED.findall(page.read_text("utf-8")))
    ]
    return [pytest.param(page, id=named(page)) for page in chosen]


def in_short(text: str) -> str:
    """The same with few rounds and runs."""
    return re.sub(r"^(rounds = |.* --runs )\d+", r"\g<1>6", text, flags=re.MULTILINE)


@pytest.mark.long
@pytest.mark.parametrize("page", walked_through())
def test_commands_of_a_tutorial_run_on_its_files(page, tmp_path, monkeypatch):
    for name, text in TITLED.findall(page.read_text(encoding="utf-8")):
        (tmp_path / name).write_text(in_short(text), encoding="utf-8")
    commands = [
        in_short(line).removeprefix("$ surefoot ").split("#")[0]
        for _, text in blocks(page, "console")
        for line in text.splitlines()
        if line.startswith("$ surefoot ")
    ]
    assert commands
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command))
        # After so few rounds the default may be what is recommended: nothing is to be compared.
        same = command.startswith("compare") and "are the same configuration" in done.output
        assert done.exit_code == (2 if same else 0), f"{command}: {done.output}"
