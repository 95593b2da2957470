"""Starts a worker that ends with its parent, from its first moment on.

A script, run by its path: `worker_process.py PARENT ARGUMENT...`, with the parent's process id and
the arguments of `surefoot.tune.workers.worker`. Its standard input is a pipe whose writing end
only the parent holds. What the worker runs ends with it, since it holds the lifelines.
"""

import contextlib
import ctypes
import os
import pathlib
import signal
import sys
import threading

PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Let this process end when its parent ends, whatever it is doing then."""
    # The kernel kills it, on Linux. Elsewhere a thread does, which needs the interpreter's lock.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before
        os._exit(1)
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    # Not by `sys.stdin`, whose lock this thread would hold when the interpreter shuts down.
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    # A parent that was told to stop passes it on, also while the imports below would lose it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent(int(sys.argv[1]))
    # Where surefoot was found in the parent's working directory.
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[3]))
    from surefoot.tune.workers.worker import main

    sys.exit(main(sys.argv[2]))
