"""What a command or a function does, good or bad, becomes a measurement or a reasoned failure."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.processes import is_running, wait_until_gone
from surefoot.tune.definition.command_template import CommandTemplate, InvalidCommand
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.function_objective import FunctionObjective
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.printed_value import printed_value
from surefoot.tune.measuring.quantity import Quantity
from surefoot.tune.measuring.supervised_process import SupervisedProcess, Tail
from surefoot.tune.stopping import Stop

PYTHON = sys.executable


def run(command: str, folder: Path, timeout: float | None = 20, **values) -> Measurement | Failure:
    return CommandObjective(CommandTemplate.parse(command), folder, timeout).measure(values, Stop())


def sh(script: str, folder: Path, timeout: float | None = 20) -> Measurement | Failure:
    """The outcome of a shell script, which is quicker to start than Python."""
    (folder / "script.sh").write_text(script)
    return run("sh script.sh", folder, timeout)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_that_python_prints_is_read_back(value):
    printed = printed_value(f"3 runs\nvalue: {value!r} ms")
    assert isinstance(printed, Quantity)
    assert printed.value == value


def test_a_command_is_measured_by_the_number_in_its_last_line_in_its_folder(tmp_path):
    (tmp_path / "here").write_text("")
    result = sh("echo 1; echo noise 2 >&2; ls here; echo value 3.5; echo 99 >&2", tmp_path)
    assert isinstance(result, Measurement)
    assert result.value == 3.5
    assert 0 < result.seconds < 10


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 5; echo sorry >&2; exit 3", "exit status 3"),
        ("kill -SEGV $$", "killed by SIGSEGV"),
        ("echo sorry", "no number on standard output"),
        ("echo sorry; echo nan", "the measurement is NaN, expected a finite number"),
        ("echo sorry; echo -inf", "the measurement is infinite, expected a finite number"),
    ],
)
def test_a_failure_has_its_reason_and_the_end_of_the_output(tmp_path, script, reason):
    result = sh(script, tmp_path)
    assert isinstance(result, Failure)
    assert result.reason == reason
    if "sorry" in script:
        assert "sorry" in result.output


def test_a_program_that_is_not_there(tmp_path):
    objective = CommandObjective(CommandTemplate.parse("no-such-program {x}"), tmp_path, 5)
    with pytest.raises(InvalidCommand, match="'no-such-program' is not a program on PATH"):
        objective.check()
    result = objective.measure({"x": 1}, Stop())
    assert isinstance(result, Failure)
    assert result.reason == "exit status 127"
    assert "no-such-program: No such file or directory" in result.output
    with pytest.raises(InvalidCommand, match=r"'\./bench\.sh' is not a program in "):
        CommandObjective(CommandTemplate.parse("./bench.sh {x}"), tmp_path, 5).check()


@pytest.mark.long
@pytest.mark.parametrize(
    "value", ["two words", "it's", 'say "hi"', "a; echo 7", "$(echo 7)", "`echo 7`", "*", "", "-n"]
)
def test_values_are_arguments_and_never_reach_a_shell(tmp_path, value):
    (tmp_path / "count.sh").write_text('printf %s "$2" > got; echo $#\n')
    result = run("sh count.sh first={x} {x} 'a b'", tmp_path, x=value)
    assert isinstance(result, Measurement)
    assert result.value == 3
    assert (tmp_path / "got").read_text() == value


def test_formats_and_braces():
    template = CommandTemplate.parse("awk '{{print}}' --rate={rate:.2f} {flag}")
    assert template.fill({"rate": 1 / 3, "flag": True}) == ["awk", "{print}", "--rate=0.33", "True"]


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> Iterator[dict[str, Future]]:
    """Outcomes, folders and seconds of scripts that ignore being asked to end, run side by side."""
    # With no exec, so that each sleep is a grandchild; one ignores SIGTERM, one is a new session.
    scripts = {
        "timeout": "trap '' TERM\n"
        "setsid sleep 61 & echo $! > detached\n"
        "sleep 62 & echo $! > background\n"
        "echo $$ > shell; echo started; sleep 63\n",
        "left": "(trap '' TERM; while :; do sleep 0.05; done) & echo $! > stubborn; echo 1",
    }

    def measure(name: str) -> tuple[Measurement | Failure, Path, float]:
        folder, begun = tmp_path_factory.mktemp(name), time.monotonic()
        result = sh(scripts[name], folder, timeout=0.3 if name == "timeout" else 20)
        return result, folder, time.monotonic() - begun

    with ThreadPoolExecutor() as threads:
        yield {name: threads.submit(measure, name) for name in scripts}


@pytest.mark.long
def test_a_timeout_leaves_no_process(ended):
    """Not the command, not what it started, not even what left its process group."""
    result, folder, _ = ended["timeout"].result()
    assert isinstance(result, Failure)
    assert result.reason == "no end within the timeout of 0.3 s"
    assert result.output == "started"
    for name in ("detached", "background", "shell"):
        assert not is_running(int((folder / name).read_text()))


@pytest.mark.long
def test_a_process_that_does_not_end_is_killed(ended):
    result, folder, seconds = ended["left"].result()
    assert isinstance(result, Measurement)
    assert result.seconds < 3  # without the grace period
    assert 4 < seconds < 12
    assert not is_running(int((folder / "stubborn").read_text()))


def test_what_a_command_leaves_running_is_ended_and_not_waited_for(tmp_path):
    begun = time.monotonic()
    result = sh("sleep 64 & echo $! > background; echo 7", tmp_path)
    assert isinstance(result, Measurement)
    assert time.monotonic() - begun < 5
    assert not is_running(int((tmp_path / "background").read_text()))


def test_a_command_that_kills_its_parent_leaves_no_process(tmp_path):
    script = """
    sleep 60 & echo $! >> pids
    (setsid sleep 60 & echo $! >> pids)
    echo $$ >> pids
    kill -9 $PPID
    exec sleep 60
    """
    result = sh(script, tmp_path)
    assert isinstance(result, Failure)
    assert result.reason == "killed by SIGKILL"
    assert result.left_behind.startswith("ended 3 processes left behind")
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 3
    assert not any(map(is_running, pids))


def test_an_interrupted_measurement_leaves_no_process(tmp_path):
    script = tmp_path / "script.sh"
    script.write_text("echo $$ > shell; sleep 65")
    objective = CommandObjective(CommandTemplate.parse("sh script.sh"), tmp_path, 20)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            objective.measure({}, Stop())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not is_running(int((tmp_path / "shell").read_text()))


def test_a_command_dies_with_an_owner_that_is_killed(tmp_path):
    """By `kill -9`, after which the owner itself can do nothing any more."""
    owner = subprocess.Popen(
        [
            PYTHON,
            "-c",
            "import pathlib\n"
            "from surefoot.tune.stopping import Stop\n"
            "from surefoot.tune.measuring.supervised_process import SupervisedProcess\n"
            "command = ['sh', '-c', 'sleep 66 & echo $$ $!; wait']\n"
            "one = SupervisedProcess(command, pathlib.Path('.'))\n"
            "while not one.stdout.text(): one.read(1)\n"
            "print(one.stdout.text(), flush=True); one.wait(None, Stop())",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    pids = [int(word) for word in owner.stdout.readline().split()]
    assert all(map(is_running, pids))
    owner.kill()
    owner.wait()
    assert all(map(wait_until_gone, pids))
    owner.stdout.close()


def test_output_is_kept_bounded(tmp_path):
    result = sh("yes 12345678 | head -c 20000000; echo; echo 5; exit 1", tmp_path)
    assert isinstance(result, Failure)
    assert len(result.output) <= 2000
    assert result.output.endswith("5")
    tail = Tail(10)
    for _ in range(1000):
        tail.add(b"0123456789abc")
    assert tail.text() == "3456789abc"
    tail.add(b"\xff\0ok")
    assert tail.text().endswith("\ufffd\ufffdok")


def test_a_child_that_is_forgotten_is_ended(tmp_path):
    child = SupervisedProcess(["sh", "-c", "echo $$; sleep 67"], tmp_path)
    while not child.stdout.text():
        child.read(1)
    pid = int(child.stdout.text())
    del child
    assert wait_until_gone(pid)


class Paused(Stop):
    """As if this process were suspended, by Ctrl-Z, until another has written that it is ready."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.descriptor = descriptor

    def check(self) -> None:
        select.select([self.descriptor], [], [])


