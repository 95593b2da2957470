"""The systems that are tuned: their study files and the scripts that measure them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from surefoot import NotReady
from surefoot_experiments.live.postgresql_bench import DEBIAN

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[3] / "examples" / "sqlite"  # of a checkout


@dataclass(frozen=True)
class System:
    """A system to tune.

    Args:
        title: Its name in the table.
        bench: The script that measures it, `bench.py` in the study's folder.
        study: The study file, as a user writes it.
        prepare: Arguments of the script for what is made once, before the first measurement.
        programs: Programs that the script starts.
    """

    title: str
    bench: Path
    study: str
    prepare: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise `NotReady` if one of its programs is not installed."""
        path = os.pathsep.join(
            [*map(str, DEBIAN.glob("*/bin")), os.environ.get("PATH", os.defpath)]
        )
        for program in self.programs:
            if shutil.which(program, path=path) is None:
                raise NotReady(f"{self.title} is not installed: no program is named {program}")


POSTGRESQL = """
# Tune PostgreSQL for short transactions and, one in twenty, a report that sorts.
# With synchronous_commit = off a power failure can lose the last commits, but not the consistency.

[study]
name = "postgresql"
direction = "minimize" # mean latency of pgbench
rounds = 60
seed = 0

[objective]
command = '''python bench.py --folder ../postgresql
  --shared-buffers {shared_buffers}MB --synchronous-commit {synchronous_commit}
  --wal-compression {wal_compression} --max-wal-size {max_wal_size}MB --work-mem {work_mem}kB
  --random-page-cost {random_page_cost:.3f} --commit-delay {commit_delay}'''
unit = "ms"
timeout = 30

[parameters]
shared_buffers = { type = "int", low = 1, high = 512, log = true, unit = "MB", default = 128 }
synchronous_commit = { type = "categorical", choices = ["on", "off"], default = "on" }
wal_compression = { type = "categorical", choices = ["off", "pglz", "lz4"], default = "off" }
max_wal_size = { type = "int", low = 32, high = 4096, log = true, unit = "MB", default = 1024 }
work_mem = { type = "int", low = 64, high = 65536, log = true, unit = "kB", default = 4096 }
random_page_cost = { type = "float", low = 1, high = 8, log = true, default = 4 }
commit_delay = { type = "int", low = 10, high = 10000, log = true, special = [0], default = 0 } # us
"""

REDIS = """
# Tune Redis with an append-only file for hashes, lists and strings.

[study]
name = "redis"
direction = "minimize" # milliseconds for each thousand requests of redis-benchmark
rounds = 60
seed = 0

[objective]
command = '''python bench.py --appendfsync {appendfsync} --hz {hz}
  --hash-max-listpack-entries {hash_entries} --hash-max-listpack-value {hash_value}
  --list-max-listpack-size={list_size} --list-compress-depth {list_compress}
  --auto-aof-rewrite-min-size {rewrite}mb'''
unit = "ms"
timeout = 30

[parameters]
appendfsync = { type = "categorical", choices = ["everysec", "no"], default = "everysec" }
hz = { type = "int", low = 1, high = 500, log = true, default = 10 }
hash_entries = { type = "int", low = 8, high = 1024, log = true, default = 128 }
hash_value = { type = "int", low = 16, high = 512, log = true, unit = "bytes", default = 64 }
list_size = { type = "int", low = -5, high = -1, default = -2 }
list_compress = { type = "int", low = 0, high = 3, default = 0 }
rewrite = { type = "int", low = 1, high = 256, log = true, unit = "MB", default = 64 }
"""


def systems() -> Mapping[str, System]:
    """The systems by name.

    Raises:
        NotReady: If the demo's files are not there, because this is not a checkout.
    """
    try:
        sqlite = (DEMO / "sqlite.toml").read_text(encoding="utf-8")
    except OSError as error:
        raise NotReady(f"{error.filename}: not found; run this from a checkout") from None
    return {
        "sqlite": System("SQLite", DEMO / "bench.py", sqlite),
        "postgresql": System(
            "PostgreSQL",
            HERE / "postgresql_bench.py",
            POSTGRESQL,
            ("--prepare", "--folder", "../postgresql"),
            ("pgbench", "initdb", "pg_ctl"),
        ),
        "redis": System(
            "Redis",
            HERE / "redis_bench.py",
            REDIS,
            programs=("redis-server", "redis-benchmark"),
        ),
    }


def study_text(system: System, seed: int, rounds: int, aided: bool, other: str) -> str:
    """The study file of a system.

    Args:
        system: The system.
        seed: Seed of the search.
        rounds: Number of measurements.
        aided: Whether configurations are repeated and drift is modelled.
        other: Name of the study that is tuned at the same time, whose process waits meanwhile.
    """
    aids = {False: ("effects = []", ""), True: ("", "\n[repeats]\nmost = 10\nunstable = 0.2\n")}
    effects, repeats = aids[aided]
    turn = f"{sys.executable} take_turn.py ../lock ../{other}.pid"
    changes = {
        "rounds = 60": f"rounds = {rounds}",
        "seed = 0": f"seed = {seed}",
        "python bench.py": f"{turn} {sys.executable} bench.py",
        # Waiting for the other study counts.
        "timeout = 30": f"timeout = 90\n{effects}",
    }
    text = system.study
    for old, new in changes.items():
        if old not in text:
            raise NotReady(f"the study file of {system.title} has no {old!r}")
        text = text.replace(old, new, 1)
    return text + repeats
