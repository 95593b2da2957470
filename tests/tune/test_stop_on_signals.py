"""What signals do to a run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
import weakref

import pytest
import sqlalchemy
from optuna.trial import TrialState

from support.commands import surefoot
from support.processes import wait_until_gone
from support.study_doubles import Scripted, all_of, trials_of
from surefoot.integrations.optuna import INTERRUPTED
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.function_objective import FunctionObjective
from surefoot.tune.observer import SILENT, Observer
from surefoot.tune.stopping import Stop, stop_on_signals
from surefoot.tune.workers.worker_loop import tune


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def send_within_a_weakref_callback(number: int) -> None:
    """Where an exception that the handler raises is lost."""

    class Thing:
        pass

    thing = Thing()
    reference = weakref.ref(thing, lambda _: [send(number), time.sleep(0.01)])
    del thing
    assert reference() is None


def test_the_first_ctrl_c_asks_and_the_second_interrupts():
    notes = []
    stop = Stop(note=lambda: notes.append("stopping"))
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signals(stop):
        send(signal.SIGINT)
        assert stop.requested
        assert notes == []  # a handler must not print
        stop.check()
        assert notes == ["stopping"]
        send(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            stop.check()
    assert notes == ["stopping"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_terminated_ends_with_its_exit_code(number, request):
    # SIGHUP is ignored, and stays so, where the tests run under nohup.
    before = signal.signal(number, signal.SIG_DFL)
    request.addfinalizer(lambda: signal.signal(number, before))
    stop = Stop()
    with stop_on_signals(stop):
        send(number)
        with pytest.raises(SystemExit) as caught:
            stop.check()
    assert caught.value.code == 128 + number


def test_a_calculation_is_interrupted_at_once():
    reached = []
    stop = Stop()

    def calculate() -> None:
        with stop.interruptible():
            send(signal.SIGTERM)
            reached.append("the end of the calculation")

    with stop_on_signals(stop), pytest.raises(SystemExit):
        calculate()
    assert not reached


@pytest.mark.parametrize("module", ["sqlalchemy.engine", "optuna.storages._rdb.storage"])
def test_a_transaction_is_completed(module):
    """An abandoned one locks SQLite for a minute: the trial could not be marked as interrupted."""
    reached = []
    transaction = {"__name__": module, "send": send, "reached": reached}
    exec("def commit(): send(15); reached.append('the end of the transaction')", transaction)
    stop = Stop()

    def write() -> None:
        with stop.interruptible():
            transaction["commit"]()
            time.sleep(0)
            reached.append("what comes after it")

    with stop_on_signals(stop), pytest.raises(SystemExit):
        write()
    assert reached[0] == "the end of the transaction"


NO_ANSWER = """
import sys, time
from surefoot.tune import stopping

stopping.PATIENCE = float(sys.argv[1])
driver = {"__name__": "sqlalchemy.engine", "sleep": time.sleep}
exec("def commit(seconds): print('begun', flush=True); sleep(seconds)", driver)
stop = stopping.Stop()
with stopping.stop_on_signals(stop), stop.interruptible():
    driver["commit"](float(sys.argv[2]))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("numbers", "patience", "code"),
    [
        ([signal.SIGINT] * 3, 60, 130),
        ([signal.SIGINT] * 2, 1, 130),
        ([signal.SIGTERM], 1, 143),
        ([signal.SIGINT, signal.SIGHUP], 1, 129),
    ],
)
def test_a_storage_that_does_not_answer_does_not_keep_a_run_from_ending(numbers, patience, code):
    ended, error = run_without_answer(numbers, patience, 60)
    assert ended == code
    assert error.startswith("ended without an answer of the storage; what was recorded before is")


@pytest.mark.long
@pytest.mark.parametrize(
    ("numbers", "code"), [([signal.SIGINT], 0), ([signal.SIGINT] * 2, -2), ([signal.SIGTERM], 143)]
)
def test_a_slow_transaction_is_completed(numbers, code):
    ended, error = run_without_answer(numbers, 60, 2)
    assert ended == code
    assert "without an answer" not in error


def run_without_answer(numbers, patience: float, seconds: float) -> tuple[int, str]:
    """How a process ends that gets signals in a transaction that takes some seconds."""
    with subprocess.Popen(
        [sys.executable, "-c", NO_ANSWER, str(patience), str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # under nohup
    ) as process:
        assert process.stdout.readline() == "begun\n"
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.2)
        return process.wait(timeout=20), process.stderr.read()


def test_a_signal_while_a_trial_is_being_written(write_study):
    trials, stop = trials_of(write_study(), rounds=5), Stop()
    sent = []

    def terminate(connection, cursor, statement, *_) -> None:
        if statement.startswith("INSERT INTO trial_params") and not sent:
            sent.append(statement)
            send(signal.SIGTERM)

    sqlalchemy.event.listen(trials.opened.storage.engine, "after_cursor_execute", terminate)
    begun = time.monotonic()
    with stop_on_signals(stop), pytest.raises(SystemExit):
        tune(trials, Scripted(), stop)
    assert sent
    assert time.monotonic() - begun < 10
    assert [trial.state for trial in all_of(trials)] == [TrialState.FAIL]
    assert all_of(trials)[0].user_attrs[INTERRUPTED]


def test_a_hangup_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals(stop := Stop()):
            send(signal.SIGHUP)
            stop.check()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("when", ["choosing", "measuring"])
