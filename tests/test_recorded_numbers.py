"""Times, regrets and ranks on pages for users are those of recorded results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
IN_SECONDS = {"ms": 1e-3, "s": 1.0, "minutes": 60.0}
TIME = re.compile(r"(\d[\d.]*)(?: to (\d[\d.]*))? (ms|s|minutes)\b")
RECORD = re.compile(r"\]\(([^)#]*(?:benchmarks|results|notes)/[^)#]*\.md)")
# Settings and examples, which nobody has measured.
SET = {
    "ask-tell.md": "0.4 ms",
    "cluster.md": "150 s",
    "confirm.md": " ms",
    "constraints.md": "18.3 ms",
    "reliability.md": "15 s",
    "running.md": "15 s",
    "study-file.md": "",
}
PRECISE = re.compile(r"(?<![\w.])\d+\.\d\d+(?![\w.])")


def paragraphs(page: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.split(r"\n\s*\n|\n(?=[-|*] )", text)


def times(text: str) -> list[tuple[str, str]]:
    return [(end, found[3]) for found in TIME.finditer(text) for end in found.groups()[:2] if end]


def numbers_in(table: str) -> list[float]:
    return [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?:\.\d+)?", table)]


def recorded(value: str, unit: str, table: str) -> bool:
    """Whether a table has a number, in whatever unit, that rounds to a value."""
    digits = len(value.partition(".")[2])
    numbers = numbers_in(table)
    factors = [one / IN_SECONDS[unit] for one in IN_SECONDS.values()]
    return any(round(one * by, digits) == float(value) for one in numbers for by in factors)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_time_is_set_or_recorded_in_a_table_that_is_linked(page: Path) -> None:
    for text in paragraphs(page):
        tables = [(page.parent / one).read_text() for one in RECORD.findall(text)]
        for value, unit in times(text):
            if not tables:
                assert SET.get(page.name, "none") in f"{value} {unit}", f"no record of it in {text}"
                continue
            found = any(recorded(value, unit, table) for table in tables)
            assert found, f"{value} {unit} is in no table that is linked: {text}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_regret_is_recorded_in_a_table_that_is_linked(page: Path) -> None:
    """Numbers of two decimals and more, beside times, where a record is linked."""
    for text in paragraphs(page):
        tables = [(page.parent / one).read_text() for one in RECORD.findall(text)]
        said = TIME.sub("", re.sub(r"`[^`]*`", "", text))
        for value in PRECISE.findall(said) if tables else ():
            assert any(same(value, tables)), f"{value} is in no table that is linked: {text}"


def same(value: str, tables: list[str]) -> list[bool]:
    digits = len(value.partition(".")[2])
    return [round(one, digits) == float(value) for table in tables for one in numbers_in(table)]


def test_medians_and_ranks_by_family_are_those_of_the_yardstick() -> None:
    known = numbers_in((ROOT / "notes/answers.md").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("**", "")
    rows = re.findall(r"^\|.*, \d\.\d\d \|$", readme, re.MULTILINE)
    assert len(rows) == 8
    for value in re.findall(r"\d+\.\d+", "".join(rows)):
        assert float(value) in known, value


def test_a_table_is_compared_in_any_unit() -> None:
    table = "| 1,000 | 1.38 | 406 s |"
    assert recorded("1.4", "ms", table)
    assert recorded("7", "minutes", table)
    assert not recorded("1.5", "ms", table)
    assert not recorded("8", "minutes", table)
