"""Runs wait for a database server that does not answer for a while."""

import itertools
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from surefoot.tune.study.server_outage import (
    LONGEST_PAUSE,
    PATIENCE,
    Outages,
    is_disconnection,
    is_refusal,
)


@dataclass
class Time:
    """A clock that goes on while it is slept."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


class Server:
    """A server that refuses some connections."""

    def __init__(self, refused):
        self.refused = refused
        self.numbers = itertools.count()

    def connect(self):
        if next(self.numbers) < self.refused:
            raise ConnectionRefusedError("connection refused")
        return "connection"


def outages_of(time, said):
    return Outages(clock=lambda: time.now, sleep=time.sleep, say=said.append)


def test_connecting_is_repeated_until_the_server_answers():
    time, said = Time(), []
    outages = outages_of(time, said)
    assert outages.until_connected(Server(7).connect, lambda error: f"db: {error}") == "connection"
    assert time.slept == [1.0, 2.0, 4.0, 8.0, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
    assert outages.ended == time.now
    assert said == [
        "db: connection refused; trying again for 10 minutes",
        "the storage answers again",
    ]


def test_a_server_that_answers_is_not_mentioned():
    time, said = Time(), []
    outages = outages_of(time, said)
    assert outages.until_connected(Server(0).connect, str) == "connection"
    assert (time.slept, said, outages.ended) == ([], [], -float("inf"))


def test_a_server_that_stays_away_is_an_error():
    time, said = Time(), []
    with pytest.raises(ConnectionRefusedError):
        outages_of(time, said).until_connected(Server(10**9).connect, str)
    assert PATIENCE <= time.now < PATIENCE + 2 * LONGEST_PAUSE
    assert len(said) == 1


def test_a_server_that_stays_away_is_waited_for_once():
    time, server = Time(), Server(10**9)
    outages = outages_of(time, [])
    with pytest.raises(ConnectionRefusedError):
        outages.until_connected(server.connect, str)
    ended = time.now
    with pytest.raises(ConnectionRefusedError):
        outages.until_connected(server.connect, str)
    assert time.now == ended
    outages.until_connected(Server(0).connect, str)
    outages.until_connected(Server(2).connect, str)
    assert time.now > ended


def test_a_thread_waits_though_another_one_has_given_up():
    time = Time()
    outages = outages_of(time, [])
    with ThreadPoolExecutor() as heartbeats:
        future = heartbeats.submit(outages.until_connected, Server(10**9).connect, str)
        with pytest.raises(ConnectionRefusedError):
            future.result()
    assert outages.until_connected(Server(2).connect, str) == "connection"


def test_threads_that_wait_together_say_so_once():
    time, said = Time(), []
    outages = outages_of(time, said)

    def connect_as_another_thread():
        outages.until_connected(Server(2).connect, str)
        return "connection"

    server = Server(1)
    outages.until_connected(
        lambda: server.connect() and connect_as_another_thread(), lambda error: str(error)
    )
    assert said == [
        "connection refused; trying again for 10 minutes",
        "the storage answers again",
    ]


def driver_error(module: str = "psycopg", *given: object, **attributes: object) -> Exception:
    return type("DriverError", (Exception,), {"__module__": module, **attributes})(*given)


@pytest.mark.parametrize(
    ("error", "refused", "disconnected"),
    [
        (driver_error(sqlstate="57014"), True, False),  # a statement took too long
        (driver_error(sqlstate="25006"), True, False),  # read-only while another server takes over
        (driver_error(sqlstate="42501"), False, False),  # no privilege
        (driver_error("psycopg2.errors", pgcode="55P03"), True, False),
        (driver_error("MySQLdb", 1205), False, False),
        (driver_error(sqlite_errorcode=sqlite3.SQLITE_BUSY_RECOVERY), True, False),
        (driver_error(sqlite_errorcode=sqlite3.SQLITE_FULL), False, False),
        (driver_error(sqlstate="25P02"), False, True),  # what follows in its transaction
        (driver_error(sqlstate="42P01"), False, False),
        (ValueError(), False, False),
    ],
)
def test_what_passes_is_told_from_what_stays(error, refused, disconnected):
    raised = RuntimeError("of Optuna")
    raised.__cause__ = error
    assert (is_refusal(raised), is_disconnection(raised)) == (refused, disconnected)


def test_what_is_refused_is_done_again_until_it_is_accepted():
    time, said, errors = Time(), [], [driver_error(sqlstate="57014"), driver_error(pgcode="40001")]

    def do() -> str:
        if errors:
            raise errors.pop()
        return "done"

    outages, undone = outages_of(time, said), []
    assert outages.overcome(do, lambda _: "refused", lambda: undone.append(len(errors))) == "done"
    assert (time.slept, undone) == ([1.0, 2.0], [1, 0])
    assert said == [
        "refused; trying again for 10 minutes",
        "the storage accepts statements again",
    ]
    errors.append(ValueError())
    with pytest.raises(ValueError):
        outages.overcome(do, str)
    assert len(time.slept) == 2


@pytest.fixture
def database(tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    return folder, create_engine(f"sqlite:///{folder / 'base.db'}")


def write(engine):
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE IF NOT EXISTS t (x)"))


@pytest.mark.parametrize("connected", [True, False])
def test_an_engine_waits_where_it_connects_again(database, connected):
    folder, engine = database
    said, slept = [], []

    def restart(seconds):
        slept.append(seconds)
        if len(slept) == 2:
            folder.mkdir()

    outages = Outages(sleep=restart, say=said.append)
    if connected:
        write(engine)
    outages.wait_at(engine, lambda error: type(error).__name__, connected=connected)
    write(engine)
    engine.dispose()
    shutil.rmtree(folder)
    write(engine)
    assert len(slept) == 2
    assert [line.partition(";")[0] for line in said] == [
        "OperationalError",
        "the storage answers again",
    ]


def test_the_first_connection_is_not_waited_for(database):
    folder, engine = database
    shutil.rmtree(folder)
    outages = Outages(sleep=pytest.fail, say=pytest.fail)
    outages.wait_at(engine, str, connected=False)
    with pytest.raises(OperationalError):
        write(engine)


def test_the_first_connection_of_a_worker_is_waited_for(database):
    folder, engine = database
    shutil.rmtree(folder)
    outages = Outages(sleep=lambda _: folder.mkdir(), say=lambda _: None, connected=True)
    outages.wait_at(engine, str, connected=False)
    write(engine)
    assert (folder / "base.db").exists()
