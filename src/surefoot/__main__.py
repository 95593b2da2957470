"""The command `surefoot`, also as `python -m surefoot`."""

import os
import signal
import sys


def main() -> None:
    """Run the command line, or say what to install for it."""
    # Python's own handler raises an exception, which is lost in the callback of a weak reference
    # and in an import. So the system ends the process until a run handles its signals.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _open_closed_streams()
    from surefoot.types import NotInstalled

    try:
        os.getcwd()
        from surefoot.cli import app
    except NotInstalled as error:
        sys.exit(f"surefoot: {error}")
    except FileNotFoundError:
        sys.exit("surefoot: the working folder no longer exists: change to one that does.")
    app(prog_name="surefoot")


def _open_closed_streams() -> None:
    """Let standard streams that are closed lead nowhere.

    Otherwise the next files, such as the study's, would take their numbers.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))


if __name__ == "__main__":
    main()
