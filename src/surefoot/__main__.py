"""The command `surefoot`, also as `python -m surefoot`."""

import signal
import sys


def main() -> None:
    """Run the command line, or say what to install for it."""
    # Python's own handler raises an exception, which is lost in the callback of a weak reference
    # and in an import. So the system ends the process until a run handles its signals.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from surefoot.types import NotInstalled

    try:
        from surefoot.cli import app
    except NotInstalled as error:
        sys.exit(f"surefoot: {error}")
    app(prog_name="surefoot")


if __name__ == "__main__":
    main()