def test_a_signal_within_a_weakref_callback_ends_the_loop(write_study, when):
    trials, stop = trials_of(write_study(), rounds=5), Stop()
    objective = Scripted()
    send_it = lambda: send_within_a_weakref_callback(signal.SIGTERM)  # noqa: E731
    if when == "measuring":
        objective.before = send_it
    with pytest.raises(SystemExit) as caught, stop_on_signals(stop):
        tune(trials, objective, stop, Observer(began=send_it) if when == "choosing" else SILENT)
    assert caught.value.code == 143
    (trial,) = all_of(trials)
    # A measurement that has come is recorded.
    assert trial.state == (TrialState.COMPLETE if when == "measuring" else TrialState.FAIL)
    assert bool(trial.user_attrs.get(INTERRUPTED)) is (when == "choosing")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["command", "function"])
def test_a_measurement_looks_at_the_signal_that_was_lost(tmp_path, kind):
    (tmp_path / "rig.py").write_text("import time\ndef measure(): time.sleep(60)\n")
    if kind == "command":
        objective = CommandObjective(CommandTemplate.parse("sleep 60"), tmp_path, None)
    else:
        objective = FunctionObjective("rig:measure", [], tmp_path, None)
    stop = Stop()
    with stop_on_signals(stop):
        send_within_a_weakref_callback(signal.SIGTERM)
        begun = time.monotonic()
        with pytest.raises(SystemExit):
            objective.measure({}, stop)
    assert time.monotonic() - begun < 5


WORKER = """
import os, subprocess, sys, time
worker = subprocess.Popen(
    [sys.executable, "-P", sys.argv[1], str(os.getpid()), "{}"],
    stdin=subprocess.PIPE, start_new_session=True,
)
print(worker.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.long
def test_a_worker_ends_with_its_parent_while_it_imports():
    from surefoot.tune.workers.workers import SCRIPT

    parent = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(SCRIPT)], stdout=subprocess.PIPE, text=True
    )
    pid = int(parent.stdout.readline())
    time.sleep(0.3)
    parent.kill()
    parent.communicate()
    assert wait_until_gone(pid, 0.5)


LOSING_IMPORT = """
import os, signal, sys, weakref

wanted = sys.argv.pop(1)

# Whoever runs these tests in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Finder:
    '''Sends SIGINT where an exception that a handler raises is lost.'''

    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            class Thing:
                pass
            thing = Thing()
            reference = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
            del thing

sys.meta_path.insert(0, Finder())
"""
COMMAND = """
from surefoot.__main__ import main
main()
"""
WORKER_PROCESS = """
import runpy
from surefoot.tune.workers.workers import SCRIPT
sys.argv = [str(SCRIPT), str(os.getppid()), "{}"]
runpy.run_path(str(SCRIPT), run_name="__main__")
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "imported"),
    [(COMMAND, "surefoot.cli"), (WORKER_PROCESS, "surefoot.tune.workers.worker")],
)
def test_ctrl_c_ends_a_program_that_starts(program, imported):
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", LOSING_IMPORT + program, imported, "--help"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        code = process.wait(
            60
        )  # its standard input stays open: a worker ends with that of its parent
        assert process.stdout is not None
        assert process.stderr is not None
        assert (code, process.stdout.read(), process.stderr.read()) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("repeat", [1, 3])
def test_ctrl_c_in_a_check_is_its_exit_code(write_study, repeat):
    """The running measurement is shown, so that `check S && tune S` does not go on."""
    bench = f"import os\nos.kill({os.getpid()}, 2)\nprint(1.5)"
    path = write_study(bench=bench)
    said = surefoot("check", path, "--repeat", repeat, code=130)
    assert "measurement: 1.5" in said


TERMINAL = """
import sys, time
from rich.live import Live
from surefoot.tune.display import console_of
from surefoot.tune.stopping import Stop, stop_on_signals

console, stop = console_of(quiet=False), Stop()
with stop_on_signals(stop), Live("measuring", console=console, refresh_per_second=20):
    while True:
        stop.check()
        console.print("trial")
        time.sleep(0.02)
"""


@pytest.mark.long
@pytest.mark.parametrize("how", ["closed", "hung up"])
def test_a_run_whose_terminal_goes_away(how):
    terminal, own = pty.openpty()

    def lead() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which is ignored under nohup

    process = subprocess.Popen(
        [sys.executable, "-c", TERMINAL],
        stdin=own,
        stdout=own,
        stderr=subprocess.PIPE,
        preexec_fn=lead,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(own)
    shown = b""
    while b"trial" not in shown:
        shown += os.read(terminal, 4096)
    assert b"\x1b[?25l" in shown
    if how == "closed":
        os.close(terminal)
    else:
        process.send_signal(signal.SIGHUP)
        with contextlib.suppress(OSError):  # when its last user has ended
            while data := os.read(terminal, 4096):
                shown += data
        os.close(terminal)
        assert b"\x1b[?25h" in shown
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (128 + signal.SIGHUP, b"")


CLOSED = "import os, sys\nos.closerange(0, 3)\nos.execv(sys.executable, sys.argv[1:])"


def test_streams_that_are_closed_lead_nowhere(tmp_path):
    opened = tmp_path / "opened"
    program = (
        "from surefoot.__main__ import _open_closed_streams\n"
        "import sys\n_open_closed_streams()\n"
        f"file = open({str(opened)!r}, 'w')\n"
        "print('lost')\nprint('lost', file=sys.stderr)\n"
        "file.write(f'{file.fileno()} {sys.stdin.read()!r}')\n"
    )
    command = [sys.executable, "-c", CLOSED, sys.executable, "-c", program]
    assert subprocess.run(command, timeout=60).returncode == 0
    assert opened.read_text() == "3 ''"
