"""The vocabulary in a tokenizer.json: the native core reads what the parser of JSON reads, or leaves it to that."""

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import BertPreTokenizer

from sentence_distillery.encoder.core import native_vocabulary
from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.native.characters import BEFORE_BERT, EMOJI, UNKNOWN, is_punctuation, is_term
from sentence_distillery.encoder.native.vocabulary import loaded, settings_of, vocabulary_of
from sentence_distillery.encoder.tokenizer import NORMALIZER, static_tokenizer

WORDS = ["storm", "##s", "c++", "😀", "é", "##é", "港", "covid-19", 'a"b\\']
TEXTS = ["The C++ storms, é 😀 港 covid-19!", "storm" * 9]


def core() -> Any:
    compiled = loading.core()
    if compiled is None:
        pytest.skip("the native core was not compiled")
    return compiled


def content(changes: dict[str, Any] | None = None, **options: Any) -> bytes:
    """A student's tokenizer.json; `changes` are of its model."""
    found = json.loads(static_tokenizer([UNKNOWN, *WORDS[:-1]]).to_str())
    found["model"] |= changes or {}
    return json.dumps(found, **options).encode()


@pytest.mark.parametrize("options", [{}, {"ensure_ascii": False}, {"indent": 2}, {"separators": (",", ":")}], ids=str)
def test_it_is_read_natively(options: dict[str, Any]) -> None:
    """With the same tokens for a text as if Python had read it."""
    core()
    written = content(**options)
    found, expected = loaded(written), vocabulary_of(json.loads(written))
    assert found is not None and found.size == expected.size
    assert found.compiled.token_ids(TEXTS) == native_vocabulary(expected).token_ids(TEXTS)


@pytest.mark.parametrize(
    "vocabulary",
    [
        '{"[UNK]":0,"a":2}',
        '{"[UNK]":0,"a":1,"a":2}',  # two ids
        '{"[UNK]":0,"a":01}',
        '{"[UNK]":0,"a":1.0}',
        '{"[UNK]":0,"a":1e0}',
        '{"[UNK]":0,"a":-1}',
        '{"[UNK]":0,"":1}',
        '{"[UNK]":0,"\\ud800":1}',
        '{"[UNK]":0,"\\u0000":1}',
        '{"[UNK]":0,"a\\q":1}',
        '{"[UNK]":0,"a":1,}',
        '{"[UNK]":0 "a":1}',
        '{"[UNK]":0,"a":1',
        '{"[UNK]":0,"a',
        '{"[UNK]":0,"' + "a" * 513 + '":1}',
        "{}",
        '{"a":0}',  # the unknown token is missing
        '{"[UNK]":0,"a!":1}',  # punctuation that is no term
    ],
)
def test_what_is_left_to_the_parser(vocabulary: str) -> None:
    core()
    written = content({"vocab": None}).replace(b'"vocab": null', f'"vocab": {vocabulary}'.encode())
    written = written.replace(json.dumps(json.loads(content())["added_tokens"]).encode(), b"[]")
    assert loaded(written) is None


def test_another_vocabulary_does_not_mislead() -> None:
    """One that is not the model's, or that a later one replaces."""
    core()
    for added in (b'{"vocab": {"[UNK]": 0}, ', b'{"a \\"vocab\\": {": {"vocab": {"[UNK]": 0, "a": 1}}, '):
        assert loaded(content().replace(b"{", added, 1)) is None
    assert loaded(content().replace(b"}}", b'}, "vocab": {"[UNK]": 0}}', 1)) is None


@given(
    st.lists(st.text(min_size=1, max_size=8).filter(lambda word: "\x00" not in word), unique=True, max_size=9),
    st.booleans(),
    st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=0, max_size=2)), max_size=2),
)
@example(['"\\/\b\f\n\r\t', "😀", "é"], True, [])
def test_any_bytes(words: list[str], ascii_only: bool, changes: list[tuple[float, bytes]]) -> None:
    """Whatever the core takes for a vocabulary is one, with these ids; and it reads each that is well written."""
    written = json.dumps({word: place for place, word in enumerate(words)}, ensure_ascii=ascii_only).encode()
    for where, change in changes:
        place = int(where * len(written))
        written = written[:place] + change + written[place + 1 :]
    try:
        found = core().scan_vocabulary(b" " + written, 1)
    except UnicodeDecodeError:
        found = None
    assert changes or not words or found is not None
    if found is not None:
        end, (tokens, pieces, size), odd = found
        given = json.loads(written[: end - 1].decode())
        assert [*given.values()][-1] == tokens - 1 if given else tokens == 0
        assert {word: given[word] for word in odd} == odd
        assert len(given) < tokens or size == sum(len(word.encode()) for word in given)
        assert pieces <= tokens


def test_sizes_that_are_false_are_refused() -> None:
    found, written = core(), b'{"[UNK]":0,"##s":1,"storm-x":2}'
    _, sizes, odd = found.scan_vocabulary(written, 0)
    terms = {"storm-x": odd["storm-x"]}
    for room in (sizes, (3, 0, 14), (3, 3, 0)):  # more room than the least there is
        assert found.Vocabulary.of_json(written, 0, room, terms, 100, 0).token_ids(["Storm-X"])[0] == b"\x02\0\0\0"
    for wrong in ((2, 1, 12), (4, 1, 14), (3, 4, 14), (3, -1, 14), (3, 1, -1), (-1, 0, 0), (0, 0, 0), (2**40, 0, 9)):
        with pytest.raises((ValueError, OverflowError)):
            found.Vocabulary.of_json(written, 0, wrong, terms, 100, 0)
    for start, named in ((99, terms), (-1, terms), (0, {"storm-x": 3}), (0, {"storm": 2}), (1, terms)):
        with pytest.raises(ValueError, match="vocabulary"):
            found.Vocabulary.of_json(written, start, sizes, named, 100, 0)
    with pytest.raises(ValueError, match="not in the content"):
        found.scan_vocabulary(written, 99)


def test_the_steps_of_the_normalizer_are_those_of_this_library() -> None:
    steps = json.loads(NORMALIZER.__getstate__())["normalizers"]  # its state is its JSON
    assert steps[:-1] == BEFORE_BERT
    assert settings_of(json.loads(content())) == (100, 0)


def test_punctuation_is_what_the_splitter_sets_apart() -> None:
    splitter, planes = BertPreTokenizer(), [*range(0x21, 0xD800), *range(0xE000, 0x20000)]
    joined = " ".join(f"a{chr(code)}a" for code in planes)
    apart = {part for part, _ in splitter.pre_tokenize_str(joined) if len(part) == 1 and part != "a"}
    assert {chr(code) for code in planes if is_punctuation(chr(code))} == apart


def test_terms_are_as_they_are_normalised() -> None:
    """Every emoji of this Unicode, as the package `tokenizers` normalises it."""
    emoji = [chr(code) for code in range(0x2000, 0x1FB00) if re.match(EMOJI, chr(code))]
    known = [sign for sign in emoji if unicodedata.name(sign, "") and not sign.isalnum()]
    assert [sign for sign in known if is_term(sign) != (NORMALIZER.normalize_str(sign) == sign)] == []
