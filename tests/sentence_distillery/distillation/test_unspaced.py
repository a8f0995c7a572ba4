"""Languages that are written without blanks: cut by the teacher's pieces, and none of their text is lost."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer
from transformers import XLMRobertaConfig, XLMRobertaModel

from sentence_distillery.distillation.distill import distill
from sentence_distillery.distillation.vocabulary import count_words, word_pieces
from sentence_distillery.encoder.native.characters import LONGEST, LONGEST_RUN
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from tests.sentence_distillery.teachers.conftest import byte_level, save_tokenizer, unigram

pytestmark = pytest.mark.usefixtures("on_one_thread")

LISTED = {
    "Thai": "เรือ พายุ ท่าเรือ ธนาคาร อัตรา ดอกเบี้ย ทีม ประตู นัก ฟุตบอล ปิด ลด ชนะ ใหญ่ เล็ก วันนี้ เมื่อวาน ฝน ถนน",
    "Japanese": "ふね あらし みなと チーム ゴール サッカー とじる さがる まつ まける ちいさい あめ ふる くるま タワー",
    "Khmer": "ទូក ព្យុះ កំពង់ផែ ធនាគារ អត្រា ក្រុម បាល់ទាត់ បិទ ចុះ រង់ចាំ ឈ្នះ ធំ តូច ថ្ងៃនេះ ភ្លៀង ផ្លូវ",
}
WORDS = {language: words.split() for language, words in LISTED.items()}


def texts(language: str, count: int = 300) -> list[str]:
    """Words of a language side by side, most of them more than 100 characters long."""
    drawn = random.Random(1)
    return ["".join(drawn.choices(WORDS[language], k=drawn.randint(15, 45))) for _ in range(count)]


def write_teacher(directory: Path, listed: list[str], kind: str) -> Tokenizer:
    """Write a small XLM-RoBERTa with random weights, over pieces of the texts."""
    words = [word for words in WORDS.values() for word in words]
    tokenizer = (unigram if kind == "unigram" else byte_level)([*listed, *words], 300)
    save_tokenizer(directory, tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
    config = XLMRobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        max_position_embeddings=80,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        initializer_range=0.2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        XLMRobertaModel(config).save_pretrained(directory)
    return tokenizer


@pytest.mark.parametrize("kind", ["unigram", "bytes"])
@pytest.mark.parametrize("language", WORDS)
def test_cut_by_the_teachers_pieces(language: str, kind: str, tmp_path: Path) -> None:
    """regression: a run of more than 100 characters was one unknown word, and the rest was cut by learnt pieces."""
    listed = texts(language)
    assert sum(len(text) > LONGEST for text in listed) > len(listed) / 4
    teacher = write_teacher(tmp_path / "teacher", listed, kind)
    encoder = distill(listed[:250], tmp_path / "teacher", clean=False, dimension=8, epochs=2, maximum_length=64)
    known = {encoder.tokenizer.normalizer.normalize_str(teacher.decode([place]).strip()) for place in range(300)}
    long_ones = 0
    for text in listed[250:]:
        tokens = encoder.tokenizer.encode(text).tokens
        assert UNKNOWN not in tokens
        pieces = [token.removeprefix("##") for token in tokens]
        assert all(piece.strip() in known or len(piece) == 1 for piece in pieces)
        long_ones += sum(len(piece) > 1 for piece in pieces)
    assert long_ones > 100
    assert np.linalg.norm(encoder.encode(listed[250:]), axis=1) == pytest.approx(1.0, abs=1e-5)


def test_all_libraries_agree(tmp_path: Path) -> None:
    """The longer limit is in the tokenizer's file, and every library reads it."""
    listed = texts("Thai")
    write_teacher(tmp_path / "teacher", listed, "unigram")
    encoder = distill(listed, tmp_path / "teacher", clean=False, dimension=8, epochs=1, maximum_length=64)
    encoder.save_pretrained(tmp_path / "student")
    asked = [*listed[:20], "a" * 150, "The storm.", "พายุ storm 2024"]
    expected = encoder.encode(asked)
    np.testing.assert_allclose(StaticEncoder.load(tmp_path / "student").encode(asked), expected, atol=1e-6)
    theirs = SentenceTransformer(str(tmp_path / "student"), device="cpu").encode(asked)
    np.testing.assert_allclose(theirs, expected, atol=1e-5)


def test_other_vocabularies_are_as_they_were() -> None:
    """No piece is added and no limit is raised for text with blanks, whatever pieces the teacher has."""
    teacher = static_tokenizer([UNKNOWN, "storm", "พาย", "##พาย", "##s"])
    assert [piece for piece in word_pieces(teacher, count_words(["The storms."])) if "พ" not in piece] == [
        "storm",
        "##s",
    ]
    english = static_tokenizer([UNKNOWN, "storm", "##s"])
    assert english.model.max_input_chars_per_word == LONGEST
    assert teacher.model.max_input_chars_per_word == LONGEST_RUN
    assert teacher.encode("พาย" * 100).tokens == ["พาย", *["##พาย"] * 99]
    assert teacher.encode("พาย" * 200).tokens == [UNKNOWN]
