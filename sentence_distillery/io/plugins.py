"""Registries whose entries are modules: each module of a package has one entry, as a constant."""

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def entries(package: ModuleType, constant: str, below: str = "") -> list[Any]:
    """Import every module of a package, and return a constant of each, in the order of the modules' names.

    Args:
        package: An imported package.
        constant: The name of the constant that each module has.
        below: If given, the entries are in the modules of this name in those of the package's folders that have one.

    Returns:
        The values of the constant.

    Raises:
        AttributeError: If a module has no such constant.

    Example:
        >>> from sentence_distillery.evaluation.sets import sets
        >>> [benchmark.name for benchmark in entries(sets, "SET")][:2]
        ['captions', 'imdb']
    """
    found = [module for module in iter_modules(package.__path__) if module.ispkg == bool(below)]
    names = [".".join(filter(None, (package.__name__, module.name, below))) for module in found]
    return [getattr(import_module(name), constant) for name in names if not below or find_spec(name)]
