"""Teachers as sentence-transformers runs them: every pooling, architecture and tokenizer, dense layers, prompts."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import processors
from transformers import AutoConfig, AutoModel, AutoTokenizer

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.teachers.options import Teacher, TeacherError
from sentence_distillery.teachers.sentence_modules import POOLINGS, read_modules
from sentence_distillery.teachers.transformer import load_encoder
from tests.sentence_distillery.teachers.conftest import SENTENCES, save_bert, save_roberta, save_tokenizer, unigram

TEXTS = [*(text for text in SENTENCES if text), "Die Stürme kamen früh, und der Hafen blieb zu."]
SHAPE: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "bert": SHAPE,
    "roberta": SHAPE | {"max_position_embeddings": 80},
    "xlm-roberta": SHAPE | {"max_position_embeddings": 80},
    "mpnet": SHAPE,
    "albert": SHAPE | {"embedding_size": 8},
    "distilbert": {"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2},
    "modernbert": SHAPE | {"pad_token_id": 1},
    "qwen3": SHAPE | {"num_key_value_heads": 1, "head_dim": 8},
    "t5": {"d_model": 16, "d_ff": 24, "d_kv": 8, "num_layers": 2, "num_heads": 2},
}


def write_transformer(directory: Path, architecture: str) -> None:
    """Write a small transformer with random weights, and a tokenizer of the kind that it usually has."""
    directory.mkdir()
    if architecture in ("roberta", "qwen3", "modernbert"):
        save_roberta(directory)
    elif architecture == "xlm-roberta":
        special = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
        save_tokenizer(directory, unigram(TEXTS), **special)
    else:
        save_bert(directory)
    tokenizer = AutoTokenizer.from_pretrained(directory)
    if architecture == "qwen3":
        tokenizer.backend_tokenizer.post_processor = processors.ByteLevel()  # no special tokens
    tokenizer.pad_token = "[PAD]" if "[PAD]" in tokenizer.get_vocab() else "<pad>"  # sentence-transformers pads
    tokenizer.save_pretrained(directory)
    config = AutoConfig.for_model(architecture, vocab_size=len(tokenizer), **CONFIGURATIONS[architecture])
    with torch.random.fork_rng():
        torch.manual_seed(3)
        AutoModel.from_config(config).save_pretrained(directory)  # type: ignore[no-untyped-call]


def saved(directory: Path, architecture: str, modules: Sequence[Any], **options: Any) -> SentenceTransformer:
    """Save an encoder by sentence-transformers; returns what it loads again."""
    write_transformer(directory / "transformer", architecture)
    transformer = Transformer(str(directory / "transformer"), max_seq_length=32)
    encoder = SentenceTransformer(modules=[transformer, *modules], device="cpu", **options)
    encoder.save_pretrained(str(directory / "encoder"), create_model_card=False)
    return SentenceTransformer(str(directory / "encoder"), device="cpu")


def teacher_of(directory: Path, **prompt: str) -> Teacher:
    return Teacher(reference=str(directory / "encoder"), revision=None, sha256=None, maximum_length=32, **prompt)


def own(directory: Path, texts: list[str], **prompt: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Embed as a teacher does, and scale to unit length if the encoder does that."""
    encoder = load_encoder(teacher_of(directory, **prompt))
    (vectors,) = encoder.embed(encoder.token_ids(texts), 256)
    assert vectors.shape == (len(texts), encoder.dimension)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if encoder.modules.normalize else vectors


@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_pooling(pooling: str, tmp_path: Path) -> None:
    theirs = saved(tmp_path, "bert", [Pooling(16, pooling), Normalize()])
    np.testing.assert_allclose(own(tmp_path, TEXTS), theirs.encode(TEXTS), atol=1e-5)
    assert read_modules(tmp_path / "encoder").poolings == (pooling,)


@pytest.mark.parametrize(
    ("architecture", "pooling"),
    [
        ("roberta", "cls"),
        ("xlm-roberta", "mean"),
        ("mpnet", "mean"),
        ("albert", "max"),
        ("distilbert", "cls"),
        ("modernbert", "cls"),
        ("qwen3", "lasttoken"),
        ("t5", "mean"),  # of which sentence-transformers saves the encoder alone
    ],
)
def test_every_architecture(architecture: str, pooling: str, tmp_path: Path) -> None:
    theirs = saved(tmp_path, architecture, [Pooling(16, pooling)])
    np.testing.assert_allclose(own(tmp_path, TEXTS), theirs.encode(TEXTS), atol=1e-5)


