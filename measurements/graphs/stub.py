"""A stage's command in place of the real one: writes each output from the content of all that it reads.

    stub.py SPEC --note TEXT [--deps PATH...] [--params FILE...] [--outs PATH...]

Paths are relative to the working directory, as in dvc.yaml. SPEC is a JSON file: for each output, by its path from the
top of the DVC repository, the files to write in it, or none if it is a file itself. The same inputs give the same
bytes. TEXT is the real command, which counts as an input. Needs nothing but Python.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

IN_A_NEW_DIRECTORY = ["part-0.txt", "sub/part-1.txt"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("spec", type=Path)
    for kind in ("deps", "params", "outs"):
        parser.add_argument(f"--{kind}", nargs="*", default=[])
    parser.add_argument("--note", required=True)
    options = parser.parse_args()
    digest = read(options.note, options.params, options.deps)
    spec = json.loads(options.spec.read_text(encoding="utf-8"))
    for path in options.outs:
        if "://" not in path:
            write(Path(path), digest, spec.get(os.path.relpath(path, top())))
    print(f"stub: {len(options.outs)} outputs")


def top() -> Path:
    """Return the directory with `.dvc`: this one or one above."""
    here = Path.cwd()
    return next((place for place in (here, *here.parents) if (place / ".dvc").is_dir()), here)


def read(note: str, parameters: list[str], dependencies: list[str]) -> str:
    """Return a digest of all inputs; a missing dependency is an error, as it is for a real command."""
    digest = hashlib.sha256(note.encode())
    for name in parameters:
        if Path(name).is_file():
            digest.update(Path(name).read_bytes())
    for name in dependencies:
        place = Path(name.partition("#")[0])
        if "://" in name:
            digest.update(name.encode())
        elif not place.exists():
            sys.exit(f"stub: {name} is missing in {Path.cwd()}")
        for file in files(place):
            digest.update(os.path.relpath(file, place).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def files(place: Path) -> Iterator[Path]:
    """Yield the files of a path, without git's own (a real command does not read a .gitignore)."""
    found = sorted(place.rglob("*")) if place.is_dir() else [place]
    yield from (file for file in found if file.is_file() and not file.name.startswith(".git"))


def write(place: Path, digest: str, inside: list[str] | None) -> None:
    """Write an output; if SPEC does not know it, its name tells whether it is a directory."""
    if inside is None:
        inside = [] if place.suffix else IN_A_NEW_DIRECTORY
    if not inside:
        write_file(place, digest, place.as_posix())
    for name in inside:
        write_file(place / name, digest, name)


def write_file(file: Path, digest: str, salt: str) -> None:
    """Replace a file by one of the form that its name promises, since DVC reads metrics and plots."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = hashlib.sha256(f"{digest} {salt}".encode()).hexdigest()
    number = int(text[:4], 16)
    table = f"step,value\n0,{number}\n1,{number + 1}\n"
    forms = {
        ".json": json.dumps({"value": number, "nested": {"part": number / 7}}),
        **dict.fromkeys((".yaml", ".yml"), f"value: {number}\n"),
        **{".csv": table, ".tsv": table.replace(",", "\t")},
    }
    file.unlink(missing_ok=True)  # it can be a link to DVC's cache
    file.write_text(forms.get(file.suffix, f"{text}\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
