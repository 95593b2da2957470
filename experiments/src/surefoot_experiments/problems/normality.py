"""Kolmogorov-Smirnov tests of the columns of recorded data, as the heavy-tails paper runs them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

LEVEL = 0.05
_DEGREES = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 30.0, 100.0)
_STEPS = 40


@dataclass(frozen=True, eq=False)
class Distances:
    """Of each column: the statistic against a normal and a Student-t law fitted to it.

    `p` is that of the normal law as if it had been known beforehand; as it is fitted, the true one
    is smaller (Lilliefors). `dof` are the degrees of freedom of the Student-t law.
    """

    normal: np.ndarray
    p: np.ndarray
    student: np.ndarray
    dof: np.ndarray


def distances(values: np.ndarray) -> Distances:  # (R, C)
    """The tests for every column."""
    scaled = (values - values.mean(0)) / values.std(0)
    normal = [stats.kstest(column, "norm") for column in scaled.T]
    dof, centre, scale = _student(scaled)
    student = [
        stats.kstest((column - c) / s, stats.t(d).cdf).statistic
        for column, c, s, d in zip(scaled.T, centre, scale, dof, strict=True)
    ]
    return Distances(
        np.array([one.statistic for one in normal]),
        np.array([one.pvalue for one in normal]),
        np.array(student),
        dof,
    )


@dataclass(frozen=True)
class Report:
    """The tests of recorded columns in one line, and as Markdown with a row for each column."""

    line: str
    notes: str


def report(names: Sequence[str], values: np.ndarray, kind: str) -> Report:
    """The tests of the columns (R, C) in words; a column is a `kind`."""
    found = distances(values)
    rejected, closer = int((found.p < LEVEL).sum()), int((found.student < found.normal).sum())
    number = len(names)
    line = (
        f"Kolmogorov–Smirnov tests of each {kind}'s values: a normal law is rejected at "
        f"{LEVEL:.0%} for {rejected} of {number}; a fitted Student-t law is closer for {closer}."
    )
    rows = [
        f"| {name} | {d:.3f} | {p:.1e} | {t:.3f} | {dof:g} |"
        for name, d, p, t, dof in zip(
            names, found.normal, found.p, found.student, found.dof, strict=True
        )
    ]
    notes = [
        f"{line} The normal law has the column's mean and deviation; its p takes them as known "
        "beforehand, so the true one is smaller. Values that follow each other are not "
        "independent, which the test assumes, so a rejection speaks against the normal law, and "
        "not by itself for heavy tails: that takes a Student-t law of few degrees of freedom that "
        "is closer.",
        "",
        f"| {kind} | D, normal | p | D, Student-t | its degrees of freedom |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows,
    ]
    return Report(line, "\n".join(notes))


def _student(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Degrees of freedom (of a grid), centres and scales of largest likelihood, by EM."""
    best = np.full(values.shape[1], -np.inf)
    dof, centre, scale = (np.ones(values.shape[1]) for _ in range(3))
    for degrees in _DEGREES:
        middle, width = np.median(values, 0), np.maximum(values.std(0), 1e-12)
        for _ in range(_STEPS):
            squares = ((values - middle) / width) ** 2
            weights = (degrees + 1.0) / (degrees + squares)
            middle = (weights * values).sum(0) / weights.sum(0)
            width = np.maximum(np.sqrt((weights * (values - middle) ** 2).mean(0)), 1e-12)
        squares = ((values - middle) / width) ** 2
        constant = special.gammaln((degrees + 1.0) / 2.0) - special.gammaln(degrees / 2.0)
        likelihood = len(values) * (constant - 0.5 * np.log(degrees) - np.log(width))
        likelihood -= 0.5 * (degrees + 1.0) * np.log1p(squares / degrees).sum(0)
        better = likelihood > best
        best[better] = likelihood[better]
        dof[better], centre[better], scale[better] = degrees, middle[better], width[better]
    return dof, centre, scale
