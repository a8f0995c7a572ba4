"""Read benchmark sets from the folders that have them."""

from collections.abc import Sequence
from pathlib import Path

from sentence_distillery.evaluation.sets.assembly import write_benchmarks
from sentence_distillery.evaluation.sets.benchmark import Benchmark, Sources
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from stages.benchmarks.download import folders


def folder_of(name: str, directories: Sequence[Path]) -> Path:
    """Return the folder of a set, in one of the directories or in a folder of theirs; raises InputError."""
    places = (place for directory in directories for place in folders(directory, name))
    if found := next((place for place in places if place.is_dir()), None):
        return found
    raise InputError(
        f"{', '.join(map(str, directories))}: the folder {name} is missing; give the directory that has it, or leave "
        f"{name} out."
    )


def collected(
    names: Sequence[str], directories: Sequence[Path], target: Path, own: Sequence[Benchmark] = ()
) -> BenchmarkData:
    """Read sets from the folders that have them, and write them to `target`.

    `names`: names of external sets of `registry.BENCHMARKS`; `directories`: directories with a folder of each set, or
    with folders of such folders; `target`: as of `write_benchmarks`; next to it `<target>-sets` gets a link to the
    folder of each set. Raises InputError if a set has no folder, or as of `write_benchmarks`.
    """
    links = target.with_name(f"{target.name}-sets")
    links.mkdir(parents=True, exist_ok=True)
    for name in names:
        (links / name).unlink(missing_ok=True)
        (links / name).symlink_to(folder_of(name, directories).resolve())
    write_benchmarks(names, Sources(links, links), target, Counters("rows"), own)
    return BenchmarkData(target)
