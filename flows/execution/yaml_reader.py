"""YAML as DVC and the stages read it: by the core schema of version 1.2, in which `no` and 2026-11-21 are texts.

flows/ imports neither the stages nor the library, so this is the reader of their stages/params.py again.
"""

import re
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """SafeLoader with other rules for values without quotes."""


_Loader.yaml_implicit_resolvers = {}  # without those of YAML 1.1
for _tag, _pattern in (
    ("null", r"~|null|Null|NULL|"),
    ("bool", r"true|True|TRUE|false|False|FALSE"),
    ("int", r"[-+]?(0|[1-9][0-9]*)"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), None)


def read_yaml(text: str) -> Any:
    """Read a text; what `yaml.safe_dump` writes comes back as it was, since it puts such texts in quotes.

    Raises yaml.YAMLError.

    Example:
        >>> read_yaml("{language: no, since: 2026-11-21, rate: 1e-05}")
        {'language': 'no', 'since': '2026-11-21', 'rate': 1e-05}
    """
    return yaml.load(text, _Loader)
