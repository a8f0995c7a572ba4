"""The encoder loads a student that sentence-transformers or model2vec has saved, and names any other model."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer

from sentence_distillery import StaticEncoder, load
from sentence_distillery.distillation.export import export, write_model
from sentence_distillery.encoder.compression import Precision, compress
from sentence_distillery.encoder.persistence.names import CONFIG, MODULES, NESTED, ROWS, TABLE, TOKENIZER, WEIGHTS
from sentence_distillery.io.artifacts import InputError, write_json, write_tensors
from tests.sentence_distillery.distillation.conftest import CARD, deep_encoder, files, static_encoder, table

from .test_encoder import ODD

pytestmark = pytest.mark.usefixtures("both_ways")  # native and simple

TEXTS = ODD[:-1]


def small(precision: Precision) -> StaticEncoder:
    return compress(static_encoder(), precision=precision.value)


def test_saved_by_ourselves(student: Path, tmp_path: Path) -> None:
    """The same bytes as the exporter's, including the origin of the model; only the model card is missing."""
    load(student).save_pretrained(tmp_path / "again")
    expected = {path: content for path, content in files(student).items() if path != "README.md"}
    assert files(tmp_path / "again") == expected
    assert load(tmp_path / "again").made_from["teacher"] == CARD["teacher"]


def test_another_model_in_its_place(student: Path, tmp_path: Path) -> None:
    """regression: the tokenizer was read when it was needed, and was that of the new model by then."""
    shutil.copytree(student, tmp_path / "model")
    before = load(tmp_path / "model")
    expected = before.encode(TEXTS)
    shutil.rmtree(tmp_path / "model")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / TOKENIZER).write_text("{}")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(before)).encode(TEXTS), expected)
    np.testing.assert_allclose(before.encode(TEXTS, max_length=10_000), expected, atol=1e-6)


@pytest.mark.parametrize("dimension", [None, 3])
def test_saved_by_sentence_transformers(student: Path, tmp_path: Path, dimension: int | None) -> None:
    """Of each kind; a model that cuts when it encodes still does, as one that is cut in a call or when loaded."""
    theirs = SentenceTransformer(str(student), device="cpu", truncate_dim=dimension)
    theirs.save_pretrained(str(tmp_path))
    ours = load(tmp_path)
    assert ours.kind == load(student).kind
    assert ours.dimension == (dimension or load(student).dimension)
    np.testing.assert_allclose(ours.encode(TEXTS), theirs.encode(TEXTS, normalize_embeddings=True), atol=1e-5)
    cut, whole = load(student, truncate_dim=dimension), load(student)
    np.testing.assert_allclose(ours.encode(TEXTS), cut.encode(TEXTS), atol=1e-6)
    np.testing.assert_array_equal(cut.encode(TEXTS), whole.encode(TEXTS, truncate_dim=dimension))
    np.testing.assert_array_equal(cut.encode(TEXTS, truncate_dim=6), whole.encode(TEXTS, truncate_dim=6))


@pytest.mark.parametrize("precision", list(Precision))
@pytest.mark.parametrize("dimension", [None, 3])
def test_saved_by_model2vec(tmp_path: Path, precision: Precision, dimension: int | None) -> None:
    write_model(small(precision), {}, tmp_path / "ours")
    theirs = StaticModel.from_pretrained(tmp_path / "ours", dimensionality=dimension)
    theirs.save_pretrained(tmp_path / "theirs")
    ours = load(tmp_path / "theirs")
    assert ours.dimension == (dimension or 8)
    exact = precision in (Precision.FLOAT32, Precision.INT8)
    np.testing.assert_allclose(ours.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5 if exact else 1e-2)
    before = load(tmp_path / "ours", truncate_dim=dimension).encode(TEXTS)
    np.testing.assert_allclose(ours.encode(TEXTS), before, atol=1e-6)


def test_types_that_model2vec_changed_leave_no_step(tmp_path: Path) -> None:
    """Its copy of config.json still names the step of the levels."""
    write_model(small(Precision.LEVELS), {}, tmp_path / "ours")
    for precision in ("float32", "int8"):
        model = StaticModel.from_pretrained(tmp_path / "ours", quantize_to=precision)
        model.save_pretrained(tmp_path / precision)
        assert json.loads((tmp_path / precision / CONFIG).read_text(encoding="utf-8"))["step"] is not None
        loaded = load(tmp_path / precision)
        assert loaded.step is None
        np.testing.assert_allclose(loaded.encode(TEXTS), load(tmp_path / "ours").encode(TEXTS), atol=2e-2)


def test_a_cut_model_is_saved_with_its_dimensions_alone(tmp_path: Path) -> None:
    """And without the figures of all of them."""
    encoder = load("released", truncate_dim=64)
    encoder.save_pretrained(tmp_path / "own")
    loaded = load(tmp_path / "own")
    assert loaded.dimension == loaded.token_dimension == 64
    assert "figures" in encoder.made_from and "figures" not in loaded.made_from
    theirs = SentenceTransformer(str(tmp_path / "own"), device="cpu").encode(TEXTS)
    for found in (loaded.encode(TEXTS), theirs):
        np.testing.assert_allclose(found, encoder.encode(TEXTS), atol=1e-6)


