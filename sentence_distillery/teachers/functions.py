"""An encoder that is a Python function, such as the Universal Sentence Encoder of paper 3, which is TensorFlow's.

    component_focus:
      functions: {use: "use:embed"}        a function of use.py, next to params.yaml, or of an installed module

    import tensorflow_hub                  use.py
    embed = tensorflow_hub.load("https://tfhub.dev/google/universal-sentence-encoder/4")

It gets a list of texts, some hundreds at a time, and returns a row of numbers for each. Paper 3 identifies it by its
name alone, so its stages do not notice a change of its code.

A teacher that is a function is identified by its name, the source of its module, its vector of one text, and a version
that its user may give. So an edit of the module makes new soft labels, and so does another model behind a method. What
hardly changes that vector does not count: give another version then.
"""

import hashlib
import inspect
import marshal
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import one_line
from sentence_distillery.io.options import Precision
from sentence_distillery.io.ragged import Floats, of_any_length, plain, unit_rows
from sentence_distillery.teachers.options import FunctionTeacher, check_pinned

CHUNK = 512  # texts that a function gets at a time
PROBE = "A storm closed the port."  # what a teacher embeds first, to know its dimension
SHOWN = 80  # characters of a value in a message
SAME = 0.99  # least cosine of two vectors of it

Embed = Callable[[list[str]], Floats]  # texts to (texts, dimension)


@dataclass(frozen=True, eq=False)
class FunctionEncoder:
    """A function as a teacher: `function` checks what the user's one returns.

    `reference` is module:function, `sha256` that of its module, `fingerprint` that of all that identifies its vectors,
    `probe` its vector of PROBE, (dimension,) of unit length, `version` what the user calls this state of it. What it
    reads of a text only the function knows.
    """

    reference: str
    sha256: str
    fingerprint: str
    dimension: int
    function: Embed
    probe: Floats
    version: str | None = None
    maximum_length: None = None

    def vectors(self, texts: list[str], batch_tokens: int, precision: Precision) -> Floats:
        """Embed texts, (texts, dimension) float32 of unit length; the function chooses its batches and precision."""
        vectors = self.function(texts)
        if vectors.shape[1] != self.dimension:
            raise InputError(f"{self.reference} returns vectors of {self.dimension} and of {vectors.shape[1]} numbers.")
        return of_any_length(vectors)


def load_function_encoder(teacher: FunctionTeacher) -> FunctionEncoder:
    """Load a teacher that is a function, and call it.

    Raises InputError if it cannot be imported, or does not return a row of numbers for a text; TeacherError if another
    SHA-256 of the source is pinned.
    """
    found = function_encoder(_resolved(teacher.function), teacher.version, teacher.function)
    check_pinned(teacher, found.sha256, f"The source of {teacher.function} has", "Restore it")
    return found


def function_encoder(function: Callable[..., object], version: str | None, name: str | None = None) -> FunctionEncoder:
    """Make a teacher of a function, and call it twice, with a single text; `name` None takes module:function.

    `version` is what its user calls this state of it. Raises InputError if the function has no source and no version,
    or does not return a row of numbers for a text, the same one each time.
    """
    called = (
        name or f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__name__)}"
    )
    sha256 = _source_hash(function, version, called)
    embed = _checked(function, called)

    # Two calls with one text, before hours of work: they give the dimension, and show whether dropout is on.
    found = embed([PROBE])
    dimension = found.shape[1]
    if dimension == 0:
        raise InputError(f"{called} returns rows without numbers; return a vector for each text.")
    one, again = unit_rows(found), unit_rows(embed([PROBE]))
    if one.shape == again.shape and one.any() and (one * again).sum() < SAME:
        raise InputError(
            f"{called} returns another vector when it gets {PROBE!r} again; switch off its random "
            "parts, such as dropout (model.eval())."
        )

    # Vectors are stored under it, so all that may change them is in it, as far as it can be seen from here.
    fingerprint = hashlib.sha256(f"{called} {sha256} {version} {dimension}".encode()).hexdigest()
    return FunctionEncoder(called, sha256, fingerprint, dimension, embed, one[0].astype(np.float32), version)


