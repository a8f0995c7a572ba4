"""YAML as DVC and the stages read it: by the core schema of version 1.2, in which `no` and 2026-11-21 are texts.

flows/ imports neither the stages nor the library, so this is the reader of their stages/params.py again.
"""

import re
from typing import Any

import yaml

MOST_VALUES = 200_000


class _Loader(yaml.SafeLoader):
    """SafeLoader with other rules for values without quotes."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a key that is there twice, as DVC does: one of both values would be lost."""
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        if twice := [key for row, key in enumerate(keys) if key in keys[:row]]:
            raise yaml.constructor.ConstructorError(None, None, f"{twice[0]} occurs twice", node.start_mark)
        return dict(super().construct_mapping(node, deep))


_Loader.yaml_implicit_resolvers = {}  # without those of YAML 1.1
for _tag, _pattern in (
    ("null", r"~|null|Null|NULL|"),
    ("bool", r"true|True|TRUE|false|False|FALSE"),
    ("int", r"[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)"),
    ("float", r"[-+]?[0-9][0-9_]*(\.[0-9_]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"),
    ("float", r"[-+]?\.[0-9_]+([eE][-+][0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
    ("merge", "<<"),
    ("value", "="),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), None)


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    """Read 0o14, 0x1F, 0b11, 1_000 and 014 as DVC does: 12, 31, 3, 1000 and 14."""
    text = node.value.replace("_", "")
    sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text.removeprefix("+"))
    base = {"0b": 2, "0o": 8, "0x": 16}.get(digits[:2], 10)
    try:
        return int(sign + (digits[2:] if base != 10 else digits), base)
    except ValueError as error:  # thousands of digits, or none
        raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)


def _size(value: Any, seen: tuple[int, ...] = ()) -> int:
    """Count the values below one as often as they are named; raises YAMLError if there are too many, or no end."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) in seen:
        raise yaml.YAMLError("an anchor is named within itself")
    total = 1
    for each in value.values() if isinstance(value, dict) else value:
        total += _size(each, (*seen, id(value)))
        if total > MOST_VALUES:
            raise yaml.YAMLError(f"its anchors expand to more than {MOST_VALUES:,} values")
    return total


def read_yaml(text: str) -> Any:
    """Read a text; one that `yaml.safe_dump` wrote comes back unchanged, since it puts such texts in quotes.

    Raises yaml.YAMLError.

    Example:
        >>> read_yaml("{language: no, since: 2026-11-21, rate: 1e-05}")
        {'language': 'no', 'since': '2026-11-21', 'rate': 1e-05}
    """
    try:
        content = yaml.load(text, _Loader)
        _size(content)
    except RecursionError as error:
        raise yaml.YAMLError("it is nested too deeply") from error
    return content
