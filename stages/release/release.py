"""The student that ships: `make release` after `dvc exp run -S profile=best` writes models/released."""

import sys

from sentence_distillery.encoder.static_encoder import CONFIG
from sentence_distillery.io.artifacts import InputError, read_json
from sentence_distillery.release.pareto import RELEASED, megabytes
from sentence_distillery.release.release import release


def main() -> None:
    try:
        figures = release()
    except InputError as error:
        sys.exit(f"release: {error}")
    print(f"{RELEASED}: {megabytes(RELEASED)} MB, {read_json(RELEASED / CONFIG)['dimension']} dimensions")
    for name, value in figures.items():
        print(f"{name:24} {100 * value:6.2f}")


if __name__ == "__main__":
    main()
