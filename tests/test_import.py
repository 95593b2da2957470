"""Importing surefoot loads no optional weight and changes nothing that is global.

One fresh process does it all, and says in JSON what it found.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ordinary.kinds import KINDS

PROGRAM = """
import json, os, random, signal, sys, warnings
import gpytorch, numpy, scipy.special, torch

def settings():
    return {
        name: vars(value) for name, value in vars(gpytorch.settings).items()
        if isinstance(value, type) and not name.startswith("__")
    }

def state():
    return [
        torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled(),
        torch.initial_seed(), torch.get_rng_state().tolist(), random.getstate(),
        str(numpy.random.get_state()), list(warnings.filters), dict(os.environ),
        signal.getsignal(signal.SIGINT), numpy.geterr(), os.getcwd(),
        {k: {n: repr(v) for n, v in d.items() if n.startswith("_")} for k, d in settings().items()},
    ]

def generators():
    return torch.get_rng_state().tolist(), random.getstate(), str(numpy.random.get_state())

found, before = {}, state()
import surefoot as sf
found["changed"] = [i for i, (x, y) in enumerate(zip(before, state())) if x != y]

optimizer = sf.algorithms.gp_ucb(sf.Arms([[0.0], [1.0]]), sf.kernels.squared_exponential(0.2))
optimizer.tell(optimizer.ask(), 1.0)
optimizer.recommend()
names = ("botorch", "optuna", "plotly", "pandas", "typer", "pydantic", "scipy.stats", "sympy")
found["loaded"] = [name for name in names if name in sys.modules]

before = generators()
optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), initial=2)
for _ in range(4):
    query = optimizer.ask()
    optimizer.tell(query, float(query.point.sum()))
optimizer.recommend()
found["loaded by a fit"] = [name for name in names[1:] if name in sys.modules]
found["draws nothing"] = before == generators()
found["dtype"] = str(torch.get_default_dtype())
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
def test_import_changes_no_global_state(found: dict[str, object]) -> None:
    assert found["changed"] == []


def test_import_and_an_exact_round_leave_out_what_they_do_not_need(
    found: dict[str, object],
) -> None:
    assert found["loaded"] == []
    assert found["loaded by a fit"] == []


def test_a_run_draws_nothing_from_global_generators(found: dict[str, object]) -> None:
    assert found["draws nothing"]
    assert found["dtype"] == "torch.float32"


STRICT = """
import surefoot as sf
optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), initial=2)
for _ in range(3):
    optimizer.tell(optimizer.ask(), 1.0)
"""


@pytest.mark.long
def test_it_works_where_warnings_are_errors() -> None:
    """Packages that it imports warn of what they use themselves."""
    command = [sys.executable, "-W", "error", "-c", STRICT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]


LIGHT = """
import sys
from pathlib import Path
import surefoot.tails, surefoot.tune
from surefoot.integrations.optuna import SurefootSampler
from pathlib import Path

SurefootSampler(seed=0)
file = Path(sys.argv[1]) / "study.toml"
file.write_text('''
[study]
name = "s"
direction = "minimize"
rounds = 3
[objective]
command = "true {x}"
[parameters]
x = { type = "float", low = 0, high = 1 }
''')
surefoot.tune.StudyFile.load(file)
print([name for name in ("torch", "gpytorch", "plotly", "pandas") if name in sys.modules])
"""


def test_programs_that_do_not_model_start_without_torch(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


COMMANDS = """
import contextlib, io, sys
from surefoot.cli import app

unlike = []
for file in sys.argv[1:]:
    table = file.replace("study.toml", "rows.csv")
    for words in (["import", file, table], ["status", file]):
        with contextlib.redirect_stdout(io.StringIO()):
            code = app(words, standalone_mode=False)
        loaded = [name for name in ("torch", "plotly") if name in sys.modules]
        if code or loaded:
            unlike.append((words, code, loaded))
print(unlike)
"""


def test_commands_that_do_not_model_load_no_torch(tmp_path: Path) -> None:
    """However few rounds a study has: torch takes longer to load than all else.

    An environment is a distribution of tensors.
    """
    files = []
    for kind in (one for one in KINDS.values() if one.name != "environment"):
        for rounds in (10, 300)[: 1 + (kind.name == "plain")]:
            path = kind.write(tmp_path / f"{kind.name}-{rounds}", "sqlite:///s.db", rounds)
            kind.table(path.with_name("rows.csv"), 3, 0)
            files.append(str(path))
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, *files], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
