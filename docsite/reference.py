"""The reference pages: command line, parameters, stages; the Python interface is in docsite.python_reference.

    command line   from the parser of sentence_distillery.cli
    parameters     from the typed models of stages.params and conf/base.yaml
    stages         from dvc.yaml

A page in docs/reference has an introduction, and the marks between which docsite.figures writes the rest.
"""

import argparse
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import yaml

from docsite.graph import graph, stages
from docsite.kept import ROOT
from sentence_distillery import cli
from stages.params import Params, completed, read_params

PLUMBING = ("-h", "--help")
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
TYPES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true, false", "null": "null"}

# Command -> the extras that only some of its options need.
PARTLY = {"compress": "Needs the extra `distill` for `--megabytes`, and `onnx` for `--format onnx`."}

LIST_PARTS = {"crawl": ("CrawlInput",), "web": ("Site",), "benchmarks": ("OwnBenchmark",)}
# Names that many sections share: their models leave the meaning to the section.
SHARED = {
    "seed": "seed of the random numbers",
    "epochs": "passes over the training data",
    "batch_size": "number of examples in a step",
    "learning_rate": "learning rate of the optimiser",
    "learning_rates": "learning rates to try",
    "optimizer": "the optimiser, which updates the weights",
    "weight_decay": "decay of the weights in each step",
    "dimension": "dimension of the vectors",
    "window": "number of context words on each side",
    "negative": "number of negative samples for each context word",
    "minimum_count": "minimum frequency of a word; rarer words get no vector",
    "pooling": "pooling of the token vectors",
    "poolings": "poolings of the token vectors",
    "strategies": "strategies of training on pairs",
    "task": "type of task, which decides how encoders are scored",
    "columns": "the file's column for each field of the task",
}


def command_line() -> str:
    """Describe each command: its sentence, its arguments, and the extra that it needs."""
    parser = cli.parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = []
    for name, command in commands.choices.items():
        extra = cli.COMMANDS[name][2]
        needs = PARTLY.get(name, f"Needs the extra `{extra}`." if extra else "Needs no extra.")
        parts += [
            f"## {name}",
            "",
            f"{command.description} {needs}",
            "",
            *_usage(command),
            "",
            *_arguments(command),
            "",
        ]
    return "\n".join(parts)


def _usage(command: argparse.ArgumentParser) -> list[str]:
    usage = " ".join(command.format_usage().removeprefix("usage: ").replace("[-h] ", "").split())
    return ["```output", *textwrap.wrap(usage, 88, subsequent_indent="    ", break_on_hyphens=False), "```"]


def _arguments(command: argparse.ArgumentParser) -> Iterator[str]:
    yield "| argument | meaning |"
    yield "| --- | --- |"
    for action in command._actions:
        if not set(action.option_strings) & set(PLUMBING):
            yield f"| {_argument(action)} | {cell(action.help or '')}{_choices(action)} |"


def _argument(action: argparse.Action) -> str:
    """Return an option with its value, or the name of a positional argument."""
    shown = action.metavar or action.dest.upper()
    value = " ".join(shown) if isinstance(shown, tuple) else shown
    if not action.option_strings:
        return f"`{value}`"
    takes_none = action.nargs == 0
    return f"`{action.option_strings[-1]}`" if takes_none else f"`{action.option_strings[-1]} {value}`"


def _choices(action: argparse.Action) -> str:
    return f"; one of {', '.join(f'`{choice}`' for choice in action.choices)}" if action.choices else ""


def cell(text: str) -> str:
    """Return a text as a cell of a table: a placeholder such as <name> is no HTML.

    >>> cell("a <b> or `<c>`, d | e")
    'a &lt;b&gt; or `<c>`, d \\\\| e'
    """
    parts = text.replace("|", "\\|").replace("\n", " ").split("`")
    parts[::2] = [part.replace("<", "&lt;").replace(">", "&gt;") for part in parts[::2]]
    return "`".join(parts)


def parameters() -> str:
    """Describe each section of params.yaml: its keys, their defaults, ranges and meanings."""
    schema = Params.model_json_schema()
    sections: dict[str, Any] = {name: {} for name in schema["properties"]}
    values = completed(sections | read_params(ROOT / "conf/base.yaml"))
    definitions = schema["$defs"]
    parts: list[str] = []
    for name, shape in schema["properties"].items():
        parts += [f"## {name}", "", *_section(name, shape, values.get(name), definitions), ""]
    return "\n".join(parts)


