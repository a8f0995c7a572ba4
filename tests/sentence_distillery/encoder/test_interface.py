"""The encoder as its users call it: inputs, outputs and refusals."""

import asyncio
import copy
import doctest
import importlib
import pickle
import re
import shutil
import sys
import tracemalloc
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import quantize_embeddings as reference_quantization
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sentence_distillery
from sentence_distillery import StaticEncoder, load, quantize_embeddings
from sentence_distillery.encoder.compression import Precision as Stored
from sentence_distillery.encoder.compression import compress
from sentence_distillery.encoder.precision import PRECISIONS, Precision
from sentence_distillery.encoder.similarity import similarity, similarity_pairwise
from sentence_distillery.io.artifacts import InputError
from tests.sentence_distillery.distillation.conftest import (
    deep_encoder,
    files,
    in_python,
    paper_encoder,
    static_encoder,
)

from .test_encoder import ODD

TEXTS = ["Storm: port!", "the storm closed", "", "cafe x ½", "unknowns 2024 港", "?!"]
MODULES = [
    "sentence_distillery",
    *(
        f"sentence_distillery.{'.'.join(path.relative_to(sentence_distillery.__path__[0]).with_suffix('').parts)}"
        for path in Path(sentence_distillery.__path__[0], "encoder").rglob("*.py")
    ),
]


@pytest.fixture(params=["static", "deep", "paper"])
def encoder(request: pytest.FixtureRequest) -> StaticEncoder:
    """A small student of each kind."""
    return {"static": static_encoder, "deep": deep_encoder, "paper": paper_encoder}[str(request.param)]()


def lines(count: int) -> Iterator[str]:
    words = ["storm", "port", "closed", "the", "unknowns", "cafe"]
    return (f"{words[n % 6]} {words[n % 5]} {n}" for n in range(count))


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    """Each example in the documentation runs with the output shown there."""
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert outcome.failed == 0


