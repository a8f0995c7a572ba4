"""An extension of griffe, by which mkdocstrings reads the docstrings for the site.

A section `Example:` is code, as `Examples:` is. A section `Returns:` begins with the type of the signature, or griffe
would take its text up to a colon for one. A section `Reference:`, which griffe does not know, is a paragraph. A default
that is a name, such as SEED or STUDENT.dimension, is shown by its value.
"""

import re
from functools import cache, reduce
from importlib import import_module
from inspect import signature
from pathlib import Path
from textwrap import dedent
from typing import Any

import griffe

from docsite.saved import ROOT

# The modules of the public interface, whose defaults are shown.
PACKAGE = ROOT / "sentence_distillery"
PUBLIC = [
    "__init__.py",
    "distillation/distill.py",
    "distillation/sizing.py",
    "domain/texts.py",
    "encoder/compression.py",
    "encoder/adapters.py",
    "encoder/precision.py",
    "encoder/similarity.py",
    "encoder/static_encoder.py",
    "evaluation/evaluate.py",
    "evaluation/sets/data.py",
    "evaluation/tasks.py",
    "evaluation/protocols/*.py",
    "training/*.py",
]
EXAMPLE = re.compile(r"^(\s*)Example:$", re.M)
RETURNS = re.compile(r"^(\s*Returns:\n\s*)", re.M)
REFERENCE = re.compile(r"^Reference:\n((?: {4}.*\n?)+)", re.M)


@cache
def public() -> frozenset[Path]:
    """Return the files of the public interface."""
    return frozenset(path for pattern in PUBLIC for path in PACKAGE.glob(pattern))


class Examples(griffe.Extension):
    """Name the sections as griffe does."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a module, class or function that was read."""
        if obj.docstring is None:
            return
        if isinstance(obj, griffe.Function) and obj.filepath in public():
            show_defaults(obj)
        text = REFERENCE.sub(lambda found: "**Reference:**\n\n" + dedent(found[1]), obj.docstring.value)
        text = EXAMPLE.sub(r"\1Examples:", text)
        if isinstance(obj, griffe.Function) and obj.returns is not None:
            text = RETURNS.sub(lambda found: f"{found[1]}{obj.returns}: ", text, count=1)
        obj.docstring.value = text


def show_defaults(function: griffe.Function) -> None:
    """Replace each default that is the name of a number or a string by its value."""
    for parameter in function.parameters:
        if isinstance(parameter.default, griffe.ExprAttribute | griffe.ExprName):
            module: Any = import_module(function.module.path)
            names = function.path.removeprefix(f"{function.module.path}.").split(".")
            value = signature(reduce(getattr, names, module)).parameters[parameter.name].default
            if value is None or isinstance(value, int | float | str):
                parameter.default = repr(value)