def _section(name: str, shape: dict[str, Any], value: Any, definitions: dict[str, Any]) -> Iterator[str]:
    found = _resolved(shape, definitions)
    text = found.get("description") or ""
    if text:
        yield from (text.split("\n\n")[0].replace("\n", " "), "")
    fields = found.get("properties")
    if name == "encoders":
        yield "Encoders by name. Each is a transformer, a function or a file of vectors, with the keys of its kind."
        for kind in ("Teacher", "FunctionTeacher", "VectorTeacher"):
            yield from ("", *_fields(definitions[kind]["properties"], {}, definitions))
    elif fields is None:
        yield f"{_title(found, name) or 'A name of `encoders`'}: {_value(value)} in `conf/base.yaml`."
    else:
        yield from _fields(fields, value, definitions)
    for part in LIST_PARTS.get(name, ()):
        yield from ("", f"Keys of each {_words(part)}:", "", *_fields(definitions[part]["properties"], {}, definitions))


def _words(model: str) -> str:
    """Return the words of a model's name.

    >>> _words("OwnBenchmark")
    'own benchmark'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", model).lower()


def _fields(fields: dict[str, Any], values: Any, definitions: dict[str, Any]) -> Iterator[str]:
    """Yield a table of the keys of a model, with their values if there are any."""
    shown = isinstance(values, dict) and bool(values)
    yield "| parameter | default | range | meaning |" if shown else "| key | range | meaning |"
    yield "| --- | --- | --- | --- |" if shown else "| --- | --- | --- |"
    for key, field in fields.items():
        value = f" {_value(values[key])} |" if shown and key in values else " |" * shown
        yield f"| `{key}` |{value} {cell(_range(field, definitions))} | {cell(_title(field, key))} |"


def _resolved(shape: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    return definitions[shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape


def _title(field: dict[str, Any], key: str) -> str:
    """Return the meaning that a model gives a field; pydantic's own title is the name again."""
    title = str(field.get("title", ""))
    if title and title.lower().replace(" ", "_") != key.lower():
        return title
    return SHARED.get(key) or SHARED.get("learning_rate" if key.endswith("_learning_rate") else "", "")


def _value(value: Any) -> str:
    """Show a value as params.yaml has it.

    >>> _value(None), _value([1.0, 2.0]), _value(0.00002)
    ('`null`', '`[1.0, 2.0]`', '`2.0e-05`')
    """
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000).strip().removesuffix("...").strip()
    return f"`{text.replace('|', chr(92) + '|')}`"


def _range(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Say which values a field may have.

    >>> _range({"type": "number", "exclusiveMinimum": 0.0}, {}), _range({"enum": ["a", "b"]}, {})
    ('number > 0', '`a`, `b`')
    """
    field = _resolved(field, definitions)
    if "anyOf" in field or "oneOf" in field:
        return " or ".join(dict.fromkeys(_range(each, definitions) for each in field.get("anyOf") or field["oneOf"]))
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    kind = field.get("type", "")
    if kind == "array":
        return f"list of {_range(field.get('items', {}), definitions)}"
    if kind == "object":
        title = str(field.get("title", ""))
        if any(title in parts for parts in LIST_PARTS.values()):
            return f"keys of {_words(title)}"
        return ", ".join(f"`{key}`" for key in field.get("properties", ())) or "keys and values"
    bounds = ", ".join(f"{sign} {_bound(field[name])}" for name, sign in BOUNDS.items() if name in field)
    pattern = f" like `{field['pattern']}`" if "pattern" in field else ""
    return f"{TYPES.get(kind, kind)} {bounds}".strip() + pattern


def _bound(value: float) -> str:
    return "2³²" if value == 2**32 else f"{value:g}"


def picture() -> str:
    """Draw the graph of dvc.yaml, for the site."""
    return "\n".join(['<div class="graph" markdown="0">', graph(), "</div>"])


def stage_pages() -> str:
    """Describe each stage."""
    parts = []
    for name, stage in stages().items():
        parts += [f"## {name}", "", f"{stage.about}.", "", *stage.lines(), ""]
    return "\n".join(parts)


PAGES = {"command line": command_line, "parameters": parameters, "stages": stage_pages}
