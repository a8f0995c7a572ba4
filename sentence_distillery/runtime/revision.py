"""The code and the versions behind a result, so that another machine can tell whether it would compute the same.

Home sends `stamp(function)` with each shard, and the worker refuses it if `differences` finds any:

    {"Python": "3.13", "numpy": "2.4.6", "code of sentence_distillery": "5d0c..."}
"""

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIBRARY = "sentence_distillery"
PYTHON = "Python"
CODE = "code of "
SHOWN = 12  # characters of a hash; no version has more
PACKAGES = (  # another version of one of them may change a sentence, a vector or a tree
    "markdown-it-py",
    "numpy",
    "py3langid",
    "pyarrow",
    "rensa",
    "scikit-learn",
    "scipy",
    "sentence-transformers",
    "sentencex",
    "stanza",
    "tokenizers",
    "torch",
    "transformers",
)


def stamp(function: Callable[..., Any]) -> dict[str, str]:
    """Describe the things here that the result of a function depends on: versions and hashes by name.

    >>> sorted(stamp(print))[:2]
    ['Python', 'code of sentence_distillery']
    """
    while isinstance(function, partial):
        function = function.func
    module = getattr(function, "__module__", None) or type(function).__module__
    names = [PYTHON, *PACKAGES, f"{CODE}{LIBRARY}", *[f"{CODE}{module}"] * (not module.startswith(f"{LIBRARY}."))]

    return {name: value for name in names if (value := _here(name))}


def differences(home: Mapping[str, str]) -> list[str]:
    """List the entries of a stamp made elsewhere that differ here.

    A package that is missing here is not one of them: the function need not use it, and if it does, its import fails.

    >>> differences({"Python": "2.7"})  # doctest: +ELLIPSIS
    ['Python 2.7 at home, 3... on the worker']
    """
    found = {name: _here(name) for name in home}
    return [
        f"{name} {home[name][:SHOWN]} at home, {here[:SHOWN]} on the worker"
        for name, here in found.items()
        if here and here != home[name]
    ]


@cache  # of the first use: a file that changes later is not the code that this process runs
def _here(name: str) -> str:
    """Return the version or the hash of `name` in this process; empty if it is not there."""
    if name == PYTHON:
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    if name.startswith(CODE):
        return _hash(name.removeprefix(CODE))
    try:
        return version(name).partition("+")[0]  # 2.13.0+cpu and 2.13.0+cu128 are the same code on another device
    except PackageNotFoundError:
        return ""


def _hash(module: str) -> str:
    """Hash the Python files of a module or a package; empty if it has none, as those built into Python."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        return ""
    origin, digest = Path(spec.origin), hashlib.sha256()
    for file in sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]:
        digest.update(f"{file.relative_to(origin.parent).as_posix()}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
