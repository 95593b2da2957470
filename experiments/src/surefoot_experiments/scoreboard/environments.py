"""The Python environments that rivals run in, and how they are built."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from surefoot import InvalidInput

HERE = "here"
FOLDER = "SUREFOOT_ENVIRONMENTS"  # environment variable
_DEFAULT = Path("environments")
_NAME = re.compile(r"[A-Za-z0-9._-]+")  # of a package, before extras and version


@dataclass(frozen=True)
class Environment:
    """A virtual environment.

    Args:
        name: Name of its folder.
        packages: What is installed, with PyTorch's version where PyTorch is needed, since its
            plain build for processors is named so.
        alone: Packages that are installed without what they ask for, since their own limits
            exclude each other.
    """

    name: str
    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()


ENVIRONMENTS = {
    one.name: one
    for one in (
        Environment("cmaes", ("optuna>=5.0", "cmaes", "numpy")),
        Environment("ax", ("torch==2.13.0", "ax-platform>=1.0", "numpy")),
        Environment("smac", ("smac>=2.2", "numpy")),
        Environment(
            "vizier",
            (
                "google-vizier[jax]",
                # Later ones have no `jax.core.Primitive`, which Vizier's equinox imports.
                *("jax==0.4.38", "jaxlib==0.4.38", "flax==0.10.2", "optax==0.2.4", "chex==0.1.88"),
                "numpy",
            ),
        ),
        Environment("pybads", ("pybads", "numpy")),
        Environment(
            "hebo",
            (
                *("torch==2.13.0", "GPy==1.13.2", "gpytorch", "numpy<2", "scipy<1.13", "pandas<3"),
                *("scikit-learn", "matplotlib", "autograd", "cma", "dill", "disjoint_set"),
                "alive-progress",
            ),
            ("HEBO==0.3.6", "pymoo==0.6.0.1"),
        ),
        Environment("simopt", ("simoptlib", "numpy<2.4")),
    )
}


def python_of(name: str) -> Path | None:
    """The Python of an environment; None if it has not been built."""
    if name == HERE:
        return Path(sys.executable)
    path = _folder() / name / "bin" / "python"
    return path if path.exists() else None


def build_line(name: str) -> str:
    """The command that builds an environment."""
    return f"surefoot-experiments scoreboard environments {name} --into {_folder()}"


def build(name: str, folder: Path, constraints: Path | None, say: Callable[[str], None]) -> bool:
    """Build an environment with pip, and say whether that succeeded.

    Args:
        name: Name of the environment.
        folder: Where its folder is made.
        constraints: A constraints file of pip, or None. It does not apply to packages whose
            version the environment sets.
        say: Called with a line for what is done.

    Returns:
        Whether everything was installed.

    Raises:
        InvalidInput: No environment has that name, its folder cannot be made or has something
            else in it, or the constraints cannot be read.
    """
    if name not in ENVIRONMENTS:
        raise InvalidInput(f"no environment is named {name!r}, expected {', '.join(ENVIRONMENTS)}.")
    packages, alone = ENVIRONMENTS[name].packages, ENVIRONMENTS[name].alone
    limits = "" if constraints is None else _others(constraints, packages)
    target = folder / name
    python = target / "bin" / "python"
    is_new = not python.exists()
    if is_new:
        _make(target)
        made = subprocess.run([sys.executable, "-m", "venv", str(target)], check=False)
        if made.returncode:
            shutil.rmtree(target)
            say(f"{target}: could not be built, see above")
            return False
    say(f"{target}: pip install {' '.join([*packages, *alone])}")
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "constraints.txt"
        file.write_text(limits)
        command = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(file)]
        runs = [[*command, *packages]] + ([[*command, "--no-deps", *alone]] if alone else [])
        built = all(
            subprocess.run(each, stdin=subprocess.DEVNULL, check=False).returncode == 0
            for each in runs
        )
    if is_new and not built:
        shutil.rmtree(target)  # one without its packages would be taken for a built one
    say(f"{target}: {'built' if built else 'could not be built, see above'}")
    return built


def _others(constraints: Path, packages: Sequence[str]) -> str:
    """The lines of a constraints file, but those of packages that come with a version."""
    own = {_name(one) for one in packages if re.search("[<>=!~]", one)}
    try:
        lines = constraints.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{constraints}: cannot be read: {error}") from None
    return "".join(f"{line}\n" for line in lines if _name(line) not in own)


def _name(requirement: str) -> str:
    """The normalised name of a package, empty in a line that names none."""
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def _make(target: Path) -> None:
    """Make the folder of an environment, which is deleted again if the environment fails."""
    if target.exists():
        raise InvalidInput(
            f"{target} exists and is no environment: choose another --into, or delete it"
        )
    try:
        target.mkdir(parents=True)
    except OSError as error:
        raise InvalidInput(f"{target}: cannot be made: {error.strerror}") from None


def _folder() -> Path:
    return Path(os.environ.get(FOLDER, _DEFAULT))