def test_weights_in_several_files(tmp_path: Path) -> None:
    theirs = saved(tmp_path, "bert", [Pooling(16, "mean")])
    whole = load_encoder(teacher_of(tmp_path))
    (tmp_path / "encoder/model.safetensors").unlink()
    whole.model.save_pretrained(tmp_path / "encoder", max_shard_size="4KB")
    np.testing.assert_allclose(own(tmp_path, TEXTS), theirs.encode(TEXTS), atol=1e-5)
    assert load_encoder(teacher_of(tmp_path)).sha256 != whole.sha256
    next((tmp_path / "encoder").glob("model-*.safetensors")).unlink()
    with pytest.raises(InputError, match=r"has no model-\d+-of-\d+\.safetensors \(it has"):
        load_encoder(teacher_of(tmp_path))


def test_several_poolings_and_dense_layers(tmp_path: Path) -> None:
    """In their order; a normalisation in between is one of the layers."""
    torch.manual_seed(5)
    dense = [Dense(32, 12, activation_function=torch.nn.Tanh()), Normalize(), Dense(12, 8, bias=False)]
    theirs = saved(tmp_path, "bert", [Pooling(16, ("cls", "mean")), *dense, Normalize()])
    np.testing.assert_allclose(own(tmp_path, TEXTS), theirs.encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize(
    ("architecture", "pooling", "included"),
    [
        ("bert", "weightedmean", True),
        ("bert", "weightedmean", False),
        ("bert", "cls", False),
        ("qwen3", "mean", False),  # whose tokenizer ends no text with a token
    ],
)
def test_a_default_prompt(architecture: str, pooling: str, included: bool, tmp_path: Path) -> None:
    """It stands before every text; its tokens are pooled, or not: by place, and in `cls`, whose token is first."""
    prompts = {"query": "the storm: ", "passage": "ships "}
    modules = [Pooling(16, pooling, include_prompt=included)]
    theirs = saved(tmp_path, architecture, modules, prompts=prompts, default_prompt_name="query")
    np.testing.assert_allclose(own(tmp_path, TEXTS), theirs.encode(TEXTS), atol=1e-5)


def test_a_text_without_a_token(tmp_path: Path) -> None:
    """Of a tokenizer that adds none, with a prompt that has none: its vector is zero."""
    saved(tmp_path, "qwen3", [Pooling(16, "mean", include_prompt=False)])
    for texts in ([""], ["", "A storm!"]):
        found = load_encoder(teacher_of(tmp_path, prompt="")).vectors(texts, 64, "float32")
        assert found.any(axis=1).tolist() == [bool(text) for text in texts]


@pytest.mark.parametrize(
    ("given", "included", "default"),
    [
        ({"prompt": "Unknown storm: "}, False, "query"),
        ({"prompt": "Unknown storm: "}, True, None),
        ({"prompt": ""}, False, "query"),
        ({"prompt": ""}, True, None),
        ({"prompt_name": "passage"}, False, None),
        ({"prompt_name": "passage"}, True, "query"),
        ({"prompt_name": "query"}, False, "query"),
    ],
)
def test_a_prompt_that_is_asked_for(given: dict[str, Any], included: bool, default: str | None, tmp_path: Path) -> None:
    """In place of the default one, as the same argument of `encode` has it."""
    prompts = {"query": "the storm: ", "passage": "ships "}
    modules = [Pooling(16, "mean", include_prompt=included)]
    theirs = saved(tmp_path, "bert", modules, prompts=prompts, default_prompt_name=default)
    asked = own(tmp_path, TEXTS, **given)
    np.testing.assert_allclose(asked, theirs.encode(TEXTS, **given), atol=1e-5)
    assert (np.abs(asked - own(tmp_path, TEXTS)).max() < 1e-6) == (
        (given, default) in [({"prompt_name": "query"}, "query"), ({"prompt": ""}, None)]
    )


def test_a_prompt_that_is_not_there(tmp_path: Path) -> None:
    saved(tmp_path, "bert", [Pooling(16, "mean")], prompts={"query": "q: "})
    with pytest.raises(TeacherError, match=r"has no prompt 'passage'; choose one of .*query.*, or"):
        load_encoder(teacher_of(tmp_path, prompt_name="passage"))
    with pytest.raises(ValidationError, match="prompt = 'a' and prompt_name = 'query' are both given; keep one"):
        teacher_of(tmp_path, prompt="a", prompt_name="query")


def test_a_prompt_and_lower_case(tmp_path: Path) -> None:
    """Of a tokenizer that knows capitals, before which the encoder lower-cases; in a file that has its former name."""
    saved(tmp_path, "roberta", [Pooling(16, "mean")])
    path = tmp_path / "encoder/sentence_bert_config.json"
    former = path.rename(path.with_name("sentence_roberta_config.json"))
    former.write_text(json.dumps(json.loads(former.read_text()) | {"do_lower_case": True}))
    theirs = SentenceTransformer(str(tmp_path / "encoder"), device="cpu").encode(TEXTS, prompt="The Storm: ")
    np.testing.assert_allclose(own(tmp_path, TEXTS, prompt="The Storm: "), theirs, atol=1e-5)


def test_a_transformer_in_a_folder_of_its_own(tmp_path: Path) -> None:
    """As older versions of sentence-transformers saved it, with a key for each pooling."""
    theirs = saved(tmp_path, "bert", [Pooling(16, "max")])
    encoder = tmp_path / "encoder"
    (encoder / "0_Transformer").mkdir()
    for path in list(encoder.iterdir()):
        if path.is_file() and path.name not in ("modules.json", "config_sentence_transformers.json"):
            path.rename(encoder / "0_Transformer" / path.name)
    modules = json.loads((encoder / "modules.json").read_text())
    modules[0] |= {"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}
    (encoder / "modules.json").write_text(json.dumps(modules))
    former = {"word_embedding_dimension": 16, "pooling_mode_cls_token": False, "pooling_mode_max_tokens": True}
    (encoder / "1_Pooling/config.json").write_text(json.dumps(former))
    np.testing.assert_allclose(own(tmp_path, TEXTS), theirs.encode(TEXTS), atol=1e-5)


def test_what_is_not_known_is_refused(tmp_path: Path) -> None:
    """A module, a pooling, an activation, a default prompt; each by its name and file."""
    torch.manual_seed(5)
    saved(tmp_path, "bert", [Pooling(16, "mean"), Dense(16, 8)], prompts={"query": "q: "})
    good, bad = tmp_path / "encoder", tmp_path / "bad"
    for file, change, message in (
        ("modules.json", lambda found: [*found, found[-1] | {"type": "x.LayerNorm"}], r"Dense, LayerNorm; known are"),
        (
            "modules.json",
            lambda found: {"modules": found},
            r"modules\.json cannot be read: the whole file: .* valid list",
        ),
        ("1_Pooling/config.json", lambda found: found | {"pooling_mode": "median"}, r"unknown pooling 'median'; known"),
        ("1_Pooling/config.json", lambda found: found | {"pooling_mode": 5}, r"unknown pooling '5'; known"),
        ("2_Dense/config.json", lambda found: found | {"activation_function": "x.Swish"}, r"unknown activation"),
        ("config_sentence_transformers.json", lambda found: found | {"default_prompt_name": "q"}, r"prompt 'q' is not"),
        ("2_Dense/config.json", lambda found: found | {"out_features": 9}, r"does not hold the weights of a dense"),
        ("2_Dense/config.json", lambda found: {"bias": True}, r"does not hold the weights of a dense .*in_features"),
    ):
        shutil.copytree(good, bad)
        (bad / file).write_text(json.dumps(change(json.loads((bad / file).read_text()))))
        with pytest.raises(InputError, match=message):
            load_encoder(Teacher(reference=str(bad), revision=None, sha256=None, maximum_length=32))
        shutil.rmtree(bad)
    (good / "2_Dense/model.safetensors").rename(good / "2_Dense/pytorch_model.bin")
    with pytest.raises(InputError, match=r"2_Dense has no model\.safetensors \(it has config.*pytorch_model\.bin"):
        load_encoder(Teacher(reference=str(good), revision=None, sha256=None, maximum_length=32))


def test_another_pooling_or_prompt_is_another_teacher(tmp_path: Path) -> None:
    """Soft labels are kept by the fingerprint of their teacher."""
    saved(tmp_path, "bert", [Pooling(16, "mean"), Normalize()], prompts={"passage": "ships "})
    prompts: list[dict[str, str]] = [{}, {"prompt": "a "}, {"prompt": "b "}, {"prompt_name": "passage"}]
    found = [load_encoder(teacher_of(tmp_path, **each)).fingerprint for each in prompts]
    (tmp_path / "encoder/1_Pooling/config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    found.append(load_encoder(teacher_of(tmp_path)).fingerprint)
    assert len(set(found)) == 5
