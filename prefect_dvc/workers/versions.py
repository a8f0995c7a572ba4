"""The versions of Python, DVC and the packages in pyproject.toml: a worker with others would make another result."""

import re
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PYTHON = "Python"
ALWAYS = (PYTHON, "dvc")
TOOLS = "dev"  # an extra whose packages no stage uses
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def versions(directory: Path) -> dict[str, str]:
    """Return the versions, by name, of Python and of the packages of a project that are installed here.

    The part after a `+` is left out: 2.13.0+cpu and 2.13.0+cu128 differ only in the device.
    """
    return {name: here for name in [*ALWAYS, *_named(directory / "pyproject.toml")] if (here := _here(name))}


def different(caller: Mapping[str, str]) -> list[str]:
    """List the caller's `versions` that are others here; a package that is not here is left to its import."""
    found = {name: _here(name) for name in sorted(caller)}
    others = {name: here for name, here in found.items() if here and here != caller[name]}
    return [f"{name} {caller[name]} at the caller, {here} on the worker" for name, here in others.items()]


def _named(project: Path) -> list[str]:
    """List the packages that a pyproject.toml requires."""
    if not project.exists():
        return []
    content = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {})
    extras = content.get("optional-dependencies", {})
    groups = [content.get("dependencies", []), *(group for name, group in extras.items() if name != TOOLS)]
    found = (NAME.match(requirement) for group in groups for requirement in group)
    return sorted({name[0] for name in found if name} - {content.get("name")})


def _here(name: str) -> str:
    if name == PYTHON:
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        return version(name).partition("+")[0]
    except PackageNotFoundError:
        return ""
