"""Read benchmark sets from the folders that have them."""

from collections.abc import Sequence
from pathlib import Path

from sentence_distillery.evaluation.sets.assembly import write_benchmarks
from sentence_distillery.evaluation.sets.benchmark import Benchmark, Sources
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.evaluation.sets.registry import SUITE
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from stages.benchmarks.download import folders

SUITE_SETS = tuple(name for names in SUITE.values() for name in names)


def folder_of(name: str, directories: Sequence[Path]) -> Path:
    """Return the folder of a set, in one of the directories or in a folder of theirs; raises InputError."""
    places = (place for directory in directories for place in folders(directory, name))
    if found := next((place for place in places if place.is_dir()), None):
        return found
    raise InputError(
        f"{', '.join(map(str, directories))}: the folder {name} is missing; give the directory that has it, or leave "
        f"{name} out."
    )


def file_of(sources: Sequence[Path], folder: str, file: str) -> Path:
    """Find a file in a folder of the directories; raises InputError."""
    places = (place / file for source in sources for place in folders(source, folder))
    if found := next((place for place in places if place.exists()), None):
        return found
    raise InputError(f"{', '.join(map(str, sources))}: {folder}/{file} is missing; give the directory that has it.")


def collected(
    names: Sequence[str], directories: Sequence[Path], target: Path, own: Sequence[Benchmark] = ()
) -> BenchmarkData:
    """Read external sets from folders as `folder_of` finds them, and write them, and own ones, to `target`.

    Next to it `<target>-sets` gets a link to each folder. Raises InputError as `folder_of` and `write_benchmarks` do.
    """
    links = target.with_name(f"{target.name}-sets")
    links.mkdir(parents=True, exist_ok=True)
    for name in names:
        (links / name).unlink(missing_ok=True)
        (links / name).symlink_to(folder_of(name, directories).resolve())
    write_benchmarks(names, Sources(links, links), target, Counters("rows"), own)
    return BenchmarkData(target)
