"""Runs that are measured in slices: where they end, and what is recorded."""

from __future__ import annotations

import json
import math
import sys

import pytest

from surefoot.tune.comparison.compare import ComparisonFailed, compare
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.measuring.command_objective import CommandObjective, PrintedSamples
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.printed_value import printed_value
from surefoot.tune.measuring.supervised_process import Tail
from surefoot.tune.stopping import Stop

ONE_BY_ONE = """
import sys, time
for value in sys.argv[2:]:
    print(sys.argv[1], value, flush=True)
    time.sleep(0.01)
open("end", "w").close()
print("sample: 1", end="", flush=True)
"""


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("samples: 3\nsamples: 5", [3.0, 5.0]),
        ("sample: 3 ms\nsample: 5 ms", [3.0, 5.0]),
        ("sample: 3\nnow a word\nsamples: 5, 10\ndone", [3.0, 5.0, 10.0]),
        ("sample: 99\nwarm-up took 7\nsample: 3\nsample: 5", [3.0, 5.0]),
    ],
)
def test_samples_in_several_lines_are_of_one_run(text, samples):
    assert printed_value(text).value == printed_value(f"samples: {samples}").value


def test_samples_are_read_once_and_as_they_come():
    stream = Tail(64)
    samples = PrintedSamples(stream)
    for printed, known in (
        ("warm-up: 7\nsample: 3", []),
        (".5 ms\nwords\nsample", [3.5]),
        ("s: 5, 6\n", [3.5, 5, 6]),
        ("", [3.5, 5, 6]),
        ("x" * 200 + "\n", [3.5, 5, 6]),
        ("sample: 8\n", [3.5, 5, 6, 8]),
        ("took 3\nsample: 9\n", [9]),
    ):
        stream.add(printed.encode())
        assert [one.value for one in samples.so_far()] == known


@pytest.mark.parametrize(("most", "early"), [(math.inf, False), (9, True), (500, False)])
def test_a_run_ends_after_as_many_samples_as_are_wanted(tmp_path, most, early):
    (tmp_path / "bench.py").write_text(ONE_BY_ONE)
    number = 40 if most > 40 else 400
    values = " ".join(f"{20 + n % 3}ms" for n in range(number))
    template = CommandTemplate.parse(f"{sys.executable} bench.py sample: {values}")
    found = CommandObjective(template, tmp_path, 60.0).measure({}, Stop(), most)
    assert isinstance(found, Measurement), found
    assert found.ended_early is early
    assert (tmp_path / "end").exists() is not early
    assert found.samples >= min(most, number)


@pytest.mark.long
@pytest.mark.parametrize(("first", "keeps"), [("p99=3", True), ("hello", False)])
def test_what_a_shortened_run_has_not_printed_is_said_to_be_late(tmp_path, first, keeps):
    (tmp_path / "bench.py").write_text(f"print({first!r})\n{ONE_BY_ONE}\nprint()\nprint('p99=3')")
    line = f"{sys.executable} bench.py sample: {'1 ' * 40}"
    objective = CommandObjective(
        CommandTemplate.parse(line), tmp_path, 60.0, constraints={"p99": None}
    )
    found = objective.measure({}, Stop(), 4)
    assert isinstance(found, Measurement if keeps else Failure)
    assert keeps or "before `p99=NUMBER` was printed: print it before them" in found.reason
    assert isinstance(objective.measure({}, Stop()), Measurement)


@pytest.mark.long
def test_a_comparison_in_slices_takes_a_share_of_each_run(write_study):
    bench = (
        "import sys, time\nfor step in range(40):\n"
        "    print('sample:', step + float(sys.argv[2]), flush=True)\n    time.sleep(0.02)\n"
    )
    path = write_study(bench=bench)
    a, b = (f"size=1024,share={share},mode=OFF" for share in (0.2, 0.3))
    result = compare(path, a, b, runs=1, slices=4, quiet=True)
    runs = [json.loads(line) for line in (path.parent / "hill.compare.jsonl").open()][1:]
    assert [run["samples"] for run in runs[:2]] == [40, 40]
    assert all(10 <= run["samples"] < 30 for run in runs[2:])  # some come while it ends
    assert result.pairs == 4


def test_slices_need_samples(write_study):
    path = write_study()
    a, b = (f"size=1024,share={share},mode=OFF" for share in (0.2, 0.3))
    with pytest.raises(ComparisonFailed, match="a run printed no samples"):
        compare(path, a, b, slices=3, quiet=True)
