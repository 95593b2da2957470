"""How long a run took that was stopped and went on, and which sources played it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from surefoot_experiments.whole import write_text

FILE = "legs.json"
UNKNOWN = "unknown"


class Legs:
    """The legs of a run, counted in a file beside its finished trials.

    `sources` are fingerprints of the package's files, oldest first, "unknown" among them for
    trials of which it was not written down.
    """

    def __init__(self, folder: Path, *, begun: bool) -> None:
        self._path = folder / FILE
        kept = _read(self._path)
        self._result = float(kept.get("result", 0.0))
        self._played = float(kept.get("played", 0.0))
        self.sources: list[str] = list(kept.get("sources", [UNKNOWN] if begun else []))
        self._started = time.perf_counter()

    @property
    def wall(self) -> float:
        """Seconds of all legs so far, this one included."""
        return self._result + self._played + time.perf_counter() - self._started

    def grow_from(self, manifest: dict[str, Any]) -> None:
        """Count the legs of a result whose trials are taken over; said twice, it counts once."""
        self._result = float(manifest["seconds"]["wall"])
        self._add(*manifest.get("sources", [UNKNOWN]))
        self._write(self._played)

    def keep(self, source: str) -> None:
        """Write down this leg so far, in which files of this fingerprint played a trial."""
        self._add(source)
        self._write(self._played + time.perf_counter() - self._started)

    def restart(self) -> None:
        """Count from zero: what was counted is in a result."""
        self._result = 0.0
        self._write(0.0)

    def _add(self, *sources: str) -> None:
        self.sources += [each for each in sources if each not in self.sources]

    def _write(self, played: float) -> None:
        content = {"result": self._result, "played": played, "sources": self.sources}
        write_text(self._path, json.dumps(content))


def _read(path: Path) -> dict[str, Any]:
    """What is there, or nothing: it is for information, and no reason to lose a run."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        numbers = [float(content[name]) for name in ("result", "played")]
        return {"result": numbers[0], "played": numbers[1], "sources": [*content["sources"]]}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
