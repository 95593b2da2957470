"""Reference pages that are generated: public names, the study file's keys, the command line."""

import inspect
import json
import textwrap
from importlib import import_module
from typing import Any

from docstring_markup import with_formulas

import surefoot

MODULES = {
    "algorithms": "Named algorithms",
    "bandits": "Contextual decisions",
    "problem": "The problem",
    "optimizer": "The optimizer and its method",
    "spaces": "Spaces and environments",
    "parameters": "Named parameters",
    "risks": "Risk measures",
    "estimators": "Estimators",
    "features": "Feature maps",
    "widths": "Widths of confidence bounds",
    "beliefs": "Beliefs",
    "acquisition": "Acquisition functions",
    "hyperparameters": "Hyperparameters",
    "models": "Models",
    "kernels": "Kernels",
    "tails": "Tails",
    "types": "Queries, results and errors",
    "tune": "Tuning from Python",
    "plot": "Figures of a study",
    "integrations.optuna": "Optuna",
    "integrations.botorch": "BoTorch",
    "integrations.sklearn": "scikit-learn",
}


def public_names(module: str) -> list[str]:
    """Names that a module offers to its users; of `surefoot.types`, those of the package."""
    loaded = import_module(f"surefoot.{module}")
    if hasattr(loaded, "__all__"):
        return list(loaded.__all__)
    return [name for name in surefoot.__all__ if hasattr(loaded, name)]


def module_page(module: str) -> str:
    """A page that documents every public class and function of a module from its docstring."""
    loaded = import_module(f"surefoot.{module}")
    values = {name: getattr(loaded, name) for name in public_names(module)}
    described = [n for n, v in values.items() if inspect.isclass(v) or inspect.isroutine(v)]
    others = [name for name in values if name not in described]
    lines = [
        f"# {MODULES[module]}",
        "",
        f"`surefoot.{module}`",
        "",
        with_formulas(inspect.getdoc(loaded) or ""),
    ]
    for name in described:
        lines += ["", f"::: surefoot.{module}.{name}"]
    if others:
        lines += ["", "## Constants and types", ""]
        lines += [f"- `{name}`: `{_shown(values[name])}`" for name in others]
    return "\n".join([*lines, ""])


def _shown(value: object) -> str:
    text = value.__value__ if hasattr(value, "__value__") else value
    return " ".join(str(text).replace("typing.", "").replace("torch.Tensor", "Tensor").split())


def index_page() -> str:
    """All public names in one table, each with its first sentence."""
    lines = [
        "# Reference",
        "",
        "Generated from docstrings, the schema of study files and the command line's own help.",
        "",
        "- [Keys of a study file](study-file.md)",
        "- [Command line](command-line.md)",
        "",
        "Names marked with ● are also in `surefoot` itself: `sf.Box` is `sf.spaces.Box`.",
    ]
    for module, title in MODULES.items():
        lines += ["", f"## {title}", "", "| name | purpose |", "|---|---|"]
        loaded = import_module(f"surefoot.{module}")
        for name in public_names(module):
            value = getattr(loaded, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                mark = " ●" if name in surefoot.__all__ else ""
                link = f"[`{name}`]({module}.md#surefoot.{module}.{name})"
                lines.append(f"| {link}{mark} | {_first_sentence(value)} |")
    return "\n".join([*lines, ""])


def _first_sentence(value: object) -> str:
    paragraph = with_formulas((inspect.getdoc(value) or "").split("\n\n")[0])
    return " ".join(paragraph.split()).replace("|", "\\|")


def schema() -> dict[str, Any]:
    """The JSON schema of study files, which editors use to complete and check them."""
    from surefoot.tune.definition.contents import Contents

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema"
    } | Contents.model_json_schema()