def test_a_command_that_has_ended_is_no_timeout_after_a_pause_of_this_process(tmp_path):
    child = SupervisedProcess(["sh", "-c", "echo 5; exit 3"], tmp_path)
    assert child.wait(time.monotonic(), Paused(child._report)) == 3
    assert child.stdout.text() == "5\n"
    child.end()
    child = SupervisedProcess(["sleep", "60"], tmp_path)
    assert child.wait(time.monotonic(), Stop()) is None
    child.end()


MODULE = """
import os, random, sys, time
calls = 0

def measure(x, y=1):
    global calls
    calls += 1
    print("called", calls)
    if x == 1: raise ValueError("bad\\nthing")
    if x == 2: return "no number"
    if x == 3: return float("nan")
    if x == 4:
        print("going", flush=True); os._exit(9)
    if x == 5: time.sleep(60)
    if x == 6: sys.exit("enough")
    if x == 8:
        if os.fork() == 0: time.sleep(60)
        print("forked", flush=True); os.kill(os.getpid(), 9)
    return x * y + calls

class Rig:
    def measure(self, x): return x
rig = Rig()
"""


@pytest.fixture
def function(tmp_path):
    (tmp_path / "rig_module.py").write_text(MODULE)
    made = []

    def make(target="rig_module:measure", parameters=("x",), timeout=20.0):
        made.append(FunctionObjective(target, list(parameters), tmp_path, timeout))
        return made[-1]

    yield make
    for objective in made:
        objective.close()


