"""Fill data/external with benchmark data, from local directories or from its public addresses.

    python -m stages.benchmarks.fetch --from DIR ...     # copy from DIR/<set>/<file> or DIR/<group>/<set>/<file>
    python -m stages.benchmarks.fetch                    # download

The exit status is 0 if at least one set is complete and no file has a wrong checksum, else 1.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sentence_distillery.evaluation.sets.registry import EXTERNAL
from sentence_distillery.io.artifacts import InputError
from stages import paths
from stages.benchmarks.download import copy_from, download, fetch


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m stages.benchmarks.fetch", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--from", dest="directories", nargs="+", default=[], type=Path, help="directories that hold <set>/<file>"
    )
    directories = parser.parse_args(arguments).directories
    for directory in directories:
        if not directory.is_dir():
            sys.exit(f"benchmarks: --from {directory} is not a directory; name the directory of stsb/, sick/, ...")
    try:
        reports = fetch(EXTERNAL, paths.EXTERNAL, copy_from(*directories) if directories else download())
    except InputError as error:
        sys.exit(f"benchmarks: {error}")
    for report in reports:
        print(report.line())
    if lacking := [report.name for report in reports if not report.complete]:
        print(
            f"To add {', '.join(lacking)}: put the files into <directory>/<set>/, under the names above, and run "
            "`make benchmarks FROM=<directory>`. The pipeline also runs without them, and its report says so."
        )
    if any(report.wrong for report in reports) or not any(report.complete for report in reports):
        sys.exit(1)


if __name__ == "__main__":
    main()
