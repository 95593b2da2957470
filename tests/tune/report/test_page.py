"""The page: complete, self-contained, and safe with any text in it."""

import json
import re
from functools import cache
from html.parser import HTMLParser

import pytest

from support.report_examples import CHOICE, NUMBER, report_of, slice_of, trial
from surefoot.tune.estimate_text import Units
from surefoot.tune.report.contents import Checkpoint, Decision, Interval, Parameter, Slice
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


cases = pytest.mark.parametrize(
    "case",
    CASES,
)


@cache
def page_of(case: str) -> str:
    return page(CASES[case])


class Counted(tuple):
    """Trials that count how often all of them are gone through."""

    times = 0

    def __iter__(self):
        Counted.times += 1
        return super().__iter__()


@pytest.mark.long
def test_the_trials_are_gone_through_as_often_whatever_their_number(monkeypatch):
    found = []
    for number in (4, 64):
        monkeypatch.setattr(Counted, "times", 0)
        page(report_of(Counted(trial(each, 10.0 + each % 3) for each in range(number))))
        found.append(Counted.times)
    assert 0 < found[0] == found[1]


@pytest.mark.long
@cases
def test_page_is_complete_and_needs_no_network(case):
    data, text = CASES[case], page_of(case)
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
    trials = text[text.index('id="trials"') :]
    assert trials.count("<tr") == 1 + len(data.trials)


@pytest.mark.long
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


def test_plotly_shows_every_text_of_the_study_as_it_is():
    """It decodes no entities of quotes, and takes tags for markup."""
    odd = '\u00b5s/<b>op</b> & "it\'s"'
    parameter = Parameter(odd, choices=(odd, "other"))
    trials = tuple(trial(number, 10.0 + number, params={odd: odd}) for number in range(5))
    units = Units(odd, {odd: odd})
    text = page(report_of(trials, (parameter,), slices=(slice_of(parameter),), units=units))
    shown = json.dumps(figures(text), ensure_ascii=False)
    assert "<b>" not in shown
    assert "&quot;" not in shown
    assert "&#x27;" not in shown
    as_plotly_reads_it = json.loads(shown.replace("&lt;", "<").replace("&gt;", ">"))
    titles = [one["layout"]["yaxis"]["title"] for one in as_plotly_reads_it.values()]
    assert f"measured [{odd}]".replace("&", "&amp;") in [one["text"] for one in titles]


@pytest.mark.long
def test_code_in_sentences_is_marked_up_and_escaped():
    lines = (f"run `surefoot {EVIL}` again, for 5 % of `",)
    text = page(
        report_of(warnings=lines, decision=Decision("", (), "by `surefoot compare`: -48.4 %"))
    )
    assert "<code>surefoot compare</code>: -48.4&nbsp;%" in text
    assert (
        "<code>surefoot &lt;script&gt;alert(1)&lt;/script&gt;</code> again, for 5&nbsp;% of `"
        in text
    )


def test_a_spike_leaves_the_axis_readable_and_its_value_in_reach():
    figure = figures(page_of("spike and failure"))["measurements"]
    low, high = figure["layout"]["yaxis"]["range"]
    assert high < 100
    assert low < 10
    points = next(trace for trace in figure["data"] if trace.get("name") == "measurements")
    assert max(points["y"]) <= high
    assert any("measured 10000" in told for told in points["hovertext"])
    assert figure["layout"]["meta"]["views"][1]["y"][6] == 10_000


def test_failures_are_marked_and_their_reasons_given():
    text = page_of("spike and failure")
    figure = figures(text)["measurements"]
    failed = next(trace for trace in figure["data"] if trace.get("name") == "failed")
    assert failed["x"] == [3]
    assert "exit status 3" in failed["hovertext"][0]
    assert "exit status 3" in "".join(Reader(text).shown)


def test_the_parameter_that_matters_most_comes_first():
    text = page_of("ordinary")
    assert text.index('data-parameter="cache_mb"') < text.index('data-parameter="sync"')


@pytest.mark.long
@cases
def test_a_screen_reader_finds_landmarks_and_the_content_of_every_figure(case):
    tags = Reader(page_of(case)).tags
    assert sum(tag == "main" for tag, _ in tags) == 1
    ids = {attributes.get("id") for _, attributes in tags}
    for tag, attributes in tags:
        if tag == "section":
            assert attributes.get("aria-label") or attributes["aria-labelledby"] in ids
        if attributes.get("class") == "figure":
            assert attributes["role"] == "img"
            assert len(attributes["aria-label"] or "") > 40
        if attributes.get("class") == "scroll":
            assert attributes["tabindex"] == "0"


@pytest.mark.long
def test_what_was_measured_is_beside_the_trial_however_many_parameters_there_are():
    text = page(report_of(parameters=tuple(Parameter(f"p{n}") for n in range(8))))
    heads = re.findall(r'<th scope="col"[^>]*><button type="button">(.+?)</button>', text)
    assert heads[:6] == ["trial", "measured", "predicted", "weight", "state", "p0"]


@pytest.mark.long
def test_a_diamond_outside_the_band_is_mentioned():
    held = Checkpoint(3, Interval(12.0, 5.0, 19.0), Interval(10.0, 9.0, 11.0))
    missed = Checkpoint(6, Interval(12.0, 11.0, 13.0), Interval(10.0, 9.0, 11.0))
    last = Checkpoint(9, Interval(10.0, 9.5, 10.5), Interval(10.0, 9.5, 10.5))
    assert "Every diamond is in the band" in page(report_of(history=(held, last)))
    assert "1 of 2 earlier diamonds outside the band.<" in page(
        report_of(history=(held, missed, last))
    )
    assert "2 of 3 earlier diamonds outside the band: those intervals were too narrow." in page(
        report_of(history=(held, missed, missed, last))
    )


@pytest.mark.long
def test_a_far_end_of_one_slice_does_not_squash_the_others():
    values = tuple(float(n) for n in range(1, 49))
    flat = tuple(Interval(10.0 + 0.01 * n, 9.0, 11.5) for n in range(48))
    steep = (*flat[:45], *(Interval(500.0, 100.0, 900.0),) * 3)
    both = (Slice(NUMBER, values, steep, 3.0), Slice(Parameter("other"), values, flat, 3.0))
    figure = figures(page(report_of(parameters=(NUMBER, Parameter("other")), slices=both)))
    low, high = figure["slice-1"]["layout"]["yaxis"]["range"]
    assert 5 < low < 9.5
    assert 10.5 < high < 20
