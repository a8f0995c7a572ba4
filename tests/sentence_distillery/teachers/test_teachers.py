"""Teachers that are functions, and those that are files of vectors."""

import hashlib
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.teachers.functions import (
    CHUNK,
    FunctionEncoder,
    function_encoder,
    load_function,
    load_function_encoder,
)
from sentence_distillery.teachers.options import FunctionTeacher, TeacherError, VectorTeacher
from sentence_distillery.teachers.teachers import load_teacher, refuse_unfit
from sentence_distillery.teachers.vectors import VectorTable, load_vectors

MODULE = "def embed(texts):\n    return [[len(text), 1.0] for text in texts]\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module in the working directory, which is not on Python's path, as after `pip install`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    monkeypatch.delitem(sys.modules, "own_teacher", raising=False)
    (tmp_path / "own_teacher.py").write_text(MODULE)
    return tmp_path / "own_teacher.py"


def a_function(version: str | None = None, sha256: str | None = None) -> FunctionTeacher:
    return FunctionTeacher(function="own_teacher:embed", version=version, sha256=sha256)


def loaded(monkeypatch: pytest.MonkeyPatch, version: str | None = None) -> FunctionEncoder:
    """Load the function as another process would."""
    monkeypatch.delitem(sys.modules, "own_teacher", raising=False)
    return load_function_encoder(a_function(version))


