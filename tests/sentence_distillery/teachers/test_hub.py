"""Models of a hub: the entries of conf/base.yaml at their pinned revisions, tiny ones of each architecture."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import Unigram
from transformers import AlbertConfig, AlbertModel

from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import AbsentModelError, load_encoder
from tests.sentence_distillery.teachers.conftest import (
    SENTENCES,
    SIZES,
    save_bert,
    save_roberta,
    save_tokenizer,
    teacher,
)
from tests.sentence_distillery.teachers.hub import Hub, serving
from tests.workspace import ROOT

ENTRIES = yaml.safe_load((ROOT / "conf/base.yaml").read_text(encoding="utf-8"))["encoders"]
NAMES = ("bert", "roberta", "albert")


def save_albert(directory: Path) -> None:
    """A shared layer, and SentencePiece's unigram pieces."""
    tokenizer = Tokenizer(Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    torch.manual_seed(0)
    size = tokenizer.get_vocab_size()
    AlbertModel(AlbertConfig(vocab_size=size, embedding_size=8, max_position_embeddings=64, **SIZES)).save_pretrained(
        directory
    )
    save_tokenizer(directory, tokenizer, cls_token="[CLS]", sep_token="[SEP]", pad_token="<pad>", unk_token="<unk>")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny model of each architecture, with a file that no encoder needs."""
    directory = tmp_path_factory.mktemp("hub")
    for name, save in zip(NAMES, (save_bert, save_roberta, save_albert), strict=True):
        save(directory / name)
        (directory / name / "pytorch_model.bin").write_bytes(b"not needed")
    return {name: directory / name for name in NAMES}


@pytest.fixture
def hub(saved: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The hub that huggingface_hub asks, and an empty cache."""
    with serving({(ENTRIES[name]["reference"], ENTRIES[name]["revision"]): saved[name] for name in NAMES}) as running:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", running.address)
        template = f"{running.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
        yield running


@pytest.mark.parametrize("name", NAMES)
def test_an_encoder_of_the_hub(hub: Hub, saved: dict[str, Path], name: str) -> None:
    """It is fetched at its pinned revision, without what it does not need, and is the model that was put there."""
    entry = Teacher.model_validate(ENTRIES[name] | {"maximum_length": 64})
    fetched, local = load_encoder(entry), load_encoder(teacher(saved[name]))
    ids = local.token_ids(SENTENCES)
    assert fetched.token_ids(SENTENCES) == ids
    np.testing.assert_array_equal(fetched.embed(ids, 64)[0], local.embed(ids, 64)[0])
    asked = [path for path in hub.asked if entry.reference in path]
    assert entry.revision and asked and all(entry.revision in path for path in asked)
    assert not any(path.endswith(".bin") for path in hub.asked)


def test_without_the_hub_the_cache_is_enough(hub: Hub, monkeypatch: pytest.MonkeyPatch, saved: dict[str, Path]) -> None:
    entry = Teacher.model_validate(ENTRIES["bert"] | {"maximum_length": 64})
    load_encoder(entry)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    before = len(hub.asked)
    assert load_encoder(entry).token_ids(["A storm!"])
    assert len(hub.asked) == before


@pytest.mark.fault(24)
def test_a_revision_that_the_hub_does_not_have(hub: Hub) -> None:
    """Another commit than the pinned one is not taken in its place."""
    entry = Teacher.model_validate(ENTRIES["bert"] | {"revision": "0" * 40})
    with pytest.raises(AbsentModelError, match=f"bert-base-uncased at {'0' * 40} is not in the local hub cache"):
        load_encoder(entry)
