"""A student as ONNX has the vectors of `encode`: in onnxruntime, and in transformers.js with its own tokenizer."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from tokenizers import Tokenizer

from sentence_distillery import StaticEncoder, cli, load
from sentence_distillery.encoder.compression import compress
from sentence_distillery.encoder.persistence.names import TOKENIZER
from sentence_distillery.encoder.persistence.onnx_files import MODEL, onnx_bytes
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats
from tests.sentence_distillery.distillation.conftest import deep_encoder, files, paper_encoder, static_encoder
from tests.strings import any_strings
from tests.workspace import ROOT

from .test_encoder import ODD
from .test_terms import encoder as terms_encoder

TOLERANCE = 1e-5
TEXTS = ["The storm closed the port.", "unknowns 2024 qq", "Café ﬁx 港が", *ODD[:-2], "The ports"]
JAVASCRIPT = ROOT / "tests/javascript"
ENCODERS: dict[str, Callable[[], StaticEncoder]] = {
    "static": static_encoder,
    "deep": deep_encoder,
    "cut": lambda: _cut(static_encoder()),
    "deep-cut": lambda: _cut(deep_encoder()),
    "int8": lambda: compress(static_encoder(), dimension=5, precision="int8"),
    "float16": lambda: compress(static_encoder(), precision="float16"),
    "levels": lambda: compress(static_encoder(), precision="levels"),
    "terms": terms_encoder,
    "released": load,
}


def _cut(encoder: StaticEncoder) -> StaticEncoder:
    return encoder.set_params(truncate_dim=3)


def run(directory: Path, texts: list[str]) -> tuple[Floats, Floats]:
    """Encode with onnxruntime and the directory's own tokenizer: every output, of one padded batch."""
    encodings = Tokenizer.from_file(str(directory / TOKENIZER)).encode_batch(texts)
    ids = np.zeros((len(texts), max(len(encoding.ids) for encoding in encodings)), np.int64)
    mask = np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
    ids[mask == 0] = 1  # padding with a known token changes nothing, since the mask is read
    session = onnxruntime.InferenceSession(str(directory / MODEL))
    states, embeddings = session.run(None, {"input_ids": ids, "attention_mask": mask})
    return states, embeddings


@pytest.mark.parametrize("kind", ENCODERS)
def test_onnxruntime(kind: str, tmp_path: Path) -> None:
    """Every kind and precision; of a student with an MLP head each position has the embedding."""
    encoder = ENCODERS[kind]()
    encoder.save_onnx(tmp_path / "onnx")
    onnx.checker.check_model(str(tmp_path / "onnx" / MODEL), full_check=True)
    states, embeddings = run(tmp_path / "onnx", TEXTS)
    np.testing.assert_allclose(embeddings, encoder.encode(TEXTS), atol=TOLERANCE)
    if "deep" in kind:  # padding has zeros, so a sum over all positions will do
        sums = states[:3].sum(axis=1)
        np.testing.assert_allclose(sums / np.linalg.norm(sums, axis=1, keepdims=True), embeddings[:3], atol=TOLERANCE)
    assert not run(tmp_path / "onnx", ["", "?!"])[1].any()


@pytest.mark.parametrize("kind", ["static", "terms", "released"])
def test_the_tokenizer_cuts_as_before(kind: str, tmp_path: Path) -> None:
    """Its further step, which JavaScript needs, changes no token here: 5,000 strings of all scripts."""
    encoder = ENCODERS[kind]()
    encoder.save_onnx(tmp_path / "onnx")
    texts = any_strings(5_000)
    ours, theirs = encoder.tokenizer, Tokenizer.from_file(str(tmp_path / "onnx" / TOKENIZER))
    assert [e.ids for e in ours.encode_batch(texts)] == [e.ids for e in theirs.encode_batch(texts)]


def test_the_same_bytes_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        deep_encoder().save_onnx(tmp_path / name)
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert onnx_bytes(deep_encoder()) == (tmp_path / "one" / MODEL).read_bytes()


def test_the_table_keeps_its_precision() -> None:
    """A byte for each number of int8: the file is hardly larger than the table."""
    small = compress(load(), dimension=64, precision="int8")
    assert 0 < len(onnx_bytes(small)) - small.stored.nbytes < 2_000


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="kind paper cannot be written as ONNX"):
        paper_encoder().save_onnx(tmp_path / "onnx")
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match=r"holds 'notes\.txt', which is not part of an ONNX model"):
        static_encoder().save_onnx(tmp_path)
    with pytest.raises(InputError, match=r"notes\.txt is a file; name a directory"):
        static_encoder().save_onnx(tmp_path / "notes.txt")
    static_encoder().save_onnx(tmp_path / "onnx")
    with pytest.raises(InputError, match=r"does not describe a student: it describes a transformer of type"):
        load(tmp_path / "onnx")


def test_from_the_command_line(student: Path, tmp_path: Path) -> None:
    """As the student is stored, or smaller; a student of kind paper is refused with one line."""
    encoder = load(student)
    arguments = ["compress", str(tmp_path / "onnx"), "--model", str(student), "--format", "onnx"]
    if encoder.kind == "paper":
        with pytest.raises(SystemExit, match="compress: A student of kind paper"):
            cli.main(arguments)
        return
    cli.main(arguments)
    np.testing.assert_allclose(run(tmp_path / "onnx", TEXTS)[1], encoder.encode(TEXTS), atol=TOLERANCE)
    if encoder.kind == "static":
        cli.main([*arguments, "--dimension", "4", "--precision", "float32"])
        assert run(tmp_path / "onnx", TEXTS)[1].shape == (len(TEXTS), 4)


@pytest.fixture(scope="session")
def node() -> Path:
    """The folder of transformers.js, which npm installs once into tests/javascript."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    if not _installed():
        install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(install, cwd=JAVASCRIPT, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm cannot install transformers.js: {done.stderr.strip().splitlines()[-1:]}")
    return JAVASCRIPT


def _installed() -> bool:
    """Tell whether the folder has the version that package.json asks for."""
    package = JAVASCRIPT / "node_modules/@huggingface/transformers/package.json"
    wanted = json.loads((JAVASCRIPT / "package.json").read_text(encoding="utf-8"))["dependencies"]
    return package.exists() and json.loads(package.read_text("utf-8"))["version"] == next(iter(wanted.values()))


@pytest.mark.parametrize("kind", ["static", "deep", "terms", "released"])
def test_transformers_js(node: Path, kind: str, tmp_path: Path) -> None:
    """JavaScript's tokenizer and model; 2,000 strings of all scripts, and a pipeline with its own mean."""
    encoder = ENCODERS[kind]()
    encoder.save_onnx(tmp_path / "onnx")
    texts = [text for text in TEXTS[:3] * 7 if encoder.encode(text).any()] + TEXTS + any_strings(2_000)
    (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    command = ["node", "encode.mjs", *(str(tmp_path / name) for name in ("onnx", "texts.json", "vectors.json"))]
    done = subprocess.run(command, cwd=node, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    vectors = json.loads((tmp_path / "vectors.json").read_text(encoding="utf-8"))
    expected = encoder.encode(texts)
    np.testing.assert_allclose(vectors["byModel"], expected, atol=TOLERANCE)
    np.testing.assert_allclose(vectors["byPipeline"], expected[:20], atol=TOLERANCE)