def test_a_function(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is another teacher after a change of its module or its version, and only then."""
    first = loaded(monkeypatch)
    assert (first.reference, first.dimension, first.maximum_length) == ("own_teacher:embed", 2, None)
    assert first.sha256 == hashlib.sha256(MODULE.encode()).hexdigest()
    np.testing.assert_allclose(first.vectors(["storm", "port"], 512, "float32"), unit([[5, 1], [4, 1]]), rtol=1e-6)
    assert loaded(monkeypatch).fingerprint == first.fingerprint
    second = loaded(monkeypatch, "2")
    module.write_text(MODULE + "\nmodel = 'another'\n")
    third = loaded(monkeypatch)
    assert len({each.fingerprint for each in (first, second, third)}) == 3


def test_a_function_whose_source_is_pinned(module: Path) -> None:
    right = hashlib.sha256(MODULE.encode()).hexdigest()
    refuse_unfit(a_function(sha256=right))
    refuse_unfit(a_function(sha256=right.upper()))
    with pytest.raises(TeacherError, match=f"own_teacher:embed has the SHA-256 {right}, but 00 is pinned") as caught:
        refuse_unfit(a_function(sha256="00"))
    assert (caught.value.field, caught.value.value) == ("sha256", "00")


def unit(rows: list[list[float]]) -> NDArray[np.float64]:
    return np.array([[number / max(math.hypot(*row), 1) for number in row] for row in rows])


def lengths(texts: list[str]) -> NDArray[np.float64]:
    return np.array([[len(text), 1.0] for text in texts])


class Model:
    """Has a method like that of an encoder."""

    def encode(self, texts: list[str]) -> NDArray[np.float64]:
        return lengths(texts)

    __call__ = encode


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lengths, ":lengths"),
        (Model().encode, ":Model.encode"),
        (Model(), ":Model"),
        (lambda texts: lengths(texts), "<la"),
    ],
)
def test_functions_themselves(function: Callable[[list[str]], Any], name: str) -> None:
    found = function_encoder(function, None)
    assert name in found.reference
    assert found.sha256 == hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    np.testing.assert_allclose(found.vectors(["storm"], 512, "float32"), unit([[5, 1]]), rtol=1e-6)


def test_a_function_of_a_session() -> None:
    """Its byte code stands for the source that no file has."""
    spaces: list[dict[str, Any]] = [{}, {}, {}]
    for space, number in zip(spaces, (1, 1, 2), strict=True):
        exec(f"def embed(texts):\n    return [[{number}.0] for _ in texts]", space)
    one, same, other = (function_encoder(space["embed"], None).fingerprint for space in spaces)
    assert one == same != other
    with pytest.raises(InputError, match="has no source code that shows whether it has changed; wrap it"):
        function_encoder(list, None)


def test_a_module_that_is_no_function(module: Path) -> None:
    module.write_text("embed = 1\n")
    with pytest.raises(InputError, match="own_teacher:embed is 1, not a function"):
        refuse_unfit(a_function())


def test_an_array_that_is_no_function(module: Path) -> None:
    module.write_text("import numpy\nembed = numpy.zeros((9, 9))\n")
    with pytest.raises(InputError, match=r"own_teacher:embed is array\(.*…, not a function; name one") as told:
        refuse_unfit(a_function())
    assert "\n" not in str(told.value)


def test_a_module_that_does_not_run(module: Path) -> None:
    module.write_text("embed = undefined\n")
    with pytest.raises(InputError, match=r"cannot be imported \(NameError: name 'undefined' is not defined\); put"):
        refuse_unfit(a_function())


@pytest.mark.parametrize("name", ["own_teacher:embedd", "no_such_encoder:embed"])
def test_a_function_that_is_not_there(name: str, module: Path) -> None:
    with pytest.raises(InputError, match=f"The function {name} cannot be imported .*; put its module in the working"):
        load_function(name)


def test_rows_keep_their_order_over_chunks(module: Path) -> None:
    body = "calls.append(len(texts)) or [[float(text), 1] for text in texts]"
    module.write_text(f"calls = []\n\ndef embed(texts):\n    return {body}\n")
    texts = [str(number) for number in range(2 * CHUNK + 3)]
    found = load_function("own_teacher:embed")(texts)
    assert found.dtype == np.float32
    assert found.tolist() == [[float(text), 1.0] for text in texts]
    assert sys.modules["own_teacher"].calls == [CHUNK, CHUNK, 3]


def write(path: Path, texts: list[Any], vectors: list[Any], kind: pa.DataType | None = None) -> VectorTeacher:
    columns = [pa.array(texts), pa.array(vectors, kind or pa.list_(pa.float32()))]
    pq.write_table(pa.table(columns, names=["text", "vector"]), path)
    return VectorTeacher(vectors=str(path), sha256=None)


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float16()), pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 2)]
)
def test_a_file_of_vectors(kind: pa.DataType, tmp_path: Path) -> None:
    rows = (
        [np.array([1, 2], np.float16), np.array([3, 4], np.float16)]
        if kind.value_type == pa.float16()
        else [[1, 2], [3, 4]]
    )
    teacher = write(tmp_path / "vectors.parquet", ["The storm.", "port"], rows, kind)
    refuse_unfit(teacher)
    found = load_teacher(teacher)
    assert isinstance(found, VectorTable)
    assert (found.dimension, found.maximum_length) == (2, None)
    assert found.fingerprint == hashlib.sha256((tmp_path / "vectors.parquet").read_bytes()).hexdigest()
    vectors = found.vectors(["port", "gale", " The  storm. "], 512, "float32")
    np.testing.assert_allclose(vectors, unit([[3, 4], [0, 0], [1, 2]]), atol=1e-3)
    assert found.absent(["port", "gale"]) == ["gale"]


def test_a_text_that_is_there_twice(tmp_path: Path) -> None:
    found = load_vectors(write(tmp_path / "vectors.parquet", ["port", "port "], [[1, 2], [1, 2.01]]))
    np.testing.assert_allclose(found.vectors(["port"], 512, "float32"), unit([[1, 2]]), atol=1e-3)
    with pytest.raises(InputError, match="rows 1 and 2 have one text and different vectors; keep one"):
        load_vectors(write(tmp_path / "vectors.parquet", ["port", "port "], [[1, 2], [3, 4]]))


@pytest.mark.parametrize(
    ("texts", "vectors", "problem"),
    [
        (["a", "b"], [[1, 2], [1]], "rows from 1: the vector of 'b' has 1 numbers, but the first one here has 2"),
        (["a" * 61, "b"], [None, [1]], rf"rows from 1: the vector of '{'a' * 60}\.\.\.' is null; leave the row out"),
        (["a", "b"], [[1], None], "rows from 1: the vector of 'b' is null; leave the row out"),
        (["a", "b"], [[1], [None]], "rows from 1: the vector of 'b' has a number that is not finite"),
        (["a"], [[]], "the vector of 'a' has 0 numbers; leave the row out"),
        (["a", None], [[1], [1]], "row 2: the text is null"),
        ([1], [[1]], "the column 'text' holds int64, expected strings"),
        (["a"], ["b"], "the column 'vector' holds string, expected lists of floating-point numbers"),
    ],
)
def test_a_file_that_does_not_hold_vectors(texts: list[Any], vectors: list[Any], problem: str, tmp_path: Path) -> None:
    kind = pa.string() if vectors == ["b"] else None
    with pytest.raises(InputError, match=problem):
        load_vectors(write(tmp_path / "vectors.parquet", texts, vectors, kind))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "vectors.parquet"
    with pytest.raises(TeacherError, match=r"vectors\.parquet is not a file; name a Parquet file with the columns"):
        refuse_unfit(VectorTeacher(vectors=str(path), sha256=None))
    path.write_text("text,vector")
    with pytest.raises(InputError, match=r"vectors\.parquet cannot be read as Parquet"):
        refuse_unfit(VectorTeacher(vectors=str(path), sha256=None))
    pq.write_table(pa.table({"text": ["a"], "embedding": [[1.0]]}), path)
    with pytest.raises(InputError, match=r"no column 'vector' \(it has text, embedding\); rename a column"):
        refuse_unfit(VectorTeacher(vectors=str(path), sha256=None))
    pq.write_table(pa.table([["a"], [[1.0]], [[1.0]]], names=["text", "vector", "vector"]), path)
    with pytest.raises(InputError, match="has the column 'vector' 2 times; rename or remove all but one"):
        refuse_unfit(VectorTeacher(vectors=str(path), sha256=None))
    damaged = write(path, ["a"], [[1]])
    path.write_bytes(b"PAR1" + bytes(20) + path.read_bytes()[24:])
    with pytest.raises(InputError, match=r"vectors\.parquet cannot be read as Parquet: .*\. Restore or rebuild it\.$"):
        load_vectors(damaged)
    write(path, ["a"], [[1]])
    with pytest.raises(TeacherError, match="but 00 is pinned"):
        refuse_unfit(VectorTeacher(vectors=str(path), sha256="00"))
