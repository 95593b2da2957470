"""`surefoot reproduce` runs the command of another distribution, if that is installed."""

import tomllib
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surefoot import cli

ROOT = Path(__file__).parents[1]


def reproduce(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.app, ["reproduce", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("arguments", [(), ("run", "all", "--quick")])
def test_without_the_distribution_one_line_says_how_to_install_it(monkeypatch, arguments):
    monkeypatch.setattr(cli, "entry_points", lambda **selection: EntryPoints())
    code, out, err = reproduce(*arguments)
    assert (code, out) == (2, "")
    assert "install surefoot-experiments" in err
    assert len(err.splitlines()) == 1


def test_arguments_are_passed_on_as_they_are(monkeypatch):
    def entry_points(**selection: str) -> EntryPoints:
        assert selection == {"group": "surefoot.commands", "name": "reproduce"}
        return EntryPoints([EntryPoint("reproduce", "builtins:print", "surefoot.commands")])

    monkeypatch.setattr(cli, "entry_points", entry_points)
    code, out, _ = reproduce("run", "all", "--quick", "--jobs", "2", "--help")
    assert (code, out) == (
        0,
        "['run', 'all', '--quick', '--jobs', '2', '--help'] surefoot reproduce\n",
    )


def test_the_wheel_of_the_library_holds_no_experiment():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["src/surefoot"]
    modules = list((ROOT / "src").rglob("*.py"))
    assert modules
    assert not [path for path in modules if "surefoot_experiments" in path.read_text()]