def study_file_page() -> str:
    """Every key of a study file with its type, what is expected, and its default."""
    found = schema()
    lines = [
        "# Keys of a study file",
        "",
        "Generated from the schema that checks study files. [How to write one](../study-file.md).",
        "Editors that know JSON schemas complete and check study files with",
        "[study-file.schema.json](study-file.schema.json); in Even Better TOML and Taplo by a",
        "first line `#:schema study-file.schema.json` and a copy of that file beside yours.",
    ]
    for table, content in found["properties"].items():
        required = "required" if table in found["required"] else "optional"
        name, there = f"[{table}]", "The table is"
        if content.get("type") == "array":
            name, there = f"[{name}]", "The tables are"
        expected = content["description"].removeprefix("a table ").removeprefix("tables ")
        lines += ["", f"## `{name}`", "", f"{there} {required}: {expected}."]
        for definition in _definitions(found, content):
            lines += ["", *_keys(definition)]
    return "\n".join([*lines, ""])


def _definitions(found: dict[str, Any], content: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas that a table refers to, in order, with those of its free keys."""
    if "$ref" in content:
        own = found["$defs"][content["$ref"].rsplit("/", 1)[1]]
        free = own.get("additionalProperties")
        return [own, *(_definitions(found, free) if free else [])]
    if "items" in content:
        return _definitions(found, content["items"])
    if isinstance(content.get("additionalProperties"), dict):
        return _definitions(found, content["additionalProperties"])
    options = content.get("oneOf") or content.get("anyOf") or []
    return [each for option in options for each in _definitions(found, option)]


def _keys(definition: dict[str, Any]) -> list[str]:
    lines = [
        definition["description"],
        "",
        "| key | type | expected | default |",
        "|---|---|---|---|",
    ]
    required = definition.get("required", [])
    for key, field in definition["properties"].items():
        default = "required" if key in required else f"`{json.dumps(field.get('default'))}`"
        default = "none" if default == "`null`" else default
        expected = field.get("description", "").replace("*", "\\*")
        if "const" in field:
            expected = f"`{json.dumps(field['const'])}`"
        lines.append(f"| `{key}` | {_type(field)} | {expected} | {default} |")
    return lines


def _type(field: dict[str, Any]) -> str:
    names = {"number": "float", "integer": "int", "boolean": "bool", "array": "list"}
    kinds = [each for each in field.get("anyOf", [field]) if each.get("type") != "null"]
    return " or ".join(names.get(each["type"], each["type"]) for each in kinds if "type" in each)


def command_line_page() -> str:
    """Every command with its arguments and options, from the command line's own help."""
    import typer

    from surefoot.cli import app

    command = typer.main.get_command(app)
    lines = ["# Command line", "", _paragraphs(command.help), "", _paragraphs(command.epilog)]
    for name, each in command.commands.items():  # type: ignore[attr-defined]
        arguments = [p for p in each.params if p.param_type_name == "argument"]
        options = [p for p in each.params if p.param_type_name == "option" and not p.hidden]
        usage = " ".join(p.name.upper() if p.required else f"[{p.name.upper()}]" for p in arguments)
        lines += ["", f"## `surefoot {name}`", "", "```console"]
        lines += [
            f"$ surefoot {name} [OPTIONS] {usage}".rstrip(),
            "```",
            "",
            _paragraphs(each.help),
        ]
        lines += ["", "| argument or option | meaning | default |", "|---|---|---|"]
        for one in [*arguments, *options]:
            flags = (
                ", ".join(f"`{flag}`" for flag in one.opts) if one in options else f"`{one.name}`"
            )
            text = " ".join((one.help or "").split()).replace("|", "\\|")
            lines.append(f"| {flags} | {text} | {_default(one)} |")
    return "\n".join([*lines, ""])


def _paragraphs(text: str | None) -> str:
    paragraphs = textwrap.dedent(text or "").strip().split("\n\n")
    return "\n\n".join(  # Click prints a paragraph after \b with its line breaks
        f"```text\n{one.removeprefix(chr(8)).strip()}\n```" if one.startswith(chr(8)) else one
        for one in paragraphs
    )


def _default(option: Any) -> str:
    if option.required:
        return "required"
    value = option.default
    if value is None or value is False or callable(value) or not str(value):
        return ""
    return f"`{value}`"


def all_pages() -> dict[str, str]:
    """Generated pages by their path in the site."""
    return {
        "reference/index.md": index_page(),
        "reference/study-file.md": study_file_page(),
        "reference/study-file.schema.json": json.dumps(schema(), indent=2),
        "reference/command-line.md": command_line_page(),
        **{f"reference/{module}.md": module_page(module) for module in MODULES},
    }
