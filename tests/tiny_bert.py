"""An encoder like any other, but quick."""

from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast


def write_tiny_bert(directory: Path, width: int = 32) -> None:
    """A BERT of one layer, 32-d, over letters and a few words, with random weights from seed 1."""
    characters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["the", "police", "government", "australian", "people", "guitar", "dog", "woman", "water", "storm"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = [*special, *characters, *(f"##{character}" for character in characters), *words]
    tokenizer = Tokenizer(WordPiece({token: index for index, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(directory)  # type: ignore[no-untyped-call]
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=width,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        initializer_range=0.2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = BertModel(config)
    for table in (model.embeddings.position_embeddings, model.embeddings.token_type_embeddings):
        torch.nn.init.zeros_(table.weight)  # a part that all sentences share would make them alike
    model.save_pretrained(directory)
