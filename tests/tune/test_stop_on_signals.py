"""What signals do to a run."""

from __future__ import annotations

import os
import signal

import pytest

from surefoot.tune.worker_loop import Stop, stop_on_signals


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def test_the_first_ctrl_c_asks_and_the_second_interrupts():
    stop, notes = Stop(), []
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signals(stop, lambda: notes.append("stopping")):
        send(signal.SIGINT)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)
    assert notes == ["stopping"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_terminated_ends_with_its_exit_code(number):
    with pytest.raises(SystemExit) as caught, stop_on_signals(Stop(), lambda: None):
        send(number)
    assert caught.value.code == 128 + number
