"""The command `surefoot`, also as `python -m surefoot`."""

import sys

from surefoot.types import NotInstalled


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from surefoot.cli import app
    except NotInstalled as error:
        sys.exit(f"surefoot: {error}")
    app(prog_name="surefoot")


if __name__ == "__main__":
    main()
