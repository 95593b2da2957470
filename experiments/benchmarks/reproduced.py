"""The claims of experiments that were played, on one page.

    surefoot reproduce all --out reproduced --data DIR --jobs 2
    python benchmarks/reproduced.py reproduced    # writes benchmarks/reproduced.md and a picture

Takes what is there; docs/images/value_at_risk.png is drawn of the value-at-risk experiments.
"""

import argparse
import json
from pathlib import Path

import pandas as pd

from surefoot_experiments import EXPERIMENTS, Experiment
from surefoot_experiments.experiment import NUMBERS, count
from surefoot_experiments.figures import curves, style
from surefoot_experiments.page import VERDICTS, ends, table_of

FOLDER = Path(__file__).parent
PICTURE = FOLDER.parent / "docs" / "images" / "value_at_risk.png"
PANELS = {
    "value-at-risk-3a": "Branin-(1,1)",
    "value-at-risk-3b": "Goldstein-Price-(1,1)",
    "value-at-risk-3c": "Hartmann-(1,2)",
    "value-at-risk-3d": "Hartmann-(2,1)",
    "value-at-risk-5a": "portfolio-(3,2)",
    "value-at-risk-5b": "robot pushing-(3,2)",
    "value-at-risk-4a": "Branin-(1,1), continuous Z",
    "value-at-risk-4b": "Goldstein-Price-(1,1), continuous Z",
    "value-at-risk-4c": "Hartmann-(1,2), continuous Z",
    "value-at-risk-4d": "Hartmann-(2,1), continuous Z",
}
TEXT = """# The papers' figures, played again

What `surefoot reproduce` found at the scale named with each, beside what the paper says, and how it
was played here with each departure from the paper. End values are means over trials; seconds are of
one core, all trials together. `docs/reproduce.md` says how to play them.

{verdicts}

Run on {cores} cores, CPU ({system}, {architecture}); {versions}.

![Value at risk: log10 of the regret, mean and 70 % interval](../docs/images/value_at_risk.png)

"""


def tables_of(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables of a finished experiment."""
    return {path.stem: pd.read_parquet(path) for path in folder.glob("*.parquet")}


def section(experiment: Experiment, folder: Path) -> str:
    """One experiment: its scale, its claims and its last values."""
    manifest = json.loads((folder / "manifest.json").read_text())
    tables = tables_of(folder)
    values = ", ".join(
        f"{' / '.join(key) if isinstance(key, tuple) else key} {value:.3g}"
        for key, value in ends(experiment, tables)["mean"].items()
    )
    data = f" Data: {manifest['data']['source']}." if manifest["data"] else ""
    checks = experiment.checks(tables)
    return "\n\n".join(
        [
            f"## {experiment.name}: {experiment.title}",
            f"{experiment.figure}; {manifest['trials']} trials of {manifest['rounds']:,} rounds "
            f"(published: {experiment.published.trials} of {experiment.published.rounds:,}), "
            f"{manifest['seconds']['trials']:,.0f} s.{data}",
            f"**The paper.** {experiment.says}",
            f"**Here.** {experiment.setting}",
            f"{experiment.measure.label}, at the end: {values}.",
            f"{count(checks)}.\n\n{table_of(checks)}\n",
        ]
    )


def draw(results: Path) -> None:
    """The value-at-risk experiments, a panel each."""
    there = {name: title for name, title in PANELS.items() if (results / name).exists()}
    if not there:
        return
    parts = [tables_of(results / name)[NUMBERS].assign(task=there[name]) for name in there]
    with style():
        figure = curves({NUMBERS: pd.concat(parts)}, EXPERIMENTS[next(iter(there))].measure)
        figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


def main() -> None:
    """Read the command line, write the page and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, help="folder of finished experiments")
    results = parser.parse_args().results
    found = [
        one for name, one in EXPERIMENTS.items() if (results / name / "manifest.json").exists()
    ]
    if not found:
        parser.error(f"{results} holds no finished experiment: run `surefoot reproduce` first")
    manifest = json.loads((results / found[0].name / "manifest.json").read_text())
    versions = manifest["versions"]
    names = ("surefoot", "torch", "gpytorch", "numpy")
    head = TEXT.format(
        **manifest["machine"],
        verdicts=VERDICTS,
        versions=", ".join(f"{name} {versions[name]}" for name in names),
    )
    text = head + "\n".join(section(one, results / one.name) for one in found)
    (FOLDER / "reproduced.md").write_text(text)
    draw(results)
    print(text)


if __name__ == "__main__":
    main()
