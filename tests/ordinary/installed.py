"""The package as a user installs it: a wheel in an environment of its own, and its commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
LOOKS = Path(__file__).with_name("looks.py")
PROGRAMS = Path(__file__).with_name("programs.py")


@dataclass(frozen=True)
class Output:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


def clean_environment() -> dict[str, str]:
    """Variables of a user's shell, in which nothing leads to the checkout."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}


class Installed:
    """A wheel of the checkout, installed in a fresh environment.

    What the wheel depends on is what this interpreter has; the package itself is the wheel's.

    Args:
        folder: Where the environment is made.
    """

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "env" / "bin"
        wheels, quiet = folder / "wheel", ["-q", "--no-deps", "--disable-pip-version-check"]
        own = [sys.executable, "-m", "pip"]
        build = [*own, "wheel", *quiet, "--no-build-isolation", "-w", wheels, ROOT]
        subprocess.run(build, check=True, env=clean_environment())
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.bin.parent], check=True)
        (wheel,) = wheels.glob("surefoot-*.whl")
        subprocess.run([*own, "--python", self.python, "install", *quiet, wheel], check=True)
        library = sysconfig.get_path("purelib", vars={"base": str(self.bin.parent)})
        (Path(library) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        where = self.run("-c", "import surefoot; print(surefoot.__file__)", program="python")
        assert where.out.startswith(library), where
        self._looks: subprocess.Popen[str] | None = None

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.bin / "python"

    def start(self, *arguments: object, folder: Path, **pipes: Any) -> subprocess.Popen[str]:
        """The command `surefoot` as a process."""
        return subprocess.Popen(
            [self.bin / "surefoot", *map(str, arguments)],
            cwd=folder,
            env=clean_environment(),
            text=True,
            start_new_session=True,
            **pipes,
        )

    def run(self, *arguments: object, folder: Path = ROOT, program: str = "surefoot") -> Output:
        """A command, run to its end."""
        done = subprocess.run(
            [self.bin / program, *map(str, arguments)],
            cwd=folder,
            env=clean_environment(),
            text=True,
            capture_output=True,
        )
        return Output(done.returncode, done.stdout, done.stderr)

    def look(self, *arguments: object, folder: Path = ROOT, program: Path | str = "") -> Output:
        """The command, or a program, in a fork of a process that has imported everything."""
        if self._looks is None:
            self._looks = subprocess.Popen(
                [self.python, LOOKS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=folder,
                env=clean_environment(),
            )
        given = [str(one) for one in arguments]
        request = {"program": str(program), "arguments": given, "folder": str(folder)}
        send: IO[str] = self._looks.stdin  # type: ignore[assignment]
        receive: IO[str] = self._looks.stdout  # type: ignore[assignment]
        send.write(json.dumps(request) + "\n")
        send.flush()
        return Output(**json.loads(receive.readline()))

    def close(self) -> None:
        """End the process of `look`."""
        if self._looks is not None:
            self._looks.communicate()


def result(installed: Installed, name: str, *arguments: object) -> Any:
    """What a program prints, which says nothing else."""
    given = [json.dumps(one) for one in arguments]
    found = installed.look(name, *given, program=PROGRAMS)
    assert (found.code, found.err) == (0, ""), found
    return found.json
