"""Where a model is: it comes with the library, or is in a directory or on a hub."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

from sentence_distillery.encoder.persistence.names import CONFIG, MODULES, TOKENIZER, WEIGHTS
from sentence_distillery.io.errors import InputError, option

RELEASED: Final = "released"  # the name of a model that comes with the library
RELEASED_SEARCH: Final = "released-search"  # the same one, with its lexical channel
RELEASED_MULTILINGUAL: Final = "released-multilingual"  # one that `make multilingual` builds in a clone
RELEASED_DIRECTORY: Final = Path(__file__).parents[2] / RELEASED
MULTILINGUAL_DIRECTORY: Final = Path(__file__).parents[3] / "models" / "multilingual"
_RELEASES: dict[str | Path, Path] = {
    RELEASED: RELEASED_DIRECTORY,
    RELEASED_SEARCH: RELEASED_DIRECTORY,
    RELEASED_MULTILINGUAL: MULTILINGUAL_DIRECTORY,
}


def model_directory(name: str | Path, revision: str | None = None, token: str | bool | None = None) -> Path:
    """Find the directory of a model by its name, its path or its id on a hub, and download one of a hub.

    `revision` and `token` are those of `from_pretrained`. Raises InputError if there is no such directory or model.
    """
    directory = _RELEASES.get(name, Path(name))  # a Path is a path, whatever its name
    if name in _RELEASES and Path(name).is_dir():
        warnings.warn(f"'{name}' is the included model; give './{name}' for the directory.", stacklevel=2)
    try:
        directory.exists()
    except OSError as error:  # such as too long a name
        raise InputError(f"'{name}' is not a directory: {error.strerror}{_hint()}") from error
    if name == RELEASED_MULTILINGUAL and not directory.exists():
        raise InputError(
            f"'{name}' is not in the package, since it is too large, and not at {directory} either. Run "
            "`make multilingual` in a clone, or give the path of a directory that it wrote."
        )
    if not directory.exists():
        from sentence_distillery.encoder.persistence.hub import download, is_hub_id  # few models are downloaded

        if is_hub_id(str(name)):
            return download(str(name), revision, token)
    if revision is not None:
        raise InputError(
            f"revision {revision!r} is given, but '{name}' is not the id of a model on a hub; leave it out."
        )

    # What is there may be anything.
    if directory.is_dir():
        if not any((directory / file).exists() for file in (CONFIG, MODULES, TOKENIZER, WEIGHTS)):
            raise InputError(f"The directory '{name}' does not hold a model{_hint()}")
        return directory
    if directory.exists():
        raise InputError(f"'{name}' is a file. Name the directory that holds {MODULES}, {TOKENIZER} and {WEIGHTS}.")
    raise InputError(f"'{name}' is not a directory on this machine{_hint()}")


def _hint() -> str:
    own = option(f'load("{RELEASED}")', f"`{RELEASED}`")
    return f". Give the path of a directory that save_pretrained wrote, or {own}."
