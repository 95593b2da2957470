"""Runs on a database server that stops, ends connections or limits them for a while."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from surefoot import NotReady
from surefoot.tune import is_round, open_study
from surefoot_experiments.storms.scene import Scene
from surefoot_experiments.storms.servers import Server, serving

ROLE = "app"
ROUNDS = 10
# Each measurement is in a ledger before it is printed.
BENCH = """
sleep 0.$(($$ % 9))
value="$(date +%s%N | tail -c 13).$$"
echo "$value" >> ledger
echo "$value"
"""
_END = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'"


def _stopped(mode: str) -> Callable[[Server, float], None]:
    def play(server: Server, seconds: float) -> None:
        server.stop(mode)
        time.sleep(seconds)
        server.start()

    return play


def _ended(server: Server, seconds: float) -> None:
    """Connections are ended again and again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        server.execute(_END)
        time.sleep(0.7)


def _idle_ended(server: Server, seconds: float) -> None:
    """Connections that are idle are ended again and again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        server.execute(f"{_END} AND state LIKE 'idle%'")
        time.sleep(0.3)


def _idle_limited(server: Server, seconds: float) -> None:
    """The server ends idle connections itself."""
    server.execute(f"ALTER ROLE {ROLE} SET idle_session_timeout = '200ms'", _END)
    time.sleep(seconds)
    server.execute(f"ALTER ROLE {ROLE} RESET idle_session_timeout")


def _limited(server: Server, seconds: float) -> None:
    """One connection is allowed, to three processes."""
    server.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT 1", _END)
    time.sleep(seconds)
    server.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")


def _timed_out(server: Server, seconds: float) -> None:
    """Statements wait for a lock for longer than they may take."""
    server.execute(f"ALTER ROLE {ROLE} SET statement_timeout = '100ms'", _END)
    time.sleep(seconds / 4)
    server.execute("BEGIN", "LOCK TABLE trials", f"SELECT pg_sleep({seconds / 2})", "COMMIT")
    server.execute(f"ALTER ROLE {ROLE} RESET statement_timeout", _END)


KINDS: Mapping[str, Callable[[Server, float], None]] = {
    "stopped": _stopped("fast"),
    "stopped at once": _stopped("immediate"),
    "connections ended": _ended,
    "idle connections ended": _idle_ended,
    "idle connections limited": _idle_limited,
    "connections limited": _limited,
    "statements timed out": _timed_out,
}
"""What happens to a server for some seconds."""


def outages(scene: Scene) -> None:
    """Two workers go on through what happens to their server, and lose no measurement."""
    if find_spec("psycopg") is None:
        raise NotReady("psycopg, the driver of PostgreSQL, is not installed")
    kind = scene.random.choice(list(KINDS))
    # The path of a socket must be short.
    with (
        tempfile.TemporaryDirectory(prefix="server-", dir="/tmp") as folder,
        serving(Path(folder)) as server,
    ):
        server.execute(f"CREATE ROLE {ROLE} LOGIN", f"GRANT ALL ON SCHEMA public TO {ROLE}")
        scene.write(bench=BENCH, rounds=ROUNDS, storage=server.url(ROLE))
        run = scene.start("tune", "study.toml", "--workers", "2")
        # Before its first connection a run ends at once: its URL may be wrong.
        while run.poll() is None and not scene.output():
            time.sleep(0.02)
        scene.wait_for(run, scene.random.randint(0, ROUNDS - 4))
        KINDS[kind](server, scene.random.uniform(2.0, 8.0))
        scene.end(run, (), {0})
        scene.finish(ROUNDS)
        trials = open_study(scene.folder / "study.toml").study.get_trials(deepcopy=False)
        known = {one.value for one in trials if is_round(one)}
        measured = {float(line) for line in (scene.folder / "ledger").read_text().split()}
        scene.figures["lost"] += len(measured - known)
        if scene.problems or measured - known:
            scene.problems.append(f"{kind}: not recorded: {measured - known}")
