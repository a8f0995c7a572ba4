"""A model's directory, as this library, sentence-transformers or model2vec saved it.

    files.py        the two large files              which threads read
    layout.py       config.json, modules.json        which layers, and whose model it is
    text_source.py  tokenizer.json                   how texts become tokens
    table.py        model.safetensors                the vectors of tokens, and the lexical channel
    dense.py        1_Dense, 2_Dense                 the layers after the sum
    settings.py     config_sentence_transformers.json

All encoders of the same files share one model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from sentence_distillery.encoder.layers import Layer
from sentence_distillery.encoder.model import Model, Table
from sentence_distillery.encoder.native.characters import UNKNOWN_ID
from sentence_distillery.encoder.persistence.files import ModelFiles
from sentence_distillery.encoder.persistence.json_files import REMEDY
from sentence_distillery.encoder.persistence.layout import Layout, read_layout
from sentence_distillery.encoder.persistence.names import CARD, SETTINGS, SHA256, TORCH_TABLE, WEIGHTS
from sentence_distillery.encoder.persistence.settings import read_settings
from sentence_distillery.encoder.persistence.table import read_channel, read_table
from sentence_distillery.encoder.persistence.tensor_file import Digests, TensorFile
from sentence_distillery.encoder.persistence.text_source import Texts, TextSource
from sentence_distillery.io.checksums import check_directory
from sentence_distillery.io.errors import InputError

LARGEST_CARD: Final = 16 * 2**20  # bytes of README.md

_Signature = tuple[object, ...]
_loaded: WeakValueDictionary[_Signature, Model] = WeakValueDictionary()


def shared_model(files: ModelFiles) -> Model:
    """Read a model, unless these files have been read for an encoder that is still there."""
    signature = _signature(files.directory)
    model = _loaded.get(signature)
    if model is None:
        model = _loaded[signature] = read_model(files)
    return model


def _signature(directory: Path) -> _Signature:
    """Identify the files of a model without reading them: two equal signatures are of the same content."""
    names = sorted(path for path in (*directory.glob("*.*"), *directory.glob("*/*.*")) if path.is_file())
    found = ((str(path), path.stat()) for path in names)
    return tuple((name, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns) for name, state in found)


def read_model(files: ModelFiles) -> Model:
    """Read a static model, whichever of the three libraries saved it; arrays are read-only views of its files.

    Raises InputError if a file is missing, broken, not finite or of the wrong shape, or if it is another kind of model.
    """
    directory = files.directory
    check_directory(directory)
    files.begin()
    layout = read_layout(directory)

    # Only this library writes digests. What others wrote into the entry says nothing about these files.
    digests = Digests(directory, layout.config.get(SHA256) if layout.ours else None, files.weights)
    file = digests.open(layout.folder / WEIGHTS)

    # The name of the table decides whose rules for unknown tokens and prompts hold.
    by_model2vec = not layout.ours and TORCH_TABLE not in file.names
    texts, table = _read_table(file, TextSource(layout, by_model2vec, files))
    described = layout.config.get("lexical") if layout.ours else None
    channel, weight, searches = (None, 0.0, None) if described is None else read_channel(file, texts.rows, layout)
    layer = _read_layer(layout, table.dimension, digests)

    # Digests are compared after all files were read, and before anything is computed from them.
    digests.check()
    prompts, truncate_dim = read_settings(directory / SETTINGS, applied=not by_model2vec)
    model = Model(
        texts.tokens,
        table,
        layer,
        channel,
        weight,
        searches,
        truncate_dim,
        prompts,
        layout.made_from,
        _read_card(directory),
        card_is_saved=False,
    )
    if layout.ours:
        layout.check(model)
    return model


def _read_table(file: TensorFile, source: TextSource) -> tuple[Texts, Table]:
    texts, step = source.read(), source.layout.config.get("step")
    table = read_table(file, texts, step)

    # An unknown token with a vector counts, so a look-up that leaves it out would be wrong.
    if texts.tokens.rules is not None or not table.stored[UNKNOWN_ID].any():
        return texts, table
    if source.layout.ours:
        raise InputError(
            f"{file.path}: the unknown token (row 0) has a vector, but that of a student is zero. {REMEDY}"
        )
    return source.by_rules(), table  # in its own library unknown tokens count


def _read_layer(layout: Layout, width: int, digests: Digests) -> Layer | None:
    if layout.layer is None:
        return None
    from sentence_distillery.encoder.persistence.dense import DenseFolders  # most models have no layer

    return layout.layer.load(DenseFolders(layout.directory, layout.denses, digests), width)


def _read_card(directory: Path) -> str | None:
    """Read README.md, in any encoding; a model needs none."""
    path = directory / CARD
    if not path.is_file() or path.stat().st_size > LARGEST_CARD:
        return None
    return path.read_text(encoding="utf-8", errors="replace")
