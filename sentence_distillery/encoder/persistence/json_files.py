"""Read the JSON files of a model, of a bounded size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from sentence_distillery.io.errors import InputError, refuse_pointer

LARGEST_JSON: Final = 500 * 2**20  # bytes of a JSON file; a tokenizer of a million tokens has some 50 million
REMEDY: Final = "Download or copy the model again, or save it again with save_pretrained."


def check_file(path: Path, largest: int | None = None) -> None:
    """Raise InputError for what is there and no file, which may never end, a pointer of Git LFS, or too large a file.

    `largest` is in bytes.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file. {REMEDY}")
    refuse_pointer(path)
    if largest is not None and path.exists() and (size := path.stat().st_size) > largest:
        raise InputError(f"{path} has {size:,} bytes; but this file of a model has at most {largest:,}. {REMEDY}")


def read_json(path: Path) -> Any:
    """Read a JSON file of at most LARGEST_JSON bytes; InputError if it does not exist, is too large or is not JSON."""
    check_file(path, LARGEST_JSON)
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        reason = "it does not exist" if isinstance(error, FileNotFoundError) else str(error)
        raise InputError(f"{path} cannot be read: {reason}. {REMEDY}") from error


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds an object; InputError as `read_json`, and if it holds anything else."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} holds a {type(content).__name__}, expected an object. {REMEDY}")
    return content
