"""What commands leave running: ended with a word, or kept until the run ends, however it ends."""

from __future__ import annotations

import io
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from optuna.samplers import RandomSampler
from rich.console import Console

from support.processes import Tuning, is_running, wait_until_gone
from surefoot.tune import StudyFile, StudyFileError, open_study
from surefoot.tune import run as run_study
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.setup_commands import CommandFailed
from surefoot.tune.measuring.supervised_process import CHUNK, keep_until_end, left_behind
from surefoot.tune.stopping import Stop

SERVER = "trap 'echo stopped in order >> log; exit' TERM; echo $$ > server.pid; "
SERVER += "while :; do sleep 0.02; done"


def server_pid(folder: Path) -> int:
    return int((folder / "server.pid").read_text())


@pytest.fixture
def study(tmp_path: Path):
    """Writes a study whose commands are shell scripts in its folder."""

    def write(*, rounds: int = 3, keep: bool = False, **scripts: str) -> Path:
        (tmp_path / "server.sh").write_text(SERVER)
        for name, script in scripts.items():
            (tmp_path / f"{name}.sh").write_text(script + "\n")
        surrounding = [f'{n} = "sh {n}.sh"' for n in ("setup", "teardown") if n in scripts]
        path = tmp_path / "STUDY.toml"
        path.write_text(
            f'[study]\nname = "served"\ndirection = "minimize"\nrounds = {rounds}\n'
            '[objective]\ncommand = "sh bench.sh {x}"\ntimeout = 20\n'
            + "\n".join([*surrounding, f"keep = {str(keep).lower()}"])
            + '\n[parameters]\nx = { type = "float", low = 0, high = 1 }\n'
        )
        return path

    return write


def run(path: Path) -> str:
    """Run a study; returns what it shows."""
    console = Console(file=io.StringIO(), width=200)
    run_study(path, console=console, sampler=RandomSampler(seed=0))
    return console.file.getvalue()


STARTS = "rm -f server.pid; setsid sh server.sh & until [ -s server.pid ]; do sleep 0.01; done"
NEEDS = "kill -0 $(cat server.pid) && echo $1"


@pytest.mark.long
def test_a_process_left_behind_is_asked_to_end_and_there_is_a_line_about_it(study, tmp_path):
    shown = run(study(bench=f"{STARTS}; echo $1"))
    assert (tmp_path / "log").read_text() == "stopped in order\n" * 3
    assert not is_running(server_pid(tmp_path))
    assert shown.count("left behind") == 1  # not after every trial
    assert "trial 0: ended " in shown
    trials = open_study(tmp_path / "STUDY.toml").study.trials
    assert all("left behind (" in trial.user_attrs["left behind"] for trial in trials)


def test_the_line_about_processes():
    assert left_behind([]) == ""
    assert left_behind(["postgres"]) == "ended 1 process left behind (postgres)"
    assert left_behind(["a", "b", "a"]) == "ended 3 processes left behind (a, b)"
    assert left_behind([*"abcdefga"]) == "ended 8 processes left behind (a, b, c, d, e, f, ...)"


@pytest.mark.long
def test_a_server_of_setup_lives_through_the_study_and_teardown_ends_it(study, tmp_path):
    path = study(setup=STARTS, bench=NEEDS, teardown="echo teardown >> log; kill $(cat server.pid)")
    shown = run(path)
    assert (tmp_path / "log").read_text() == "teardown\nstopped in order\n"
    assert "left behind" not in shown
    assert [trial.state.name for trial in open_study(path).study.trials] == ["COMPLETE"] * 3
    (tmp_path / "log").unlink()
    run(path)  # it has its rounds: nothing is set up
    assert not (tmp_path / "log").exists()


@pytest.mark.long
def test_what_teardown_does_not_end_is_ended_with_the_run(study, tmp_path):
    shown = run(study(setup=STARTS, bench=NEEDS))
    assert not is_running(server_pid(tmp_path))
    assert (tmp_path / "log").read_text() == "stopped in order\n"
    assert "left behind (sh" in shown
    assert shown.strip().endswith("at the end of the run")


@pytest.mark.long
def test_a_server_that_the_command_restarts_is_kept_if_the_study_file_says_so(study, tmp_path):
    restart = f"kill $(cat server.pid); {STARTS}; echo $1"
    path = study(setup=STARTS, bench=f"{NEEDS} || exit 1\n{restart}", keep=True)
    run(path)
    assert [trial.state.name for trial in open_study(path).study.trials] == ["COMPLETE"] * 3
    assert not is_running(server_pid(tmp_path))
    assert (tmp_path / "log").read_text() == "stopped in order\n" * 4


def written(pid: int) -> int:
    """The bytes that a process has written."""
    return int(Path(f"/proc/{pid}/io").read_text().split("wchar: ")[1].split()[0])


def test_kept_processes_may_print_a_lot(tmp_path):
    (tmp_path / "script.sh").write_text("(sleep 0.4; exec yes) & echo $! > yes.pid; echo 1")
    with keep_until_end(lambda line: None) as kept:
        objective = CommandObjective(CommandTemplate.parse("sh script.sh"), tmp_path, 20, kept=kept)
        assert objective.measure({}, Stop()).value == 1
        pid = int((tmp_path / "yes.pid").read_text())

        end = time.monotonic() + 10
        while written(pid) < 160 * CHUNK:  # it is not blocked
            assert time.monotonic() < end
            time.sleep(0.05)
    assert not is_running(pid)


