"""Pairs and encoders that are quick: a few sentences, and small models of each architecture made from configuration."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers.processors import TemplateProcessing
from transformers import (
    AlbertConfig,
    AlbertModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    RobertaConfig,
    RobertaModel,
)

from reproductions.encoders.trainable import PairEncoder, Pooling
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import load_encoder
from tests.tiny_bert import write_tiny_bert
from tests.workspace import ROOT

SENTENCES = ("the storm", "the dog hears the police", "a woman", "water and people", "the australian government")
SHAPE: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


def model_of(architecture: str, vocabulary: int) -> PreTrainedModel:
    """One layer, 16-d, random weights; RoBERTa and MPNet count positions from the padding's id."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        if architecture == "albert":
            return AlbertModel(AlbertConfig(vocab_size=vocabulary, embedding_size=8, **SHAPE))
        if architecture == "roberta":
            return RobertaModel(RobertaConfig(vocab_size=vocabulary, type_vocab_size=1, pad_token_id=0, **SHAPE))
        if architecture == "mpnet":
            return MPNetModel(MPNetConfig(vocab_size=vocabulary, pad_token_id=0, **SHAPE))
        return BertModel(BertConfig(vocab_size=vocabulary, **SHAPE))


def write_encoder(directory: Path, architecture: str) -> None:
    """An encoder of this architecture over the small vocabulary of `write_tiny_bert`."""
    write_tiny_bert(directory)
    tokenizer = AutoTokenizer.from_pretrained(directory)
    joined = TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.backend_tokenizer.post_processor = joined
    tokenizer.save_pretrained(directory)
    model_of(architecture, len(tokenizer)).save_pretrained(directory)


def link_samples() -> None:
    """The sample pairs in the current directory."""
    Path("data").mkdir()
    Path("data/samples").symlink_to(ROOT / "data/samples")


def run_stage(stage: Any, *arguments: str) -> None:
    """As DVC runs it, with these arguments on the command line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [stage.__name__, *arguments])
        stage.main()


def reference(directory: Path) -> Teacher:
    return Teacher(reference=str(directory), revision=None, sha256=None, maximum_length=32)


def encoder(directory: Path, pooling: Pooling = Pooling.MEAN) -> PairEncoder:
    return PairEncoder(load_encoder(reference(directory)), pooling)
