"""The processes that serve optimisers: their protocol, and what happens when they fail."""

import math
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from surefoot import InvalidInput
from surefoot_experiments.harness.trial import Trial
from surefoot_experiments.scoreboard import environments, launch, process, trials
from surefoot_experiments.scoreboard.board import Selection
from surefoot_experiments.scoreboard.catalogue import RIVALS
from surefoot_experiments.scoreboard.process import ProcessFailed, ProcessUnavailable
from surefoot_experiments.scoreboard.rival import Rival, RivalProcess
from surefoot_experiments.scoreboard.space import box
from surefoot_experiments.scoreboard.task import DEVELOPMENT, Task

SOON = 20.0


class Parabola:
    def measure(self, point, generator):
        noise = generator.standard_normal()
        return math.nan if noise > 1.5 else point["x0"] ** 2 + noise

    def score(self, point):
        return {"gap": point["x0"] ** 2}


TASK = Task(
    suite="made-up",
    name="parabola",
    kind="gaussian",
    half=DEVELOPMENT,
    space=box([-1.0], [1.0]),
    budget=6,
    checkpoints=(2, 6),
    load=partial(Parabola),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The process of the fake rival, from a copy of the scoreboard that has it."""
    package = Path(launch.__file__).parents[1]
    copy = tmp_path_factory.mktemp("package") / package.name
    (copy / "scoreboard").mkdir(parents=True)
    shutil.copy(package / "__init__.py", copy)
    for path in (package / "scoreboard").rglob("*.py"):
        target = copy / path.relative_to(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    shutil.copy(Path(__file__).with_name("fake_rival.py"), copy / "scoreboard" / "rivals")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "_LAUNCH", copy / "scoreboard" / "launch.py")
        one = RivalProcess(Path(sys.executable), "fake_rival")
        one.start(TASK, 0, {}, SOON)
        one.end(SOON)
        yield one
    one.stop()


def test_a_rival_answers_and_what_it_prints_is_no_reply(served):
    served.start(TASK, 0, {}, SOON)
    reply = served.ask(SOON)
    assert reply["point"] == {"x0": 0.0}
    assert reply["seconds"] >= 0
    served.tell(reply["point"], None, SOON)
    point, *interval = served.recommend(SOON)
    assert point == {"x0": -0.5}
    assert all(map(math.isnan, interval))
    assert served.end(SOON) > 5  # MiB
    assert "numpy" in served.versions


def test_a_rival_that_predicts_an_interval_hands_it_over(served):
    served.start(TASK, 0, {"trouble": "interval"}, SOON)
    assert served.recommend(SOON) == ({"x0": -0.5}, -1.0, 2.0)
    served.end(SOON)


@pytest.mark.parametrize(
    ("trouble", "message"), [("error", "no more points"), ("killed", "ended with -9")]
)
def test_a_run_that_fails_ends_alone(served, trouble, message):
    served.start(TASK, 0, {"trouble": trouble, "at": 1}, SOON)
    with pytest.raises(ProcessFailed, match=message):
        served.ask(SOON)
    served.start(TASK, 0, {}, SOON)
    assert served.ask(SOON)["point"] == {"x0": 0.0}
    served.end(SOON)


@pytest.mark.long
def test_a_rival_that_hangs_is_stopped_and_started_again(served):
    served.start(TASK, 0, {"trouble": "hang", "at": 1}, SOON)
    with pytest.raises(ProcessFailed, match=r"no answer within 0\.2 s"):
        served.ask(0.2)
    served.start(TASK, 0, {}, SOON)
    assert served.ask(SOON)["point"] == {"x0": 0.0}
    served.end(SOON)


@pytest.mark.parametrize(
    ("trouble", "message"), [("error", "no more points"), ("empty", "parameters [], not ['x0']")]
)
def test_a_failed_run_keeps_its_last_recommendation(served, monkeypatch, trouble, message):
    monkeypatch.setattr(trials, "process_of", lambda environment, module: served)
    rival = Rival("fake", "fake_rival", settings={"trouble": trouble, "at": 4})
    run = trials.Run({TASK.key: TASK}, {"fake": rival}, limit=SOON)
    rows = run(Trial(0, TASK.budget, 0, case=f"{TASK.key} fake"))
    (record,) = rows[trials.RUNS]
    assert message in record["error"]
    assert record["measured"] == 3
    assert [(row["evaluations"], row["gap"]) for row in rows[trials.CHECKPOINTS]] == [
        (2, 0.25),
        (6, 0.25),
    ]


def test_a_rival_without_its_packages_is_refused_with_the_reason():
    one = RivalProcess(Path(sys.executable), "no_such_rival")
    with pytest.raises(ProcessUnavailable, match="no_such_rival"):
        one.start(TASK, 0, {}, SOON)


def test_a_rival_whose_environment_is_missing_is_named_with_its_command(tmp_path, monkeypatch):
    monkeypatch.setenv("SUREFOOT_ENVIRONMENTS", str(tmp_path))
    said: list[str] = []
    selection = Selection("own", "", ["random", "smac"], 1)
    assert list(selection.available([TASK], said.append)) == ["random"]
    assert said == [
        "smac: skipped: build its environment: "
        f"surefoot-experiments scoreboard environments smac --into {tmp_path}"
    ]


@pytest.mark.parametrize("built", [False, True])
def test_an_environment_whose_packages_cannot_be_installed_is_not_kept(
    built, tmp_path, monkeypatch
):
    def run(command, **_):
        if "venv" in command:
            folder = Path(command[-1]) / "bin"
            folder.mkdir(parents=True)
            (folder / "python").touch()
        return subprocess.CompletedProcess(command, 0 if "venv" in command or built else 1)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv("SUREFOOT_ENVIRONMENTS", str(tmp_path))
    assert environments.build("smac", tmp_path, None, lambda line: None) == built
    assert (environments.python_of("smac") is not None) == built


def test_an_environment_that_cannot_be_made_leaves_nothing_and_deletes_nothing(
    tmp_path, monkeypatch
):
    failed = subprocess.CompletedProcess([], 1)
    monkeypatch.setattr(subprocess, "run", lambda command, check, **_: failed)
    said: list[str] = []
    assert not environments.build("smac", tmp_path, None, said.append)
    assert said == [f"{tmp_path / 'smac'}: could not be built, see above"]
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "smac").write_text("mine")
    with pytest.raises(InvalidInput, match="exists and is no environment: choose another --into"):
        environments.build("smac", tmp_path, None, said.append)
    with pytest.raises(InvalidInput, match="smac/smac: cannot be made: Not a directory"):
        environments.build("smac", tmp_path / "smac", None, said.append)
    assert (tmp_path / "smac").read_text() == "mine"


def test_constraints_leave_out_packages_whose_version_the_environment_sets(tmp_path, monkeypatch):
    limits: list[str] = []

    def run(command, **_):
        if "pip" in command:
            limits.append(Path(command[command.index("--constraint") + 1]).read_text())
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("# pinned\nNumPy==2.4.6\nscipy==1.17.0\n")
    assert environments.build("simopt", tmp_path, constraints, lambda line: None)
    assert environments.build("smac", tmp_path, constraints, lambda line: None)
    assert limits == [
        "# pinned\nscipy==1.17.0\n",
        "# pinned\nNumPy==2.4.6\nscipy==1.17.0\n",
    ]
    with pytest.raises(InvalidInput, match="cannot be read"):
        environments.build("pybads", tmp_path, tmp_path / "none.txt", lambda line: None)
    assert not (tmp_path / "pybads").exists()


def test_every_rival_has_a_module():
    folder = Path(launch.__file__).with_name("rivals")
    assert all((folder / f"{one.module}.py").is_file() for one in RIVALS.values())


def test_rivals_see_the_same_noise(served, monkeypatch):
    seen: list[float] = []

    class Listening(Parabola):
        def measure(self, point, generator):
            seen.append(float(generator.standard_normal()))
            return 0.0

    monkeypatch.setattr(trials, "process_of", lambda environment, module: served)
    monkeypatch.setattr(trials, "_OBJECTIVES", {TASK.key: Listening()})
    run = trials.Run({TASK.key: TASK}, {"fake": Rival("fake", "fake_rival")}, limit=SOON)
    for seed in (0, 0, 1):
        run(Trial(seed, TASK.budget, 0, case=f"{TASK.key} fake"))
    first, again, other = np.array(seen).reshape(3, -1)
    assert (first == again).all()
    assert len({*first, *other}) == 2 * TASK.budget
