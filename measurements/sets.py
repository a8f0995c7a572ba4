"""Read benchmark sets from the folders that have them."""

from collections.abc import Sequence
from pathlib import Path

from sentence_distillery.evaluation.sets.assembly import write_benchmarks
from sentence_distillery.evaluation.sets.benchmark import Sources
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from stages.benchmarks.download import folders


def collected(names: Sequence[str], directories: Sequence[Path], target: Path) -> BenchmarkData:
    """Read sets from the folders that have them, and write them to `target`.

    Args:
        names: Names of external sets of `registry.BENCHMARKS`.
        directories: Directories with a folder of each set, or with folders of such folders.
        target: As of `write_benchmarks`; next to it `<target>-sets` gets a link to the folder of each set.

    Raises:
        InputError: If a set has no folder, or as of `write_benchmarks`.
    """
    links = target.with_name(f"{target.name}-sets")
    links.mkdir(parents=True, exist_ok=True)
    for name in names:
        found = [place for directory in directories for place in folders(directory, name) if place.is_dir()]
        if not found:
            places = ", ".join(map(str, directories))
            raise InputError(
                f"{places}: the folder {name} is missing; give the directory that has it, or leave {name} out."
            )
        (links / name).unlink(missing_ok=True)
        (links / name).symlink_to(found[0].resolve())
    write_benchmarks(names, Sources(links, links), target, Counters("rows"))
    return BenchmarkData(target)
