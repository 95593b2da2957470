"""surefoot in an environment of the packages that it requires, and no others.

The environment is a folder of links to the distributions that the declared requirements bring, in
which Python runs without its own site-packages.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Of the packages of extras all but Jinja, which PyTorch requires.
IN_NO_CORE = ("botorch", "optuna", "sqlalchemy", "pydantic", "typer", "rich", "plotly")


def required(requirements: Sequence[str]) -> dict[str, Distribution]:
    """The installed distributions that requirements bring, by normalised name."""
    found: dict[str, Distribution] = {}
    left = [Requirement(each) for each in requirements]
    while left:
        wanted = left.pop()
        name = re.sub("[-_.]+", "-", wanted.name).lower()
        if name in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:  # of another platform's build, such as CUDA
            continue
        left += [Requirement(each) for each in found[name].requires or ()]
    return found


def environment(folder: Path, requirements: Sequence[str]) -> Path:
    """A folder of links to these packages and surefoot."""
    folder.mkdir()
    for one in required(requirements).values():
        for name in {file.parts[0] for file in one.files or () if file.parts[0] != ".."}:
            if name != "__pycache__" and not (folder / name).exists():
                (folder / name).symlink_to(Path(str(one.locate_file(name))))
    (folder / "surefoot").symlink_to(ROOT / "src" / "surefoot")
    return folder


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("core") / "site", PROJECT["dependencies"])


@pytest.fixture(scope="module")
def with_optuna(tmp_path_factory: pytest.TempPathFactory) -> Path:
    requirements = [*PROJECT["dependencies"], *EXTRAS["optuna"]]
    return environment(tmp_path_factory.mktemp("optuna") / "site", requirements)


def run(site: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an environment; -I and -S leave out all other packages."""
    start = f"import sys\nsys.path.insert(0, {str(site)!r})\nsys.dont_write_bytecode = True\n"
    command = [sys.executable, "-I", "-S", "-c", start + program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


ALGORITHMS = """
import json, tempfile
from importlib.util import find_spec
from pathlib import Path
import surefoot as sf

absent = [name for name in %r if find_spec(name) is None]
algorithms, kernels = sf.algorithms, sf.kernels
arms, box = sf.Arms([[0.0], [0.25], [0.5], [0.75], [1.0]]), sf.Box([0.0, 0.0], [1.0, 1.0])
kernel, moment = kernels.squared_exponential(0.3), sf.Moment(1.0, 4.0)
joint = sf.Joint(sf.Box([0.0], [1.0]), sf.FiniteEnvironment([0.0, 0.5, 1.0]))
density = sf.environments.truncated_normal(0.5, 0.2, 0.0, 1.0)
wind = sf.Joint(sf.Box([0.0], [1.0]), sf.ContinuousEnvironment(density))
plane = kernels.squared_exponential([0.3, 0.3])
built = {
    "tgp_ucb": algorithms.tgp_ucb(arms, kernel, moment=moment),
    "ata_gp_ucb": algorithms.ata_gp_ucb(arms, kernel, moment=moment),
    "bkb": algorithms.bkb(arms, kernel, noise=0.1),
    "bbkb": algorithms.bbkb(arms, kernel, noise=0.1),
    "v_ucb": algorithms.v_ucb(joint, plane, level=0.2, initial=2),
    "v_ucb, a density": algorithms.v_ucb(wind, level=0.2, initial=3),
    "robust_ucb": algorithms.robust_ucb(box, initial=3),
}
recommended = {}
for name, optimizer in built.items():
    for _ in range(5):
        query = optimizer.ask()
        optimizer.tell(query, -float((query.point - 0.4).square().sum()))
    recommended[name] = optimizer.recommend().point.tolist()
with tempfile.TemporaryDirectory() as folder:
    built["bkb"].save(Path(folder) / "run")
    loaded = sf.Optimizer.load(Path(folder) / "run")
    same = loaded.ask().arm == built["bkb"].ask().arm
print(json.dumps({"absent": absent, "recommended": recommended, "same": same}))
"""


@pytest.mark.long
def test_the_algorithms_run_on_the_required_packages_alone(core: Path) -> None:
    done = run(core, ALGORITHMS % (IN_NO_CORE,))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["absent"] == list(IN_NO_CORE)
    assert found["same"]
    assert all(0.0 <= x <= 1.0 for point in found["recommended"].values() for x in point)


NAMES = """
import surefoot as sf
try:
    import {module}
except sf.NotInstalled as error:
    assert isinstance(error, ImportError)
    print(error)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("surefoot.integrations.optuna", "optuna"),
        ("surefoot.tune", "tune"),
        ("surefoot.tune.comparison.compare", "tune"),
        ("surefoot.cli", "tune"),
    ],
)
def test_what_is_absent_says_which_extra_installs_it(core: Path, module: str, extra: str) -> None:
    done = run(core, NAMES.format(module=module))
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(
        rf"the package \w+ is not installed: pip install 'surefoot\[{extra}\]'\.\n", done.stdout
    )


def test_the_command_says_so_in_one_line(core: Path) -> None:
    done = run(core, "import runpy\nrunpy.run_module('surefoot', run_name='__main__')")
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(
        r"surefoot: the package \w+ is not installed: pip install 'surefoot\[tune\]'\.\n",
        done.stderr,
    )


SAMPLER = """
import optuna
from surefoot.integrations.optuna import SurefootSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=3))
study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0) ** 2, n_trials=5)
print(len(study.trials))
"""


@pytest.mark.long
def test_the_sampler_needs_optuna_only(with_optuna: Path) -> None:
    done = run(with_optuna, SAMPLER)
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr
    done = run(with_optuna, NAMES.format(module="surefoot.tune"))
    assert "pip install 'surefoot[tune]'" in done.stdout


def test_an_absent_package_of_a_module_of_surefoot_is_no_matter_of_extras() -> None:
    from surefoot._internal.extras import extra

    with pytest.raises(ModuleNotFoundError, match=r"surefoot\.no_such") as caught, extra("tune"):
        import surefoot.no_such  # noqa: F401
    assert type(caught.value) is ModuleNotFoundError


def test_development_has_all_extras_that_its_checks_need() -> None:
    extras = Requirement(next(each for each in EXTRAS["dev"] if each.startswith("surefoot"))).extras
    assert extras >= {"botorch", "tune", "parquet"}
    assert "surefoot[optuna]" in EXTRAS["tune"]
