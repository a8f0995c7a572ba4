"""The generated parts of the reference pages, which docsite.hooks puts into the site.

    command line   from the parser of sentence_distillery.cli
    parameters     from the typed models of stages.params and conf/base.yaml
    stages         from dvc.yaml

`python -m docsite.reference parameters` prints a part, for those who read in a clone.
"""

import argparse
import sys
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import yaml

from docsite.graph import described, picture, stages
from docsite.saved import ROOT
from sentence_distillery import cli
from stages.params import Params, completed, read_params

WIDTH = 80  # of the help of a command
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
TYPES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true, false", "null": "null"}

# Command -> the extras that only some of its options need.
PARTLY = {"compress": "Needs the extra `distill` for `--megabytes`, and `onnx` for `--format onnx`."}

WORDS = {"CrawlInput": "crawl input", "Site": "site", "OwnBenchmark": "own benchmark"}
LIST_PARTS = {"crawl": "CrawlInput", "web": "Site", "benchmarks": "OwnBenchmark"}
SHARED: dict[str, str] = yaml.safe_load((ROOT / "docsite/meanings.yaml").read_text(encoding="utf-8"))


def command_line() -> str:
    """Show the help of each command, and the extra that it needs."""
    parser = cli.parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = []
    for name, (_, _, extra) in cli.commands().items():
        command = commands.choices[name]
        needs = PARTLY.get(name, f"Needs the extra `{extra}`." if extra else "Needs no extra.")
        command.formatter_class = partial(argparse.HelpFormatter, width=WIDTH)
        parts += [f"## {name}", "", needs, "", "```output", command.format_help().rstrip(), "```", ""]
    return "\n".join(parts)


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
    sections: dict[str, Any] = {name: {} for name in schema()["properties"]}
    values = completed(sections | read_params(ROOT / "conf/base.yaml"))
    parts: list[str] = []
    for name, shape in schema()["properties"].items():
        parts += [f"## {name}", "", *_section(name, shape, values.get(name)), ""]
    return "\n".join(parts)


@cache
def schema() -> dict[str, Any]:
    """Return the JSON schema of params.yaml."""
    return Params.model_json_schema()


def _section(name: str, shape: dict[str, Any], value: Any) -> Iterator[str]:
    found = _resolved(shape)
    if text := found.get("description"):
        yield from (text.split("\n\n")[0].replace("\n", " "), "")
    fields = found.get("properties")
    if name == "encoders":
        yield "Encoders by name. Each is a transformer, a function or a file of vectors, with the keys of its kind."
        for kind in ("Teacher", "FunctionTeacher", "VectorTeacher"):
            yield from ("", *_fields(schema()["$defs"][kind]["properties"], {}))
    elif fields is None:
        yield f"{_title(found, name) or 'A name of `encoders`'}: {_value(value)} in `conf/base.yaml`."
    else:
        yield from _fields(fields, value)
    if part := LIST_PARTS.get(name):
        yield from ("", f"Keys of each {WORDS[part]}:", "", *_fields(schema()["$defs"][part]["properties"], {}))


def _fields(fields: dict[str, Any], values: Any) -> Iterator[str]:
    """Yield a table of the keys of a model, with their values if there are any."""
    shown = isinstance(values, dict) and bool(values)
    yield "| parameter | default | range | meaning |" if shown else "| key | range | meaning |"
    yield "| --- | --- | --- | --- |" if shown else "| --- | --- | --- |"
    for key, field in fields.items():
        value = f" {_value(values[key])} |" if shown and key in values else " |" * shown
        yield f"| `{key}` |{value} {cell(_range(field))} | {cell(_title(field, key))} |"


def _resolved(shape: dict[str, Any]) -> dict[str, Any]:
    return schema()["$defs"][shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape


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


def _range(field: dict[str, Any]) -> str:
    """Say which values a field may have.

    >>> _range({"type": "number", "exclusiveMinimum": 0.0}), _range({"enum": ["a", "b"]})
    ('number > 0', '`a`, `b`')
    """
    field = _resolved(field)
    if choices := field.get("anyOf") or field.get("oneOf"):
        return " or ".join(dict.fromkeys(map(_range, choices)))
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    kind = field.get("type", "")
    if kind == "array":
        return f"list of {_range(field.get('items', {}))}"
    if kind == "object":
        title = str(field.get("title", ""))
        if title in WORDS:
            return f"keys of {WORDS[title]}"
        return ", ".join(f"`{key}`" for key in field.get("properties", ())) or "keys and values"
    bounds = ", ".join(f"{sign} {field[name]:,.10g}" for name, sign in BOUNDS.items() if name in field)
    pattern = f" like `{field['pattern']}`" if "pattern" in field else ""
    return f"{TYPES.get(kind, kind)} {bounds}".strip() + pattern


def stage_pages() -> str:
    """Draw the graph, and describe each stage."""
    parts = [picture(), ""]
    for name, entry in stages().items():
        parts += [f"## {name}", "", f"{entry['desc']}.", "", *described(name), ""]
    return "\n".join(parts)


PARTS = {"command line": command_line, "parameters": parameters, "stages": stage_pages}

if __name__ == "__main__":
    print(PARTS[" ".join(sys.argv[1:])]())