def test_a_function_is_called_in_one_process_that_keeps_its_state(function):
    objective = function(parameters=("x", "y"))
    objective.check()
    assert [objective.measure({"x": 10, "y": 2}, Stop()).value for _ in range(3)] == [21, 22, 23]
    assert function("rig_module:rig.measure").measure({"x": 7}, Stop()).value == 7


def test_a_function_that_has_returned_is_no_timeout_after_a_pause_of_this_process(function):
    server = function(parameters=("x", "y"))._start()
    replies = Paused(server._replies)
    assert "error" not in server.ready(time.monotonic(), replies)
    assert server.call({"x": 10, "y": 2}, time.monotonic(), replies)["value"] == 21
    assert "timeout" in server.call({"x": 5}, time.monotonic(), Stop())["error"]


@pytest.mark.long
def test_failures_of_a_function(function):
    objective = function(timeout=1.0)
    objective.check()
    reasons = {
        1: "ValueError: bad thing",
        2: "returned 'no number', expected a number or a list of numbers",
        3: "the measurement is NaN, expected a finite number",
        4: "the process that runs the function ended: exit status 9",
        6: "the process that runs the function ended: exit status 1",
        5: "no end within the timeout of 1 s",
    }
    for x, reason in reasons.items():
        result = objective.measure({"x": x}, Stop())
        assert isinstance(result, Failure)
        assert result.reason == reason
        assert "called" in result.output or x == 5
    assert objective.measure({"x": 7}, Stop()).value == 8  # in a fresh process: the first call


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "parameters", "message"),
    [
        ("no_such:measure", ["x"], "ModuleNotFoundError: No module named 'no_such'"),
        ("rig_module:nothing", ["x"], "has no attribute 'nothing'"),
        ("rig_module:measure", ["x", "z"], "got an unexpected keyword argument 'z'"),
        ("rig_module:measure", ["y"], "missing a required argument: 'x'"),
    ],
)
def test_a_function_that_cannot_be_called_is_found_beforehand(
    function, target, parameters, message
):
    with pytest.raises(InvalidCommand, match=message) as caught:
        function(target, parameters).check()
    assert caught.value.key == "objective.function"


def test_a_function_that_is_killed_is_not_waited_for_while_what_it_has_forked_lives(function):
    """A forked process keeps the pipe of replies open, and there need be no timeout."""
    objective = function(timeout=None)
    stop = Stop()
    stop.request()  # as by Ctrl-C during the call
    with ThreadPoolExecutor() as threads:
        result = threads.submit(objective.measure, {"x": 8}, stop).result(timeout=30)
    assert isinstance(result, Failure)
    assert result.reason == "the process that runs the function ended: killed by SIGKILL"
    assert "forked" in result.output
    assert objective.measure({"x": 7}, stop).value == 8


def test_closing_ends_the_function_with_what_it_started(tmp_path, function):
    (tmp_path / "starter.py").write_text(
        "import subprocess\nchild = subprocess.Popen(['sleep', '68'])\n"
        "def measure(x): return child.pid\n"
    )
    objective = function("starter:measure")
    pid = int(objective.measure({"x": 1}, Stop()).value)
    assert is_running(pid)
    objective.close()
    assert not is_running(pid)
