"""Departures are found by comparing settings, so that none can be forgotten."""

from dataclasses import dataclass

from surefoot_experiments.harness.departures import (
    Departure,
    departures,
    departures_table,
    setting,
)


@dataclass(frozen=True)
class Drawing:
    factor: float = setting("oversampling q")
    root: str = setting("root of V", default="symmetric")


PUBLISHED = Drawing(939.0)


def test_every_setting_that_differs_is_a_departure_and_no_other():
    rows = {"as published": PUBLISHED, "ours": Drawing(4.0, "cholesky"), "q": Drawing(4.0)}
    assert departures(PUBLISHED, rows) == [
        Departure("ours", "oversampling q", "939", "4"),
        Departure("ours", "root of V", "symmetric", "cholesky"),
        Departure("q", "oversampling q", "939", "4"),
    ]


def test_the_table_has_a_line_for_each():
    assert departures_table([]) == "None."
    lines = departures_table(departures(PUBLISHED, {"q": Drawing(4.0)})).splitlines()
    assert lines[2:] == ["| q | oversampling q | 939 | 4 |"]