def _source_hash(function: Callable[..., object], version: str | None, name: str) -> str:
    """Hash the source of the function's module, or its byte code if it was typed into a session."""
    plain = inspect.unwrap(function)
    plain = getattr(plain, "__func__", plain)
    definition = plain if inspect.isroutine(plain) or inspect.isclass(plain) else type(plain)

    # The whole module, since the function may call others in it.
    try:
        return hashlib.sha256(Path(inspect.getsourcefile(definition) or "").read_bytes()).hexdigest()
    except (OSError, TypeError):  # built in, or of no file
        if (code := getattr(plain, "__code__", None)) is not None:
            return hashlib.sha256(marshal.dumps(code)).hexdigest()
    if version is None:
        raise InputError(
            f"{name} has no source code that shows whether it has changed; wrap it in your own function, or give a "
            "version."
        )
    return hashlib.sha256(version.encode()).hexdigest()


def load_function(reference: str) -> Embed:
    """Load the function `module:name`, of an installed module or one in the working directory.

    Returns a function that is checked at every call: texts to (texts, dimension) float32, finite. Raises InputError if
    it cannot be imported, or fails later.
    """
    checked = _checked(_resolved(reference), reference)
    return lambda texts: checked(texts).astype(np.float32, copy=False)


def _resolved(reference: str) -> Callable[..., object]:
    """Import `module:name`; a command that pip installs does not look into the working directory by itself."""
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # after installed modules, none of which it hides
    try:
        function: Callable[..., object] = pkgutil.resolve_name(reference)
    except (Exception, SystemExit) as error:  # the module is the user's, and may raise anything
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise InputError(
            f"The function {reference} cannot be imported ({reason}); put its module in the working directory, install "
            "it, correct it, or name another one."
        ) from error

    # A module's attribute may be anything.
    if not callable(function):
        shown = one_line(repr(function), SHOWN)
        raise InputError(f"{reference} is {shown}, not a function; name one that takes a list of texts.")
    return function


def _checked(function: Callable[..., object], reference: str) -> Embed:
    """Return the function, called in chunks, with its result checked; its own list and its buffer stay its own."""

    def rows(texts: list[str]) -> Floats:
        given = f"{texts[0][:80]!r} and {len(texts) - 1} more"
        try:
            # A copy of the list, since the function is the user's and may change what it gets.
            vectors = _numbers(function(list(texts)))
        except SystemExit as error:
            status = f"exit status {one_line(error.code)}"
            raise InputError(f"{reference} ends the program on {given}: {status}; let it return.") from error
        except Exception as error:
            reason = f"{type(error).__name__}: {one_line(error)}"
            raise InputError(f"{reference} fails on {given}: {reason}; correct the function.") from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise InputError(f"{reference} returns an array of {vectors.shape} for {len(texts)} texts; a row for each.")
        if not (finite := np.isfinite(vectors).all(axis=1)).all():
            raise InputError(
                f"{reference} returns numbers that are not finite for {texts[int(finite.argmin())][:80]!r}."
            )
        return vectors

    def embed(texts: list[str]) -> Floats:
        if not texts:
            return rows([PROBE])[:0]
        parts = [rows(texts[start : start + CHUNK]) for start in range(0, len(texts), CHUNK)]
        if len(dimensions := {part.shape[1] for part in parts}) > 1:
            raise InputError(f"{reference} returns vectors of {' and of '.join(map(str, sorted(dimensions)))} numbers.")
        return np.concatenate(parts)

    return embed


def _numbers(result: object) -> Floats:
    """Copy what a function has returned, tensors too, into an array of floats, of its own precision or of 32 bits."""
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("it is asynchronous; give one that waits, such as lambda texts: asyncio.run(embed(texts))")

    # Tensors of any library become arrays, so that one check serves all.
    vectors = np.array(plain(result))
    if vectors.dtype == object and vectors.ndim == 2:  # a table of Python's own numbers
        vectors = vectors.astype(np.float64)
    if vectors.dtype.kind not in "fiu":
        kind = type(result).__name__ if vectors.ndim == 0 else f"{type(result).__name__} of {vectors.dtype}"
        raise TypeError(f"it returns {kind}, not numbers")
    return vectors.astype(np.result_type(vectors.dtype, np.float32), copy=False)