@pytest.mark.long
def test_output_that_does_not_end_is_not_waited_for(tmp_path):
    (tmp_path / "script.sh").write_text("yes & sleep 0.2")
    begun = time.monotonic()
    CommandObjective(CommandTemplate.parse("sh script.sh"), tmp_path, 20).measure({}, Stop())
    assert time.monotonic() - begun < 3


def test_failures_of_setup_and_teardown(study, tmp_path):
    path = study(setup="echo 'no\x1b[2J port'; exit 4", bench=NEEDS, teardown="echo down > log")
    with pytest.raises(CommandFailed, match=r"^objective.setup failed: exit status 4; it printed"):
        run(path)
    assert open_study(path).study.trials == []
    assert (tmp_path / "log").read_text() == "down\n"
    path = study(setup="true", bench="echo $1", teardown="exit 5")
    with pytest.raises(CommandFailed, match=r"^objective.teardown failed: exit status 5$"):
        run(path)
    assert len(open_study(path).study.trials) == 3


@pytest.mark.long
def test_ctrl_c_ends_a_teardown_that_hangs(study, tmp_path):
    process = Tuning(study(bench="echo $1", teardown="touch began; echo waiting; sleep 60"))
    process.wait_for(tmp_path / "began")
    process.send(signal.SIGINT)
    code, shown = process.end()
    assert code == 130, shown
    assert "objective.teardown was interrupted; it printed: waiting" in shown
    assert len(open_study(tmp_path / "STUDY.toml").study.trials) == 3


TEARDOWN = "kill -0 $(cat server.pid) && echo teardown >> log"


def ends_in_order(process: Tuning, signals: Sequence[int], code: int, folder: Path) -> None:
    for number in signals:
        process.send(number)
        time.sleep(0.3)
    ended, shown = process.end()
    assert ended == code, shown
    assert "Traceback" not in shown
    assert (folder / "log").read_text() == "teardown\nstopped in order\n"
    assert not is_running(server_pid(folder))


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "times", "code"),
    [(signal.SIGINT, 1, 130), (signal.SIGINT, 2, 130), (signal.SIGTERM, 1, 143)],
)
def test_teardown_after_a_signal(study, tmp_path, number, times, code):
    bench = f"{NEEDS} && touch began && sleep {0.5 if times == 1 else 60}"
    process = Tuning(study(setup=STARTS, bench=bench, teardown=TEARDOWN, rounds=50))
    process.wait_for(tmp_path / "began")
    ends_in_order(process, [number] * times, code, tmp_path)


@pytest.mark.long
def test_workers_and_their_commands_end_with_a_run_that_is_signalled(study, tmp_path):
    """After the first SIGINT they may finish their trials; SIGTERM ends them."""
    bench = f"{NEEDS} && echo $$ >> pids && [ $(wc -l < pids) -ge 2 ] && touch began; sleep 60"
    path = study(setup=STARTS, bench=bench, teardown=TEARDOWN, rounds=50)
    process = Tuning(path, workers=2)
    process.wait_for(tmp_path / "began")
    ends_in_order(process, [signal.SIGINT, signal.SIGTERM], 143, tmp_path)
    trials = open_study(path).study.get_trials()
    assert [trial.state.name for trial in trials] == ["FAIL"] * 2
    commands = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    workers = [trial.user_attrs["surefoot:process"]["pid"] for trial in trials]
    assert len({*commands, *workers}) == 4
    assert not any(map(is_running, commands + workers))


@pytest.mark.long
def test_kill_9_ends_the_server_too(study, tmp_path):
    path = study(setup=STARTS, bench=f"{NEEDS} && touch began && sleep 60", rounds=50)
    process = Tuning(path)
    process.wait_for(tmp_path / "began")
    process.kill()
    assert wait_until_gone(server_pid(tmp_path))
    assert (tmp_path / "log").read_text() == "stopped in order\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'setup = "start {x}"',
            r"objective.setup: \{x\} has no value, since this command runs onc",
        ),
        ('setup = "start \'"', "objective.setup: got .*expected closed quotes"),
        ('teardown = ""', "objective.teardown: got an empty command"),
        ("keep = 1", "objective.keep: got 1, expected true or false"),
    ],
)
def test_what_is_wrong_with_them_is_said_in_one_line(study, line, message):
    path = study(bench=NEEDS)
    path.write_text(path.read_text().replace("keep = false", line))
    with pytest.raises(StudyFileError, match=message):
        StudyFile.load(path)


def test_programs_are_looked_up_before_anything_is_created(study, tmp_path):
    path = study(bench=NEEDS)
    path.write_text(path.read_text().replace("keep = false", 'teardown = "no-such-program"'))
    with pytest.raises(StudyFileError, match=r"objective\.teardown: 'no-such-program' is"):
        run(path)
    assert not (tmp_path / "served.db").exists()
