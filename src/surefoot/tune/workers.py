"""Several processes on one study, and the one that looks after them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from surefoot.tune.child import Tail
from surefoot.tune.ledger import Ledger
from surefoot.tune.loop import Failing
from surefoot.tune.objective import describe_exit
from surefoot.tune.stopping import Stop
from surefoot.types import SurefootError

POLL = 0.3  # seconds between looks at the storage
LAST_WORDS = 20.0  # seconds for a worker to end its command and record that


class WorkersFailed(SurefootError):
    """No worker is left to go on."""


class Worker:
    """A worker process, in a session of its own: only its parent hears the terminal's Ctrl-C."""

    def __init__(self, ledger: Ledger, index: int, workers: int) -> None:
        self._errors = Tail(4096)
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "surefoot.tune.worker",
                str(ledger.study_file.path),
                f"--rounds={ledger.rounds}",
                f"--run={ledger.run}",
                f"--index={index}",
                f"--workers={workers}",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def complaint(self) -> str:
        """Its last line on standard error, unless a signal ended it."""
        self._reader.join(timeout=1)
        lines = self._errors.text().strip().splitlines()
        killed = self.process.returncode < 0
        return lines[-1] if lines and not killed else describe_exit(self.process.returncode)

    def end(self) -> None:
        """Stop it at once, with its command; returns when it is gone."""
        if self.alive:
            self.process.terminate()
        try:
            self.process.wait(timeout=LAST_WORDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()

    def _read(self) -> None:
        stream = self.process.stderr
        while stream is not None and (data := stream.read1(4096)):  # type: ignore[attr-defined]
            self._errors.add(data)


def tune_with_workers(
    ledger: Ledger,
    count: int,
    stop: Stop,
    look: Callable[[], None],
    note: Callable[[str], None],
) -> None:
    """Run `count` workers until the study is complete or `stop` is requested.

    `look` is called every now and then, to show what they have done. A worker that dies is noted
    and the others go on. Raises `Failing` if a worker ends so, and `WorkersFailed` when none is
    left before the study is complete.
    """
    workers = [Worker(ledger, index, count) for index in range(count)]
    told = False
    try:
        alive = list(workers)
        while alive:
            time.sleep(POLL)
            look()
            if stop.requested and not told:
                told = True
                for one in alive:
                    one.process.send_signal(signal.SIGINT)
            for one in [one for one in alive if not one.alive]:
                alive.remove(one)
                if not stop.requested:
                    _judge(one, alive, note)
        look()
        if not stop.requested and ledger.finished() < ledger.rounds:
            raise WorkersFailed(f"no worker is left; the last said: {workers[-1].complaint}")
    finally:
        for one in workers:
            if one.alive:
                one.process.terminate()
        for one in workers:
            one.end()
        ledger.give_up_lost()


def _judge(ended: Worker, alive: list[Worker], note: Callable[[str], None]) -> None:
    code = ended.process.returncode
    if code == Failing.exit_code:
        raise Failing(ended.complaint)
    if code == 0:
        return
    if not alive:
        raise WorkersFailed(ended.complaint)
    note(f"a worker ended ({ended.complaint}); {len(alive)} go on")
