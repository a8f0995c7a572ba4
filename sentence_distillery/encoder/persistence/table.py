"""The table of token vectors and the lexical channel, in the file of weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.lexical import (
    GREATEST_DIMENSION,
    GREATEST_WEIGHT,
    PLACES,
    WEIGHT_RANGE,
    LexicalChannel,
    Weight,
    as_weight,
    is_dimension,
    is_weight,
    weight_of_long,
)
from sentence_distillery.encoder.model import NO_LEVEL, Table
from sentence_distillery.encoder.native.characters import UNKNOWN_ID
from sentence_distillery.encoder.persistence.json_files import REMEDY
from sentence_distillery.encoder.persistence.layout import Layout
from sentence_distillery.encoder.persistence.names import FACTORS, IDF, ROWS, STEMS, TABLE, TORCH_TABLE
from sentence_distillery.encoder.persistence.tensor_file import NUMBERS, TensorFile
from sentence_distillery.encoder.persistence.text_source import Texts
from sentence_distillery.io.errors import InputError


def read_table(file: TensorFile, texts: Texts, step: Any) -> Table:
    """Read the table, a read-only view of the file, with a row for each token of `texts`.

    `step` is what config.json has for the step between levels. Raises InputError if the table is missing, empty or not
    finite, has too few rows, or values that are not levels.
    """
    name = TORCH_TABLE if TORCH_TABLE in file.names else TABLE
    rows = texts.rows if texts.exactly and ROWS not in file.names else None
    stored = file.tensors({name: (rows, None)})[name]
    if 0 in stored.shape:
        raise InputError(f"{file.path}: tensor '{name}' has shape {stored.shape}, without a value. {REMEDY}")
    if name == TABLE:  # sentence-transformers reads no other tensor beside its own
        stored = _folded(file, stored, texts)
    if len(stored) < texts.rows:
        raise InputError(
            f"{file.path} has {len(stored)} token vectors, and the tokenizer ids up to {texts.rows}. {REMEDY}"
        )

    # Another library may have stored the levels again, without their step.
    known = isinstance(step, int | float) and not isinstance(step, bool) and 0 < step < np.inf
    table = Table(stored, step if known and stored.dtype == np.float16 else None)
    if table.step is None:
        check_finite(file.path, name, stored)
    elif (table.summed == NO_LEVEL).any():
        raise InputError(
            f"{file.path}: tensor '{name}' has values other than the levels of int8 in steps of {step}. {REMEDY}"
        )
    return table


def _folded(file: TensorFile, table: NDArray[Any], texts: Texts) -> NDArray[Any]:
    """Expand the table to one row per token: in model2vec tokens may share rows, and each token has a factor.

    Factors of 1 are what this library writes, so that sentence-transformers computes in float32: the table stays.
    """
    if ROWS in file.names:
        places = file.tensors({ROWS: (texts.rows if texts.exactly else None,)}, NUMBERS)[ROWS]
        if not np.issubdtype(places.dtype, np.integer):
            raise InputError(f"{file.path}: tensor '{ROWS}' is {places.dtype}, not of whole numbers. {REMEDY}")

        # Checked before it is used: NumPy would read a negative row from the end.
        if places.min(initial=0) < 0 or places.max(initial=0) >= len(table):
            raise InputError(
                f"{file.path}: tensor '{ROWS}' points outside the {len(table)} rows of the table. {REMEDY}"
            )
        table = table[places]
        if texts.tokens.known is not None:  # model2vec ignores unknown tokens, although their row has a vector
            table[UNKNOWN_ID] = 0
    if FACTORS in file.names:
        factors = file.tensors({FACTORS: (len(table),)}, NUMBERS)[FACTORS]
        if not (factors == 1).all():
            table = table.astype(np.float32) * factors.astype(np.float32)[:, None]
    return table


def read_channel(file: TensorFile, rows: int, layout: Layout) -> tuple[LexicalChannel, Weight, float | None]:
    """Read the lexical channel that config.json describes, its weight, and that of searches."""
    described = layout.config["lexical"]
    found: Mapping[str, Any] = described if isinstance(described, dict) else {}
    dimension, weight, searches = (found.get(key) for key in ("dimension", "weight", "search_weight"))
    if not is_dimension(dimension):
        wanted = f"a multiple of {PLACES} up to {GREATEST_DIMENSION:,}"
        raise layout.refused("the dimension of lexical", f"{dimension!r}; it is {wanted}")
    if not is_weight(weight):
        raise layout.refused("the weight of lexical", f"{weight!r}; it is {WEIGHT_RANGE}")
    if searches is not None and (isinstance(searches, list) or not is_weight(searches)):
        raise layout.refused(
            "the search_weight of lexical", f"{searches!r}; it is a number from 0 to {GREATEST_WEIGHT:,.0f}"
        )

    # The tensors are as long as the table, since each token has a stem.
    tensors = file.tensors({STEMS: (rows,), IDF: (rows,)})
    stems, idf = tensors[STEMS], tensors[IDF]
    if stems.dtype != np.int32 or idf.dtype != np.float32 or not (idf >= 0).all() or not np.isfinite(idf).all():
        raise InputError(
            f"{file.path}: '{STEMS}' are int32 and '{IDF}' float32 from 0, but here they are not. {REMEDY}"
        )
    of_searches = None if searches is None else weight_of_long(as_weight(searches))
    return LexicalChannel(stems, idf, dimension), as_weight(weight), of_searches


def check_finite(path: Path, name: str, array: NDArray[Any]) -> None:
    """Raise InputError unless all values are finite: first their sum is tried, which needs no copy."""
    with np.errstate(invalid="ignore", over="ignore"):
        finite = array.dtype == np.int8 or np.isfinite(array.sum(dtype=np.float32)) or np.isfinite(array).all()
    if not finite:
        raise InputError(f"{path}: tensor '{name}' is not finite. {REMEDY}")
