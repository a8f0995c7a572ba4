"""All reproduced papers, found in the folders of `papers`, in the order of their keys."""

from importlib import import_module
from pkgutil import iter_modules

from sentence_distillery import papers
from sentence_distillery.papers.paper import Paper

PAPERS: tuple[Paper, ...] = tuple(
    import_module(f"{papers.__name__}.{module.name}.paper").PAPER
    for module in iter_modules(papers.__path__)
    if module.ispkg
)
