"""Two processes do not write to one result, and workers do not outlive theirs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from surefoot_experiments.lock import alone

from surefoot.types import InvalidInput
from surefoot_experiments import Plan, find, reproduce

EXPERIMENT = find("heavy-tails-1c")
SRC = Path(__file__).parents[2] / "src" / "surefoot"

posix = pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked there")


def plan(out: Path) -> Plan:
    return Plan(out, trials=1, rounds=10, resume=True)


@posix
def test_what_another_plays_is_refused_until_it_ends(tmp_path):
    lock = tmp_path / ".trials" / f"{EXPERIMENT.name}.lock"
    with alone(lock, "taken"):  # another open file, as another process would have
        with pytest.raises(InvalidInput, match="another process is playing this: wait for its"):
            reproduce(EXPERIMENT, plan(tmp_path))
        assert lock.exists()
    outcome = reproduce(EXPERIMENT, plan(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [EXPERIMENT.name]
    assert not outcome.taken_over


@posix
def test_a_lock_whose_process_was_killed_holds_nobody_up(tmp_path):
    path = tmp_path / ".trials" / f"{EXPERIMENT.name}.lock"
    path.parent.mkdir()
    held = f"import fcntl, time; f = open({str(path)!r}, 'w'); fcntl.flock(f, fcntl.LOCK_EX)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{held}; print('held', flush=True); time.sleep(600)"],
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout.readline().strip() == b"held"
        with pytest.raises(InvalidInput, match="another process is playing this"):
            reproduce(EXPERIMENT, plan(tmp_path))
    finally:
        process.kill()
        process.communicate()
    assert path.exists()
    reproduce(EXPERIMENT, plan(tmp_path))
    assert not path.parent.exists()


@posix
def test_a_lock_that_its_holder_removed_is_taken_anew(tmp_path, monkeypatch):
    path = tmp_path / "locks" / "one.lock"
    opened = os.open

    def late(name: object, *flags: int) -> int:
        descriptor = opened(name, *flags)
        monkeypatch.setattr(os, "open", opened)
        path.unlink()  # between this process's open and its lock
        return descriptor

    monkeypatch.setattr(os, "open", late)
    with alone(path, "taken"):
        assert path.exists()
        with pytest.raises(InvalidInput, match="taken"), alone(path, "taken"):
            pass


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")  # one that has ended and that nobody has asked after
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


@posix
def test_workers_end_with_a_process_that_is_killed(tmp_path):
    program = f"""
import sys, time
sys.path[:0] = {[str(SRC.parent), str(tmp_path)]!r}
from surefoot.experiments.backends import play_all
from surefoot.experiments.experiment import Trial
from sleepy import play
list(play_all(play, [Trial(number, 1, 0) for number in range(2)], 2))
"""
    (tmp_path / "sleepy.py").write_text(
        "import os, pathlib, time\n"
        "def play(trial):\n"
        f"    pathlib.Path({str(tmp_path)!r}, f'{{os.getpid()}}.pid').touch()\n"
        "    time.sleep(300)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}
    parent = subprocess.Popen([sys.executable, "-c", program], env=environment)
    workers: list[int] = []
    try:
        end = time.monotonic() + 120
        while len(workers) < 2:
            assert time.monotonic() < end, "no workers in time"
            assert parent.poll() is None
            time.sleep(0.05)
            workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
        parent.kill()
        parent.wait()
        end = time.monotonic() + 60
        while any(alive(worker) for worker in workers):
            assert time.monotonic() < end, "a worker is still there"
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
        for worker in workers:
            if alive(worker):
                os.kill(worker, signal.SIGKILL)
