"""Storages of a storm, in a temporary folder: files, and a PostgreSQL server on a socket."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot import NotReady

_DEBIAN = Path("/usr/lib/postgresql")
OWNER = "surefoot"  # of a server's database
_ACCOUNT = "postgres"  # runs the server where the storm is run by root, which PostgreSQL refuses


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server on a socket in a folder.

    Args:
        folder: An empty folder; its path is at most 80 characters, as the system's sockets require.
    """

    folder: Path

    def url(self, role: str = OWNER) -> str:
        """The URL of its database."""
        return f"postgresql+psycopg://{role}@/postgres?host={self.folder}"

    def create(self) -> None:
        """Create and start it.

        Raises:
            NotReady: If PostgreSQL is not installed or does not start.
        """
        if os.getuid() == 0:
            shutil.chown(self.folder, _ACCOUNT)
        self._call("initdb", "--username", OWNER, "--auth", "trust", "--no-sync")
        self.start()

    def start(self) -> None:
        """Start it."""
        options = f"-k {self.folder} -c listen_addresses="
        self._call("pg_ctl", "start", "-w", "-l", str(self.folder / "log"), "-o", options)

    def stop(self, mode: str = "immediate") -> None:
        """Stop it, in a mode of `pg_ctl`."""
        self._call("pg_ctl", "stop", "-w", "-m", mode)

    def execute(self, *statements: str) -> None:
        """Execute statements one after the other, in a connection of its owner."""
        psql = [str(_programs() / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1"]
        who = ["-h", str(self.folder), "-U", OWNER, "-d", "postgres"]
        given = [word for one in statements for word in ("-c", one)]
        subprocess.run([*psql, *who, *given], check=True, stdout=subprocess.DEVNULL)

    def _call(self, program: str, *arguments: str) -> None:
        account: dict[str, Any] = {}
        if os.getuid() == 0:
            account = {"user": _ACCOUNT, "group": _ACCOUNT, "extra_groups": []}
        log = self.folder / f"{program}.log"
        log.touch(mode=0o666)
        with log.open("wb") as output:
            done = subprocess.run(
                [_programs() / program, "-D", self.folder / "data", *arguments],
                cwd=self.folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                **account,
            )
        if done.returncode:
            raise NotReady(f"{program} failed: {log.read_text(errors='replace')[-300:]}")


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Start a server in a folder, and stop it at the end.

    Raises:
        NotReady: If PostgreSQL is not installed or does not start.
    """
    server = Server(folder)
    server.create()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """The URL of a database of a server that runs in the block; see `serving`."""
    with serving(folder) as server:
        yield server.url()


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
        return Path(found).resolve().parent
    folders = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda file: int(file.parts[-3]))
    if not folders:
        raise NotReady("PostgreSQL is not installed: no program is named initdb")
    return folders[-1].parent
