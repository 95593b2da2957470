"""The page: complete, self-contained, and safe with any text in it."""

import json
import re
from html.parser import HTMLParser

import pytest
from report_examples import CHOICE, NUMBER, report_of, slice_of, trial

from surefoot.tune.report.contents import Parameter
from surefoot.tune.report.page import page

EVIL = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """What a browser would find in the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.shown: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] not in ("script", "style"):
            self.shown.append(data)


def figures(text: str) -> dict[str, dict]:
    found = re.findall(r'<script type="application/json" id="figure-(.+?)">(.*?)</script>', text)
    return {name: json.loads(content) for name, content in found}


SPIKED = tuple(trial(n, 10_000.0 if n == 7 else None if n == 3 else 10.0 + n) for n in range(12))
CASES = {
    "ordinary": report_of(),
    "spike and failure": report_of(SPIKED),
    "spike, negative values": report_of(tuple(trial(n, 5.0 * n - 7) for n in range(5)) + SPIKED),
    "one trial": report_of((trial(0, 10.0),)),
    "constant": report_of(tuple(trial(n, 10.0) for n in range(9))),
    "all categorical": report_of(parameters=(CHOICE,)),
    "all numbers": report_of(parameters=(NUMBER,)),
    "maximise": report_of(direction="maximize"),
    "running": report_of((trial(0, 1.0), trial(1, None, state="running", failure=""))),
}


@pytest.mark.parametrize("data", CASES.values(), ids=CASES.keys())
def test_page_is_complete_and_needs_no_network(data):
    text = page(data)
    tags = Reader(text).tags
    for tag, attributes in tags:
        assert tag not in ("link", "img", "iframe", "base", "object"), tag
        assert "src" not in attributes
    assert text.count("<script>") == 2  # plotly.js and the page's own
    assert "default-src 'none'" in text
    drawn = figures(text)
    assert {"convergence", "measurements", "quantiles"} < drawn.keys()
    assert len(drawn) == 3 + len(data.parameters)
    named = [attributes.get("data-parameter") for _, attributes in tags]
    for parameter in data.parameters:
        assert parameter.name in named
    assert sum(tag == "tr" for tag, _ in tags) == 1 + len(data.trials)


def test_every_text_of_the_study_is_escaped():
    evil = Parameter(EVIL, choices=(EVIL, "</script>"))
    params = {EVIL: EVIL}
    trials = (
        trial(0, 10.0, params=params),
        trial(1, 11.0, params=params),
        trial(2, None, params=params, failure=EVIL),
    )
    data = report_of(
        trials,
        (evil,),
        name=EVIL,
        study_text=EVIL,
        storage=EVIL,
        command=EVIL,
        noise_model=EVIL,
        slices=(slice_of(evil),),
    )
    text = page(data)
    assert "<script>alert" not in text
    assert text.count("<script>") == 2
    assert "alert(1)" in "".join(Reader(text).shown)
    # A figure's own texts are markup to plotly, so they are escaped inside the JSON too.
    for figure in figures(text).values():
        assert "<script>" not in json.dumps(figure)


def test_a_spike_leaves_the_axis_readable_and_its_value_in_reach():
    figure = figures(page(report_of(SPIKED)))["measurements"]
    low, high = figure["layout"]["yaxis"]["range"]
    assert high < 100
    assert low < 10
    points = next(trace for trace in figure["data"] if trace.get("name") == "measurements")
    assert max(points["y"]) <= high
    assert any("measured 10,000" in told for told in points["hovertext"])
    assert figure["layout"]["meta"]["views"][1]["y"][6] == 10_000


def test_failures_are_marked_and_their_reasons_given():
    text = page(report_of(SPIKED))
    figure = figures(text)["measurements"]
    failed = next(trace for trace in figure["data"] if trace.get("name") == "failed")
    assert failed["x"] == [3]
    assert "exit status 3" in failed["hovertext"][0]
    assert "exit status 3" in "".join(Reader(text).shown)


def test_the_parameter_that_matters_most_comes_first():
    text = page(report_of())
    assert text.index('data-parameter="cache_mb"') < text.index('data-parameter="sync"')
