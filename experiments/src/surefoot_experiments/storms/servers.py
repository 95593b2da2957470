"""Storages of a storm, in a temporary folder: files, and a PostgreSQL server on a socket."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from surefoot import NotReady

_DEBIAN = Path("/usr/lib/postgresql")
_ACCOUNT = "postgres"  # runs the server where the storm is run by root, which PostgreSQL refuses


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """Start a server in a folder, and stop it at the end.

    Args:
        folder: An empty folder; its path is at most 80 characters, as the system's sockets require.

    Yields:
        The URL of its database.

    Raises:
        NotReady: If PostgreSQL is not installed or does not start.
    """
    programs, data = _programs(), folder / "data"
    account: dict[str, Any] = {}
    if os.getuid() == 0:
        account = {"user": _ACCOUNT, "group": _ACCOUNT, "extra_groups": []}
        shutil.chown(folder, _ACCOUNT)

    def call(program: str, *arguments: str) -> None:
        log = folder / f"{program}.log"
        log.touch(mode=0o666)
        with log.open("wb") as output:
            done = subprocess.run(
                [programs / program, "-D", data, *arguments],
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                **account,
            )
        if done.returncode:
            raise NotReady(f"{program} failed: {log.read_text(errors='replace')[-300:]}")

    call("initdb", "--username", "surefoot", "--auth", "trust", "--no-sync")
    call(
        "pg_ctl",
        "start",
        "-w",
        "-l",
        str(folder / "log"),
        "-o",
        f"-k {folder} -c listen_addresses=",
    )
    try:
        yield f"postgresql+psycopg://surefoot@/postgres?host={folder}"
    finally:
        call("pg_ctl", "stop", "-w", "-m", "immediate")


STORAGES: Mapping[str, Callable[[Path], AbstractContextManager[str]]] = {
    "sqlite": lambda folder: nullcontext(f"sqlite:///{folder / 'storm.db'}"),
    "journal": lambda folder: nullcontext(f"journal:///{folder / 'storm.log'}"),
    "postgresql": postgresql,
}
"""The URL of a storage in a folder, for as long as the context lasts, by name."""


def case_of(storage: str, workers: int) -> str:
    """A storage and a number of workers in words."""
    return f"{storage}, {workers} worker" + "s" * (workers > 1)


def _programs() -> Path:
    """The folder of the server's programs."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    folders = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda file: int(file.parts[-3]))
    if not folders:
        raise NotReady("PostgreSQL is not installed: no program is named initdb")
    return folders[-1].parent
