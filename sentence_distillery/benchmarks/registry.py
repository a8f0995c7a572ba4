"""All sets of texts, by name: each module of `sets` has one as its constant `SET`.

Adding a benchmark is adding a module there, and its name to `benchmarks.sets`. A set without tables is text that is not
scored on, such as a training corpus.
"""

from importlib import import_module
from pkgutil import iter_modules

from sentence_distillery.benchmarks import sets
from sentence_distillery.benchmarks.benchmark import Benchmark


def _found() -> list[Benchmark]:
    return [import_module(f"{sets.__name__}.{module.name}").SET for module in iter_modules(sets.__path__)]


SETS: dict[str, Benchmark] = {found.name: found for found in _found()}
BENCHMARKS = {name: found for name, found in SETS.items() if found.tables}
EXTERNAL = tuple(found for found in SETS.values() if found.external)
