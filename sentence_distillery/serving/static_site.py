"""A folder of static files that explores texts without a server: `explore --static`.

    index.html page.css page.js     the page that the server has, too
    encoder.js                      the encoder in JavaScript, see javascript/README.md
    answers.js                      answers in the page what the server answers
    data-<digest>/                  model, texts, vectors in int8 and the map, in parts

Any web server can serve it, and a browser opens it from a disk or a file share. Such a page may load scripts alone, so
all data are scripts in base64, one for each MEGABYTE.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.persistence.names import CONFIG, SETTINGS, TOKENIZER, WEIGHTS
from sentence_distillery.encoder.persistence.writing import save_model
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError, atomic_directory, check_target
from sentence_distillery.io.ragged import Floats
from sentence_distillery.serving.app import CANDIDATES, NEIGHBOURS, OTHERS, SHOWN, TITLE, VALUE, cut, facts
from sentence_distillery.serving.collection import NEAR, Collection
from sentence_distillery.serving.map import draw

LIMIT: Final = 20_000  # texts
MEGABYTE: Final = 2**20
ENCODER: Final = "encoder.js"
EXPORTS: Final = "export { Encoder, load, similarity };"  # the last line of the encoder's file
PAGE: Final = ("page.css", "page.js", "answers.js")
SCRIPT: Final = '<script src="page.js" type="module"></script>'
POLICY: Final = "connect-src 'none'; form-action 'none'; object-src 'none'; base-uri 'none'"
_LEVELS: Final = 127


@dataclass
class Data:
    """The data of a folder, in parts: the content of each script, by its name."""

    scripts: dict[str, str] = field(default_factory=dict)
    files: dict[str, tuple[int, int]] = field(default_factory=dict)  # how many parts, and bytes in all

    def add(self, name: str, content: bytes) -> None:
        """Cut a file into parts."""
        parts = [content[start : start + MEGABYTE] for start in range(0, len(content), MEGABYTE)]
        for number, part in enumerate(parts):
            self._add_script(f"{name}.{number}", part)
        self.files[name] = len(parts), len(content)

    def finish(self, about: Mapping[str, object]) -> str:
        """Add what the page reads first, and return a digest of all."""
        self._add_script("about.json", _json({**about, "files": self.files}))
        content = "".join(self.scripts[name] for name in sorted(self.scripts))
        return sha256(content.encode()).hexdigest()[:12]

    def _add_script(self, name: str, content: bytes) -> None:
        self.scripts[name] = f"part({json.dumps(name)}, {json.dumps(base64.b64encode(content).decode())});\n"


def write_site(collection: Collection, name: str, directory: Path) -> int:
    """Write the folder, whole or not at all, and return the bytes of all files.

    Raises InputError if the student is one that JavaScript does not compute, the directory holds anything else or
    cannot be written, or the encoder in JavaScript is not there.
    """
    check_encoder(collection.encoder)
    check_directory(directory)

    # What may be missing or refused comes first; then everything is gathered, and the folder is written as a whole.
    script = encoder_script()
    data = Data()
    for file, content in _model(collection.encoder):
        data.add(file, content)
    data.add("collection.json", _json(_content(collection)))
    data.add("student", as_bytes(collection.vectors).tobytes())
    if collection.teacher is not None:
        data.add("teacher", as_bytes(collection.teacher).tobytes())

    # Named by its content, so that a browser never mixes an old file from its cache with new ones.
    folder = f"data-{data.finish(_about(collection, name))}"

    with atomic_directory(directory) as partial:
        (partial / folder).mkdir()
        for part, text in data.scripts.items():
            (partial / folder / f"{part}.js").write_text(text, encoding="ascii")
        (partial / ENCODER).write_text(script, encoding="utf-8")
        for file in PAGE:
            (partial / file).write_text(_of_page(file), encoding="utf-8")
        (partial / "index.html").write_text(index(folder), encoding="utf-8")
        return sum(path.stat().st_size for path in partial.rglob("*") if path.is_file())


def check_encoder(encoder: StaticEncoder) -> None:
    """Raise InputError for a student that JavaScript does not compute."""
    if encoder.kind in ("paper", "deep"):
        raise InputError(
            f"--static computes students without layers after the mean, and this one is of kind {encoder.kind}. Leave "
            "--static out, and the server shows the same page."
        )
    if encoder.rules is not None:
        raise InputError(
            "--static reads the tokenizers that this library makes, and this model has that of another library. Leave "
            "--static out, and the server shows the same page."
        )


def check_directory(directory: Path) -> None:
    """Raise InputError if a directory holds anything but a folder of this kind: it is replaced as a whole."""
    check_target(directory)
    if not directory.exists():
        return
    if not directory.is_dir():
        raise InputError(f"{directory} is a file; name a directory to write the page to.")

    # It is replaced as a whole, so nothing of the user's may be in it.
    known = {"index.html", ENCODER, *PAGE}
    for entry in sorted(directory.iterdir()):
        if entry.name not in known and not (entry.is_dir() and entry.name.startswith("data-")):
            raise InputError(
                f"{directory} holds '{entry.name}', which is not part of such a page, and --static replaces the whole "
                "directory. Name a new directory, or an empty one."
            )


def encoder_script() -> str:
    """Return the encoder as a classic script: a page that is opened from a disk loads no modules."""
    try:
        module = _of_page(ENCODER)
    except FileNotFoundError as error:
        raise InputError(
            "The encoder in JavaScript is not in this installation, and --static needs it. Install a wheel that has "
            "it, or in a clone run `make javascript`."
        ) from error
    assert module.rstrip().endswith(EXPORTS)
    return f"(() => {{\n{module.rstrip().removesuffix(EXPORTS)}\nglobalThis.sentenceDistillery = {{ load }};\n}})();\n"


def index(folder: str) -> str:
    """Return the page with the scripts of a folder of static files, and a policy that forbids to send anything."""
    page = _of_page("page.html")
    scripts = "\n  ".join(f'<script src="{file}" defer></script>' for file in (ENCODER, "answers.js", "page.js"))
    metas = f'<meta name="data" content="{folder}">\n  <meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    assert SCRIPT in page
    return page.replace(SCRIPT, f"{metas}\n  {scripts}")


def as_bytes(vectors: Floats) -> NDArray[np.int8]:
    """Store each vector in int8, its largest number as 127 or -127; the page computes with its direction alone.

    >>> as_bytes(np.array([[0.5, -1.0], [0, 0]], np.float32)).tolist()
    [[64, -127], [0, 0]]
    """
    peaks = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    return np.rint(vectors * (_LEVELS / np.where(peaks > 0, peaks, 1))).astype(np.int8)


def _model(encoder: StaticEncoder) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the model that JavaScript reads."""
    with TemporaryDirectory() as directory:
        save_model(encoder.for_search, Path(directory) / "model", None)  # the page encodes queries alone
        for name in (CONFIG, SETTINGS, TOKENIZER, WEIGHTS):
            yield name, (Path(directory) / "model" / name).read_bytes()


def _about(collection: Collection, name: str) -> dict[str, object]:
    choices = {
        column: list(dict.fromkeys(cut(value, VALUE) for value in values))
        for column, values in collection.choices.items()
    }
    limits = {"near": NEAR, "neighbours": NEIGHBOURS, "candidates": CANDIDATES, "others": OTHERS, "title": TITLE}
    return facts(collection, name) | {"columns": choices, "limits": limits}


def _content(collection: Collection) -> dict[str, object]:
    """Return texts and columns as the page shows them, and the map with a place for each text."""
    drawn = draw(collection.vectors)
    return {
        "texts": [cut(text, SHOWN) for text in collection.texts],
        "columns": {name: [cut(value, VALUE) for value in values] for name, values in collection.columns.items()},
        "map": {
            "drawn": drawn.drawn.tolist(),
            "places": [drawn.place(row) for row in range(len(collection.texts))],
            "method": drawn.method,
            "kept": drawn.kept,
        },
    }


def _json(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def _of_page(name: str) -> str:
    return (resources.files(__package__) / "page" / name).read_text(encoding="utf-8")
