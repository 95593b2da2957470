"""Values in a notebook: what a person wants to see, with every text escaped."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

import surefoot as sf
from surefoot._internal.html import as_html
from surefoot.integrations.optuna.predictions import StudyRecommendation
from surefoot.tune.study.findings import Findings

BAD = "<script>alert(1)</script>&"


class _Text(HTMLParser):
    """Collects the text, and checks that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.open = "", []

    def handle_starttag(self, tag, attrs):
        assert tag in {"div", "strong", "table", "tr", "th", "td", "p"}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + "\n"


def text_of(html: str) -> str:
    """The text of well-formed HTML."""
    parser = _Text()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser.text


def told() -> sf.Optimizer:
    optimizer = sf.algorithms.robust_ucb(sf.parameters.Space({"x": sf.parameters.Float(0, 1)}))
    rewards = [0.0, 0.3, 0.9, 1.0, 50.0, 0.8, 0.6, 0.2, 0.95, 0.1]
    optimizer.tell_all(
        [{"x": x} for x in (0, 0.2, 0.4, 0.5, 0.55, 0.6, 0.7, 0.9, 0.45, 1)], rewards
    )
    return optimizer


SHOWN: dict[str, tuple[Callable[[], object], list[str]]] = {
    "query": (lambda: told().ask(), ["Query 0", "x = "]),
    "arm": (lambda: sf.Query(3, None, arm=BAD), ["Query 3", BAD]),  # type: ignore[arg-type]
    "recommendation": (lambda: told().recommend(), ["x = 0.", "predicted value"]),
    "belief": (lambda: told().belief(), ["10, 1 treated as outliers", "Student-t, scale"]),
    "optimizer": (told, ["x = 0.", "predicted value", "1 treated as outliers"]),
    "new": (lambda: sf.algorithms.robust_ucb(sf.Box([0.0], [1.0])), ["No reward yet."]),
}


@pytest.mark.daily(4)
@pytest.mark.parametrize("name", SHOWN)
def test_values_show_what_a_person_wants_to_see(name):
    value, wanted = SHOWN[name]
    text = text_of(value()._repr_html_())
    for each in wanted:
        assert each in text


def test_every_text_is_escaped():
    best = StudyRecommendation({BAD: BAD}, 1.0, 0.5, 1.5, feasibility=0.25, feasible=False)
    study_file = SimpleNamespace(study=SimpleNamespace(name=BAD), defaults=None)
    findings = Findings(
        SimpleNamespace(finished=3, failed=1, recommendation=best, study_file=study_file)
    )
    vars(findings).update(warnings=(BAD,), effects=(BAD,))  # as if they had been found
    for html in (best._repr_html_(), findings._repr_html_(), as_html(BAD, {BAD: [BAD]}, [BAD])):
        assert BAD in text_of(html)
        assert "<script" not in html
    assert "25%" in text_of(best._repr_html_())
