"""The table of trials."""

from html import escape
from typing import Any

from surefoot.tune.report.data import ReportData, Trial
from surefoot.tune.report.numbers import number, setting


def trials_table(data: ReportData) -> str:
    """Every trial, one row each; the page's script sorts by the `data-key` of the cells."""
    names = [parameter.name for parameter in data.parameters]
    variables = data.surroundings.names if data.surroundings is not None else ()
    texts = {parameter.name for parameter in data.parameters if parameter.choices is not None}
    heads = [
        _head("trial"),
        *(_head(name, text=name in texts) for name in names),
        *(_head(name) for name in variables),
        _head("measured"),
        _head("predicted"),
        _head("weight"),
        _head("seconds"),
        _head("state", text=True),
    ]
    why = any(trial.failure for trial in data.trials)
    if why:
        heads.append(_head("failure", text=True))
    rows = "".join(_row(trial, names, variables, texts, why=why) for trial in data.trials)
    return (
        '<div class="scroll"><table class="sortable">'
        f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(
    trial: Trial, names: list[str], variables: tuple[str, ...], texts: set[str], why: bool
) -> str:
    kind = "failed" if trial.failure else "outlier" if trial.outlier else ""
    cells = [
        _cell(trial.number),
        *(_cell(trial.params.get(name), text=name in texts) for name in names),
        *(_cell(trial.environment.get(name)) for name in variables),
        _cell(trial.value),
        _cell(trial.predicted.mean if trial.predicted else None),
        _cell(trial.weight, kind="weight", shown=None if trial.weight is None else "{:.2f}"),
        _cell(trial.seconds, shown=None if trial.seconds is None else "{:.2f}"),
        _cell(trial.state, text=True, kind="state"),
    ]
    if why:
        cells.append(_why(trial))
    return f'<tr class="{kind}">{"".join(cells)}</tr>'


def _why(trial: Trial) -> str:
    told = escape(trial.failure)
    if trial.output:
        told = f"<details><summary>{told}</summary><pre>{escape(trial.output)}</pre></details>"
    return f'<td class="text why" data-key="{escape(trial.failure)}">{told}</td>'


def _head(name: str, *, text: bool = False) -> str:
    kind = ' class="text"' if text else ""
    return f'<th scope="col"{kind}><button type="button">{escape(name)}</button></th>'


def _cell(value: Any, *, text: bool = False, kind: str = "", shown: str | None = None) -> str:
    if value is None:
        return '<td data-key=""></td>'
    if shown is not None:
        written = shown.format(value)
    elif isinstance(value, float) and not text:
        written = number(value)
    else:
        written = setting(value)
    names = " ".join(name for name in ("text" if text else "", kind) if name)
    mark = f' class="{names}"' if names else ""
    return f'<td{mark} data-key="{escape(str(value))}">{escape(written)}</td>'