def test_a_directory_named_as_the_included_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path leads to it, and a name does not, which is said."""
    monkeypatch.chdir(tmp_path)
    load(truncate_dim=8).save_pretrained("released")
    assert load(Path("released")).dimension == load("./released").dimension == 8
    with pytest.warns(UserWarning, match=r"'released' is the included model; give './released'"):
        assert load("released").dimension == 256


def test_a_table_in_a_folder_of_its_own(static_student: Path, tmp_path: Path) -> None:
    shutil.copytree(static_student, tmp_path / "nested")
    (tmp_path / "nested" / NESTED).mkdir()
    for name in (TOKENIZER, WEIGHTS):
        shutil.move(tmp_path / "nested" / name, tmp_path / "nested" / NESTED / name)
    np.testing.assert_array_equal(load(tmp_path / "nested").encode(TEXTS), load(static_student).encode(TEXTS))


def test_without_modules(student: Path, tmp_path: Path) -> None:
    """Only config.json tells which layers follow the mean."""
    shutil.copytree(student, tmp_path / "copy")
    (tmp_path / "copy" / MODULES).unlink()
    np.testing.assert_array_equal(load(tmp_path / "copy").encode(TEXTS), load(student).encode(TEXTS))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", r"The directory '\.' does not hold a model\. Give the path .* load\(\"released\"\)"),
        ("./no-such", r"'\./no-such' is not a directory on this machine\. Give the path .* load\(\"released\"\)"),
        ("a" * 256, r"'a+' is not a directory: File name too long\. Give the path .* load\(\"released\"\)"),
        ("no/such/place", r"'no/such/place' is not a directory on this machine\. Give the path"),
    ],
)
def test_no_such_model(name: str, message: str) -> None:
    for call in (load, StaticEncoder.load, StaticEncoder.from_pretrained):
        with pytest.raises(InputError, match=message) as refused:
            call(name)
        assert "dvc" not in str(refused.value)


def test_a_file_is_not_a_model(static_student: Path) -> None:
    with pytest.raises(InputError, match=r"is a file\. Name the directory that holds modules\.json"):
        load(static_student / WEIGHTS)


def _bert(directory: Path) -> None:
    (directory / MODULES).unlink()
    write_json(directory / CONFIG, {"model_type": "bert", "hidden_size": 4})


def _unknown_with_a_vector(directory: Path) -> None:
    vectors = static_encoder().table.copy()
    vectors[0] = 1
    write_tensors(directory / WEIGHTS, {TABLE: vectors})


def _cased(directory: Path) -> None:
    content = json.loads((directory / TOKENIZER).read_text(encoding="utf-8"))
    content["normalizer"]["normalizers"][-1]["lowercase"] = False
    write_json(directory / TOKENIZER, content)


def _activation(directory: Path) -> None:
    export(deep_encoder(), CARD, directory)
    config = json.loads((directory / "1_Dense" / CONFIG).read_text(encoding="utf-8"))
    write_json(directory / "1_Dense" / CONFIG, config | {"activation_function": "torch.nn.modules.activation.Tanh"})


def _mapping(directory: Path) -> None:
    rows = len(static_encoder().stored)
    write_tensors(directory / WEIGHTS, {TABLE: table(5, 8), ROWS: np.full(rows, 5, np.int64)})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda directory: write_json(directory / MODULES, [{"path": "", "type": "x.models.Transformer"}]),
            "is not a static model but one of Transformer. Load it with sentence-transformers",
        ),
        (_bert, r"does not describe a student: it describes a transformer of type 'bert'"),
        (_unknown_with_a_vector, r"the unknown token \(row 0\) has a vector"),
        (_cased, "its normalizer has the lowercase False, expected True"),
        (_activation, "the activation is Tanh, a student has ReLU"),
        (_mapping, r"tensor 'mapping' points outside the 5 rows"),
        (lambda directory: (directory / TOKENIZER).unlink(), r"tokenizer\.json is not a tokenizer .* does not exist"),
        (lambda directory: (directory / MODULES).write_text("{}"), "is not a static model but one of no modules"),
        (lambda directory: (directory / MODULES).write_text("[1]"), r"modules\.json is not a list of modules"),
    ],
)
def test_another_kind_of_model(static_student: Path, damage: Callable[[Path], object], message: str) -> None:
    """Each is refused by name, and the message is fit for one who has no repository."""
    damage(static_student)
    with pytest.raises(InputError, match=message) as refused:
        load(static_student)
    assert "dvc" not in str(refused.value)


def test_a_model_that_others_may_read(static_student: Path, tmp_path: Path) -> None:
    """A saved model has the rights of any new file."""
    load(static_student).save_pretrained(tmp_path / "copy")
    (tmp_path / "new").touch()
    expected = (tmp_path / "new").stat().st_mode
    assert {path.stat().st_mode for path in (tmp_path / "copy").iterdir()} == {expected}
