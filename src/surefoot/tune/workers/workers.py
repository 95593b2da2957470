"""Several worker processes on one study, and the process that supervises them."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from surefoot.tune.measuring.measurement import describe_exit
from surefoot.tune.measuring.supervised_process import CHUNK, KeptProcesses
from surefoot.tune.observer import Observer
from surefoot.tune.plain_text import printable
from surefoot.tune.stopping import Stop
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.system import POLL
from surefoot.tune.workers.worker_loop import TooManyFailures, WaitingNote
from surefoot.types import SurefootError

SCRIPT = Path(__file__).with_name("worker_process.py")
GRACE = 20.0  # seconds for a worker to end its command and record that


class WorkersFailed(SurefootError):
    """All workers have ended before the study was complete."""


class Worker:
    """A worker process, in a session of its own: only its parent gets the terminal's Ctrl-C."""

    def __init__(
        self,
        trials: StudyTrials,
        index: int,
        workers: int,
        kept: KeptProcesses,
        executor: str,
    ) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it ends with the worker
        self._messages = queue.SimpleQueue[str]()
        told = {
            "study": str(trials.study_file.path),
            "rounds": trials.rounds,
            "run": trials.run,
            "index": index,
            "workers": workers,
            "kept": kept.descriptors,
            "given": dict(trials.given),
            "executor": executor,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(SCRIPT), str(os.getpid()), json.dumps(told)],
            pass_fds=kept.descriptors,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def last_error(self) -> str:
        """Last line of the worker on standard error, or its exit code if a signal ended it."""
        errors = self._errors.fileno()
        end = os.pread(errors, CHUNK, max(0, os.fstat(errors).st_size - CHUNK))
        lines = printable(end.decode("utf-8", "replace")).strip().splitlines()
        killed = self.process.returncode < 0
        return lines[-1] if lines and not killed else describe_exit(self.process.returncode)

    def messages(self) -> list[str]:
        """The messages that have come since the last call."""
        return [self._messages.get() for _ in range(self._messages.qsize())]

    def end(self) -> None:
        """End it with its command; returns when it is gone."""
        if self.alive:
            self.process.terminate()
        try:
            self.process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            self._messages.put(line.decode("utf-8", "replace").rstrip("\n"))


def tune_with_workers(
    trials: StudyTrials,
    number: int,
    executor: str,
    stop: Stop,
    kept: KeptProcesses,
    observer: Observer,
) -> None:
    """Run worker processes until the study is complete or `stop` is requested.

    Args:
        trials: The study's trials.
        number: Number of workers.
        executor: `module:name` of the function that returns their executors, empty without any.
        stop: Ends the run after the running trials.
        kept: Where commands' processes are kept.
        observer: Called every now and then, when trials may have been recorded, and with a
            message: if a worker dies, it is noted and the others continue.

    Raises:
        TooManyFailures: If a worker ends for this reason.
        WorkersFailed: If no worker is left before the study is complete.
    """
    workers: list[Worker] = []
    forwarded = False
    try:
        for index in range(number):
            stop.check()
            try:
                workers.append(Worker(trials, index, number, kept, executor))
            except OSError as error:
                raise WorkersFailed(f"no worker can be started: {error.strerror}") from None
        alive, waiting = list(workers), WaitingNote(trials, observer.note)
        while alive:
            with stop.interruptible():
                time.sleep(POLL)
                for text in dict.fromkeys(text for one in workers for text in one.messages()):
                    observer.note(text)
                observer.finished()
                waiting.look()
            if stop.requested and not forwarded:
                forwarded = True
                for one in alive:
                    one.process.send_signal(signal.SIGINT)
            for one in [one for one in alive if not one.alive]:
                alive.remove(one)
                if not stop.requested:
                    _check_exit(one, alive, observer.note)
        observer.finished()
        if not stop.requested and not trials.is_complete():
            raise WorkersFailed(f"no worker is left; the last error: {workers[-1].last_error}")
    finally:
        for one in workers:
            if one.alive:
                one.process.terminate()
        for one in workers:
            one.end()
        trials.interrupt_lost()


def _check_exit(ended: Worker, alive: list[Worker], note: Callable[[str], None]) -> None:
    code = ended.process.returncode
    if code == TooManyFailures.exit_code:
        raise TooManyFailures(ended.last_error)
    if code == 0:
        return
    if not alive:
        raise WorkersFailed(ended.last_error)
    note(f"a worker ended ({ended.last_error}); {len(alive)} continue")
