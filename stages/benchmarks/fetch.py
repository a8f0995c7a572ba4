"""Fill data/external with the benchmark data that the user has, or that its public homes still serve."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sentence_distillery.benchmarks.download import copy_from, download, fetch
from sentence_distillery.benchmarks.external import EXTERNAL, EXTERNAL_DIRECTORY
from sentence_distillery.io.artifacts import InputError


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m stages.benchmarks.fetch", description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="directory", type=Path, help="directory that holds <set>/<file>")
    directory = parser.parse_args(arguments).directory
    if directory is not None and not directory.is_dir():
        sys.exit(f"benchmarks: --from {directory} is no directory; give the one that holds stsb/, sick/, ...")
    try:
        reports = fetch(EXTERNAL, EXTERNAL_DIRECTORY, download() if directory is None else copy_from(directory))
    except InputError as error:
        sys.exit(f"benchmarks: {error}")
    if any(report.wrong for report in reports) or not any(report.complete for report in reports):
        sys.exit(1)


if __name__ == "__main__":
    main()
