"""Tiny random teachers: a BERT with WordPiece and a RoBERTa with byte-level BPE, saved as safetensors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import BPE, Unigram, WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

from sentence_distillery.teachers.options import Teacher

SENTENCES = [
    "The storm closed the port.",
    "A storm!",
    "",
    "The harbour was shut by the gale, and the ships waited for a whole day outside of it.",
    "Ships wait.",
    "Unknown qzx 港 ❤",
]
SIZES: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def save_tokenizer(directory: Path, tokenizer: Tokenizer, **special: str) -> None:
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special)  # type: ignore[no-untyped-call]
    fast.save_pretrained(directory)


def save_bert(directory: Path) -> None:
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        SENTENCES, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    torch.manual_seed(0)
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=64, **SIZES)
    BertModel(config).save_pretrained(directory)
    save_tokenizer(directory, tokenizer, cls_token="[CLS]", sep_token="[SEP]")


def byte_level(texts: list[str], size: int = 320) -> Tokenizer:
    """A tokenizer of pieces of bytes, as RoBERTa's."""
    tokenizer = Tokenizer(BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def unigram(texts: list[str], size: int = 90) -> Tokenizer:
    """A tokenizer of pieces with probabilities, as XLM-RoBERTa's."""
    tokenizer = Tokenizer(Unigram())
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", None, [("<s>", 0), ("</s>", 2)])
    return tokenizer


def save_roberta(directory: Path) -> None:
    tokenizer = byte_level(SENTENCES)
    torch.manual_seed(0)
    config = RobertaConfig(vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=66, **SIZES)
    RobertaModel(config).save_pretrained(directory)
    save_tokenizer(directory, tokenizer, cls_token="<s>", sep_token="</s>")


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("teachers") / "bert"
    save_bert(directory)
    return directory


@pytest.fixture(scope="session")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("teachers") / "roberta"
    save_roberta(directory)
    return directory


@pytest.fixture(params=["bert", "roberta"])
def directory(request: pytest.FixtureRequest) -> Path:
    """The directory of each tiny teacher."""
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.fixture(autouse=True)
def on_the_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """One thread of the processor, so that bytes can be compared, and a separate cache for the test."""
    monkeypatch.setenv("DISTILLERY_DEVICE", "cpu")
    monkeypatch.setenv("DISTILLERY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def teacher(reference: Path | str, maximum_length: int = 64, **changes: str | None) -> Teacher:
    settings = {"revision": None, "sha256": None} | changes
    return Teacher(reference=str(reference), maximum_length=maximum_length, **settings)
