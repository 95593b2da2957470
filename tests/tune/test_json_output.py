"""JSON in the output of a command, however long it is and wherever it stands."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.section import ValueName, wrong_value_name
from surefoot.tune.measuring import supervised_process
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.json_output import Document, Output
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.observed_constraints import printed_constraints
from surefoot.tune.measuring.printed_value import printed_value
from surefoot.tune.measuring.quantity import Missing, Quantity
from surefoot.tune.stopping import Stop

REPORT = {"p95": 1.36, "p99": 3.0}
WINDOWS = [{"start": n, "p95": 9 + n, "p99": 900 + n} for n in range(4000)]
KEYS = st.one_of(
    st.sampled_from(
        [
            "p95",
            "99.000000",
            "a.b",
            "a",
            "b",
            "",
            "$",
            "[0]",
            "0",
            "a'b",
            'a"b',
            "\\",
            "/(a)/",
            "column:b",
        ]
    ),
    st.text(max_size=4),
)
JSON = st.recursive(
    st.one_of(st.integers(0, 9), st.none(), st.just("word")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)


def value(text: str, name: str) -> float:
    printed = printed_value(text, ValueName(name))
    assert isinstance(printed, Quantity), printed
    return printed.value


def refused(text: str, name: str | None = None) -> str:
    printed = printed_value(text, None if name is None else ValueName(name))
    assert isinstance(printed, Missing), printed
    return printed.reason


@pytest.mark.long
@pytest.mark.parametrize("number", [0, 1, 10, 4000])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_number_does_not_depend_on_how_long_its_document_is(tmp_path, number, indent):
    (tmp_path / "said").write_text(
        json.dumps(REPORT | {"windows": WINDOWS[:number]}, indent=indent) + "\n"
    )
    template, constraints = CommandTemplate.parse("cat said"), {"p99": None}
    objective = CommandObjective(
        template, tmp_path, 20, constraints=constraints, value=ValueName("p95")
    )
    measured = objective.measure({}, Stop())
    assert isinstance(measured, Measurement)
    assert (measured.value, measured.values) == (1.36, {"p99": 3.0})


@pytest.mark.parametrize(
    "text",
    [
        "{0}\ndone\n",
        "{0}\n\n[info] 3 files written in 0.5 s\n",
        "INFO {0}\ndone",
        "2026-03-01 14:30:00 result = {0}, ok",
        '{{"p95": 99}}\n{0}\n{{"level": "info"}}',
        "p95=7\n{0}",
        "[\n{0}\n]\n{0}",
        '{{"p95": 99}}{0}',
    ],
)
def test_a_document_is_one_wherever_it_stands(text):
    report = json.dumps(REPORT | {"windows": WINDOWS[:3]})
    printed = text.format(report)
    assert value(printed, "p95") == 1.36
    found, _ = printed_constraints(Output.of(printed), {"p99": None}, True)
    assert found["p99"].value == 3.0


def test_what_comes_last_counts_in_text_and_documents():
    assert value('{"p95": 3}\np95=12.5', "p95") == 12.5
    assert value('p95=3\n{"p95": 12.5}', "p95") == 12.5
    assert value('p95=12.5\n{"other": 3}', "p95") == 12.5


@pytest.mark.parametrize(
    "broken",
    [
        '{"p95": 1.36, "windows": [{"p95": 9}, {"p95"',
        '{"p95": 1.36, "windows": [{"p95": 9},]}',
        '{\n "p95": 1.36,\n "windows": [\n  {"p95": 9},\n  {"p95": 10}\n ]\n',
        'INFO {"p95": 1.36, "p99": nan, "windows": [{"p95": 9}]}',
        '[{"p95": 1.36}, {"p95": 9}, ',
        '{"a":\n' * 40_000,
    ],
)
def test_what_is_not_quite_a_document_is_not_read_as_text(broken):
    for name in ("p95", None):
        assert refused(broken, name).startswith("a JSON document on standard output cannot be read")
    if "\n" not in broken:
        assert value(f"{broken}\np95=12.5", "p95") == 12.5


def test_what_only_looks_like_json_is_text():
    assert value("{'p95': 12.5, 'lr': 3}", "p95") == 12.5
    assert value("{p95: 12.5}", "p95") == 12.5
    assert printed_value("tensor([[12.5]], device='cuda:0')").value == 12.5
    assert value("[[12:30:01] INFO] p95=12.5", "p95") == 12.5


def test_a_document_without_a_number_after_one():
    assert refused('12.5\n{"p95": null}').startswith("no number in `{'p95': None}`, only before it")
    assert printed_value('{"status": "ok"}') is None


def test_without_a_name_the_line_has_one_number_in_text_and_documents():
    assert refused('p95=12.5 {"p99": 3}').startswith("several numbers in the last line: p95=12.5")
    assert printed_value('12.5\n{"p99": 3}', apart=["p99"]).value == 12.5


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("clat.99.000000", 1),
        ("clat['99.000000']", 1),
        ('clat["99.000000"]', 1),
        ("$.clat.99.000000", 1),
        ("$['clat']['99.000000']", 1),
        ("a.b", 2),  # the longest key first
        ("['a']['b']", 3),
        ("a.c", 4),  # also where a longer key leads nowhere
        ("list[1].x", 6),
        ("list.0", 5),
        ("list[-1].x", 6),
        ("µs", 7),
        ("\N{GREEK SMALL LETTER MU}s", 7),
    ],
)
def test_forms_of_a_path(path, found):
    document = {
        "clat": {"99.000000": 1, "99": {"0": 9}},
        "a.b": 2,
        "a": {"b": 3, "c": 4},
        "a.": {"d": 8},
        "list": [5, {"x": 6}],
        "\N{MICRO SIGN}s": 7,
    }
    for text in (json.dumps(document), json.dumps(document, ensure_ascii=False)):
        assert value(text, path) == found


@pytest.mark.long
@given(JSON.filter(lambda one: isinstance(one, dict | list)))
def test_every_path_in_a_message_is_one(value):
    document = Document(value, 0)
    for steps, number in document.numbers():
        path = document.path(steps)
        assert path == "" or wrong_value_name(path) == ""
        assert path == "" or document.find(path) == (steps, int(number.value))
        assert path or not all(isinstance(one, int) or one.isprintable() for one in steps)


@pytest.mark.long
@given(st.dictionaries(KEYS, st.integers(2, 9), min_size=2, max_size=5))
def test_every_path_that_a_refusal_lists_is_read(found):
    text = json.dumps(found)
    _, _, listed = refused(text, "not there").partition("expected one of ")
    paths = listed.removesuffix(" in objective.value").split(", ")
    numbers = Output.of(text).documents[0].numbers()
    path_of = Output.of(text).documents[0].path
    expected = {path: one.value for steps, one in numbers if (path := path_of(steps))}
    if "..." not in paths and not any("," in path for path in expected):
        assert {path: value(text, path) for path in paths} == expected


@pytest.mark.long
def test_replicates_are_all_read():
    samples = [1.0] * 9_000 + [3.0] * 9_000
    for text in (
        f"samples: {' '.join(map(str, samples))}",
        "\n".join(f"samples: {one}" for one in samples),
        json.dumps({"samples": samples, "more": [{}]}),
    ):
        name = ValueName("samples") if text.startswith("{") else None
        assert printed_value(text, name).value == pytest.approx(2.0, abs=1e-6)


def test_what_is_longer_than_what_is_kept_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(supervised_process, "MOST", 1 << 20)
    (tmp_path / "said").write_text('{"p95": 1.36, "w": "' + "x" * (1 << 20) + '"}\np95: 9\n')
    objective = CommandObjective(
        CommandTemplate.parse("cat said"), tmp_path, 20, value=ValueName("p95")
    )
    failed = objective.measure({}, Stop())
    assert isinstance(failed, Failure)
    assert failed.blameless
    assert failed.reason.startswith("more than 1 MiB on standard output, of which the beginning is")