def test_containers_of_texts(encoder: StaticEncoder) -> None:
    expected = encoder.encode(TEXTS)
    assert expected.shape == (len(TEXTS), encoder.dimension) and expected.dtype == np.float32
    containers: list[Any] = [
        tuple(TEXTS),
        iter(TEXTS),
        (text for text in TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
        OrderedDict.fromkeys(TEXTS).keys(),
        [np.str_(text) for text in TEXTS],
    ]
    for container in containers:
        np.testing.assert_array_equal(encoder.encode(container), expected)


def test_one_text_is_one_vector(encoder: StaticEncoder) -> None:
    for text in TEXTS:
        np.testing.assert_array_equal(encoder.encode(text), encoder.encode([text])[0])
        np.testing.assert_array_equal(encoder.encode(np.str_(text)), encoder.encode([text])[0])
    assert encoder.encode("storm", precision="ubinary").shape == (1,)
    assert encoder.encode([]).shape == (0, encoder.dimension)


@pytest.mark.parametrize("value", [None, 1, 1.5, float("nan"), b"x", ("a", "b"), {"text": "x"}, ["x"]])
def test_what_is_not_a_text_is_named(value: object) -> None:
    """The index counts from the start of the input, also in a later batch and in a stream."""
    encoder = static_encoder()
    texts: list[Any] = [*lines(5_000), value, "storm", value]
    message = rf"texts\[5000\] is not a str but {re.escape(repr(value))} \({type(value).__name__}\)"
    for call in (encoder.encode, encoder.tokenize, lambda t: list(encoder.encode_stream(t, 1_000))):
        with pytest.raises(TypeError, match=message):
            call(texts)
    with pytest.raises(TypeError, match=message):
        encoder.encode(iter(texts))


@pytest.mark.parametrize(
    "value", [None, 3, b"storm", bytearray(b"storm"), {"text": "storm"}, np.array("storm"), pa.scalar("storm")]
)
def test_what_holds_no_texts(value: Any) -> None:
    with pytest.raises(TypeError, match=r"texts are a str or an iterable of str, not "):
        static_encoder().encode(value)


def test_a_table_and_a_null_in_a_column() -> None:
    with pytest.raises(TypeError, match=r"of 2 axes; give one column"):
        static_encoder().encode(np.array([["storm"], ["port"]]))
    with pytest.raises(TypeError, match=r"texts\[1\] is not a str but None"):
        static_encoder().encode(pa.array(["storm", None]))


def test_unknown_options_are_refused() -> None:
    encode: Callable[..., Any] = static_encoder().encode
    with pytest.raises(TypeError, match="unexpected keyword argument 'output_value'"):
        encode(TEXTS, output_value="token_embeddings")
    for option, message in (
        ({"truncate_dim": 0}, r"truncate_dim is 0; .* Give 1 to 8"),
        ({"truncate_dim": 9}, "truncate_dim is 9"),
        ({"truncate_dim": True}, "truncate_dim is True"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"precision": "int4"}, "precision is 'int4'; it is one of float32, int8"),
        ({"on_unknown": "drop"}, "on_unknown is 'drop'"),
        ({"prompt_name": "no"}, "prompt_name is 'no'; this model has 'query', 'document'"),
        ({"max_length": 0}, "max_length is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            encode(TEXTS, **option)


@pytest.mark.parametrize("precision", [Stored.FLOAT32, Stored.LEVELS, Stored.INT8])
def test_means_as_in_model2vec(tmp_path: Path, precision: Stored) -> None:
    """Of known tokens; long sums leave the 16 bits of the levels and stay means."""
    compress(static_encoder(), precision=precision.value).save_pretrained(tmp_path)
    theirs = StaticModel.from_pretrained(tmp_path, max_length=None).encode(ODD, normalize=False)
    ours = load(tmp_path).encode(ODD, normalize_embeddings=False)
    tolerance = 1e-2 if precision == Stored.LEVELS else 1e-4  # theirs are rounded to float16
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_means_point_where_unit_vectors_do(encoder: StaticEncoder) -> None:
    means, units = (encoder.encode(ODD, normalize_embeddings=choice) for choice in (False, True))
    np.testing.assert_allclose(means, units * np.linalg.norm(means, axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_array_equal(encoder.encode(ODD, normalize_embeddings=False, truncate_dim=2), means[:, :2])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_precision_as_in_sentence_transformers(encoder: StaticEncoder, precision: Precision) -> None:
    texts = list(lines(200))
    vectors = encoder.encode(texts)
    expected = np.asarray(reference_quantization(vectors, precision))
    found = encoder.encode(texts, precision=precision)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    ranges = np.stack([vectors.min(axis=0), vectors.max(axis=0)])
    few = quantize_embeddings(vectors[:3], precision, ranges)
    np.testing.assert_array_equal(few, reference_quantization(vectors[:3], precision, ranges=ranges))
    assert encoder.encode([], precision=precision).dtype == expected.dtype


@pytest.mark.parametrize("precision", ["int8", "uint8"])
def test_one_embedding_has_no_ranges(precision: Precision) -> None:
    for texts in ("storm", ["storm"]):
        with pytest.raises(ValueError, match=rf"{precision} needs the range of each dimension"):
            static_encoder().encode(texts, precision=precision)
    with pytest.raises(ValueError, match=f"precision is '{precision}'; it is one of float32, binary, ubinary"):
        static_encoder().encode_stream(["storm"], precision=precision)


def test_tensors(encoder: StaticEncoder) -> None:
    expected = encoder.encode(TEXTS)
    tensor = encoder.encode(TEXTS, convert_to_tensor=True)
    assert isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float32
    np.testing.assert_array_equal(tensor.numpy(), expected)
    listed = encoder.encode(TEXTS, convert_to_numpy=False)
    assert isinstance(listed, list) and listed[1].shape == (encoder.dimension,)
    assert encoder.encode("storm", convert_to_tensor=True).shape == (encoder.dimension,)
    assert encoder.encode("storm", convert_to_numpy=False).shape == (encoder.dimension,)


def test_without_torch(static_student: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from sentence_distillery import load\n"
        f"load({str(static_student)!r}).encode(['storm'], convert_to_tensor=True)"
    )
    done = in_python(code)
    assert "ImportError: Tensors need torch" in done.stderr and "'sentence-distillery[distill]'" in done.stderr


def test_the_core_imports_no_other_library(static_student: Path) -> None:
    heavy = {"torch", "sklearn", "pandas", "jinja2", "tqdm", "sentence_transformers", "model2vec", "dvc", "prefect"}
    code = (
        "import sys\nfrom sentence_distillery import load\n"
        f"model = load({str(static_student)!r}); model.encode(['storm unknowns'] * 9); repr(model)\n"
        f"model.save_pretrained({str(static_student.parent / 'again')!r})\n"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = in_python(code)
    assert done.stdout.strip() == "[]", done.stderr


def test_batches_change_nothing(encoder: StaticEncoder, capsys: pytest.CaptureFixture[str]) -> None:
    texts = list(lines(3_000))
    expected = encoder.encode(texts)
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(encoder.encode(texts, batch_size=700, show_progress_bar=True), expected)
    shown = capsys.readouterr().err.split("\r")
    assert shown[0] == "encode: 700 of 3,000 texts (23 %)" and shown[-1] == "encode: 3,000 of 3,000 texts (100 %)\n"
    assert encoder.encode([], show_progress_bar=True).shape == (0, encoder.dimension)
    assert capsys.readouterr().err == "encode: 0 of 0 texts (100 %)\n"


def test_texts_without_a_known_word(encoder: StaticEncoder) -> None:
    texts = [f"storm {number}" for number in range(3_000)] + ["?!", "storm", ""]
    with pytest.raises(ValueError, match=r"texts\[3000\] has no word that the model knows: '\?!'"):
        encoder.encode(texts, on_unknown="error")
    with pytest.raises(ValueError, match=r"texts\[3000\]"):
        list(encoder.encode_stream(iter(texts), 1_000, on_unknown="error"))
    known = ["storm", "port closed"]
    np.testing.assert_array_equal(encoder.encode(known, on_unknown="error"), encoder.encode(known))
    if encoder.kind != "paper":
        assert encoder.encode(texts).any(axis=1).tolist() == [True] * 3_000 + [False, True, False]


def test_a_stream_equals_encode(encoder: StaticEncoder) -> None:
    texts = list(lines(1_005))
    options: dict[str, Any]
    for options in ({}, {"truncate_dim": 3}, {"normalize_embeddings": False}, {"precision": "ubinary"}):
        batches = list(encoder.encode_stream(iter(texts), 100, **options))
        assert [len(batch) for batch in batches] == [100] * 10 + [5]
        np.testing.assert_array_equal(np.concatenate(batches), encoder.encode(texts, **options))
    assert list(encoder.encode_stream([])) == []
    with pytest.raises(TypeError, match="not one str"):
        encoder.encode_stream("storm")
    with pytest.raises(ValueError, match="batch is 0"):
        encoder.encode_stream(texts, 0)


def test_a_stream_is_read_as_it_is_taken() -> None:
    taken: list[int] = []
    texts = (taken.append(n) or "storm" for n in range(1_000))  # type: ignore[func-returns-value]
    stream = static_encoder().encode_stream(texts, 10)
    assert taken == []
    next(stream)
    assert len(taken) == 10


def test_a_stream_needs_no_more_memory_when_it_is_longer() -> None:
    """The peak of 60,000 texts is that of 6,000, whatever the machine."""
    encoder, peaks = static_encoder(), []
    encoder.encode(["storm"])  # loads the vocabulary
    for count in (6_000, 60_000):
        tracemalloc.start()
        rows = sum(len(vectors) for vectors in encoder.encode_stream(lines(count), 1_000))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert rows == count
    assert peaks[1] < 1.5 * peaks[0] < 60_000 * encoder.dimension * 4


def test_similarity_as_in_sentence_transformers(static_student: Path) -> None:
    theirs, ours = SentenceTransformer(str(static_student), device="cpu"), load(static_student)
    one, other = ours.encode(ODD[:-1]), ours.encode(list(reversed(ODD[:-1])), normalize_embeddings=False)
    for left, right in ((one, other), (one[7], other), (one[7], other[6])):
        found = ours.similarity(left, right)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, theirs.similarity(left, right).numpy(), atol=1e-6)
    tensors = torch.from_numpy(one), torch.from_numpy(other)
    for name in ("similarity", "similarity_pairwise"):
        torch.testing.assert_close(getattr(ours, name)(*tensors), getattr(theirs, name)(*tensors), atol=1e-6, rtol=0)
    for tensor in (tensors[0].bfloat16(), tensors[0].clone().requires_grad_(), list(tensors[0])):
        np.testing.assert_allclose(similarity(tensor, other), similarity(one, other), atol=0.01)
    expected = theirs.similarity_pairwise(one, other).numpy()
    np.testing.assert_allclose(ours.similarity_pairwise(one, other), expected, atol=1e-6)
    np.testing.assert_allclose(similarity(torch.from_numpy(one), other.tolist()), similarity(one, other), atol=1e-6)
    assert ours.similarity_fn_name == theirs.similarity_fn_name
    assert isinstance(ours.model_name, str)  # or LlamaIndex's LangchainEmbedding refuses the encoder
    with pytest.raises(ValueError, match="8 and of 7 dimensions"):
        similarity(one, other[:, :7])
    with pytest.raises(ValueError, match="pairs need both"):
        similarity_pairwise(one, other[:3])


def test_tokens_as_in_sentence_transformers(student: Path) -> None:
    theirs = SentenceTransformer(str(student), device="cpu").preprocess(ODD[:-1])
    ours = load(student).tokenize(ODD[:-1])
    for name in ("input_ids", "offsets"):
        np.testing.assert_array_equal(ours[name], theirs[name].numpy())


def test_names_of_other_libraries(encoder: StaticEncoder) -> None:
    expected = encoder.encode(TEXTS)
    for call in (encoder, encoder.encode_query, encoder.encode_document, encoder.transform, encoder.fit_transform):
        np.testing.assert_array_equal(call(TEXTS), expected)
    documents = encoder.embed_documents(TEXTS)
    np.testing.assert_array_equal(np.array(documents, dtype=np.float32), expected)
    assert type(documents) is list and type(documents[0][0]) is float
    np.testing.assert_allclose(encoder.embed_query(TEXTS[0]), documents[0], atol=1e-6)
    assert encoder.fit(TEXTS, [1, 0]) is encoder
    assert encoder.get_embedding_dimension() == encoder.get_sentence_embedding_dimension() == expected.shape[1]
    with pytest.raises(TypeError, match="embed_query takes one str"):
        encoder.embed_query(TEXTS)  # type: ignore[arg-type]
    for refused in (encoder.embed_documents, encoder.transform):
        with pytest.raises(TypeError, match="not one str"):
            refused("storm")


def test_in_a_pipeline_of_scikit_learn(encoder: StaticEncoder) -> None:
    texts = [f"{word} {other}" for word in ("storm", "cafe") for other in ("x", "port", "closed", "the", "½")] * 4
    labels = ["storm" in text for text in texts]
    pipeline = make_pipeline(encoder, LogisticRegression(C=1_000, max_iter=1_000))
    fitted = clone(pipeline).fit(texts, labels)
    assert fitted.score(texts, labels) == 1.0
    assert "StaticEncoder" in repr(pipeline)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(texts), fitted.predict(texts))
    search = GridSearchCV(pipeline, {"staticencoder__truncate_dim": [2, None]}, cv=2, error_score="raise")
    search.fit(texts, labels)
    assert len(search.cv_results_["params"]) == 2
    assert encoder.truncate_dim is None
    assert list(encoder.get_feature_names_out())[-1] == f"dimension_{encoder.dimension - 1}"
    with pytest.raises(ValueError, match="'dimension' is not a parameter; the parameters are truncate_dim"):
        encoder.set_params(dimension=3)


def test_a_clone_shares_the_table(encoder: StaticEncoder) -> None:
    other = clone(encoder.set_params(truncate_dim=3))
    assert other is not encoder and other.stored is encoder.stored and other.truncate_dim == 3
    other.set_params(truncate_dim=None)
    assert encoder.dimension == 3


@pytest.mark.parametrize("precision", list(Stored))
def test_a_pickle_is_no_larger_than_the_model(tmp_path: Path, precision: Stored) -> None:
    """Also after use, with tables and look-ups built; without the files the vectors are the same."""
    small = static_encoder()
    rows = np.random.default_rng(3).normal(size=(len(small.stored), 300)).astype(np.float32)
    rows[0] = 0
    variant = compress(StaticEncoder(small.tokenizer, rows), dimension=256, precision=precision.value)
    variant.save_pretrained(tmp_path / "model")
    encoder = load(tmp_path / "model", truncate_dim=200)
    expected = encoder.encode(list(lines(6_000)) + ODD)
    content = pickle.dumps(encoder)
    assert len(content) <= sum(len(data) for data in files(tmp_path / "model").values())
    shared = [copy.deepcopy(encoder), copy.copy(encoder)]
    shutil.rmtree(tmp_path / "model")
    copies = [pickle.loads(content), *shared]
    for found in copies:
        np.testing.assert_array_equal(found.encode(list(lines(6_000)) + ODD), expected)
        assert found.stored.dtype == encoder.stored.dtype and repr(found) == repr(encoder)


def test_saving_refuses_what_is_not_a_model(tmp_path: Path) -> None:
    """The directory is replaced, so a stranger's file in it stays and is named."""
    encoder = static_encoder()
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(InputError, match=r"holds 'thesis\.txt', which is not part of a model"):
        encoder.save_pretrained(tmp_path)
    for name, message in (("", "cannot be replaced as a whole"), ("a" * 256, "name too long.* give a shorter name")):
        for save in (encoder.save_pretrained, encoder.save_onnx):
            with pytest.raises(InputError, match=message):
                save(name)
    with pytest.raises(InputError, match="is a file"):
        encoder.save_pretrained(tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_saving_over_itself(tmp_path: Path, encoder: StaticEncoder) -> None:
    """The table is mapped from the file that is replaced."""
    encoder.save_pretrained(tmp_path / "model")
    loaded = load(tmp_path / "model")
    expected = loaded.encode(ODD[:-1])
    before = files(tmp_path / "model")
    loaded.save_pretrained(str(tmp_path / "model"))
    assert files(tmp_path / "model") == before
    np.testing.assert_array_equal(loaded.encode(ODD[:-1]), expected)
    np.testing.assert_array_equal(load(tmp_path / "model").encode(ODD[:-1]), expected)


def test_in_an_event_loop(encoder: StaticEncoder) -> None:
    async def ask() -> tuple[Any, ...]:
        return (
            await encoder.aencode(TEXTS, normalize_embeddings=False),
            await encoder.aembed_documents(TEXTS),
            await encoder.aembed_query(TEXTS[0]),
        )

    vectors, documents, query = asyncio.run(ask())
    np.testing.assert_array_equal(vectors, encoder.encode(TEXTS, normalize_embeddings=False))
    assert documents == encoder.embed_documents(TEXTS) and query == encoder.embed_query(TEXTS[0])


def test_langchain_knows_it(encoder: StaticEncoder) -> None:
    """Whenever it is imported; for the test, which does without the package, by its class of the same name."""

    class Embeddings(ABC):
        @abstractmethod
        def embed_query(self, text: str) -> list[float]: ...

    assert not isinstance(encoder, Embeddings)
    module = ModuleType("langchain_core.embeddings.embeddings")
    module.Embeddings = Embeddings  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)
        assert isinstance(encoder, Embeddings) and issubclass(StaticEncoder, Embeddings)
    assert encoder.__class__ is type(encoder) is StaticEncoder


def test_vectors_of_tokens(encoder: StaticEncoder) -> None:
    """Before the layers; `test_other_libraries` compares them with model2vec's."""
    rows = encoder.encode_as_sequence([*TEXTS, "?!"])
    assert [row.shape[1] for row in rows] == [encoder.token_dimension] * (len(TEXTS) + 1) and len(rows[-1]) == 0
    np.testing.assert_array_equal(encoder.encode_as_sequence(TEXTS[0]), rows[0])
    assert encoder.encode_as_sequence([]) == []
