"""All reproduced papers, found in the folders beside this file, in the order of their keys."""

from importlib import import_module
from pathlib import Path

from reproductions.paper import Paper


def papers() -> list[Paper]:
    """Import the module `paper` of each folder that has one, and return its PAPER."""
    names = sorted(path.parent.name for path in Path(__file__).parent.glob("*/paper.py"))
    return [import_module(f"reproductions.{name}.paper").PAPER for name in names]


PAPERS = papers()
