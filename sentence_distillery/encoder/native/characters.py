"""What the characters of a token say about it, without the package `tokenizers`, whose import takes several ms."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sentence_distillery.encoder.native import loading

if TYPE_CHECKING:
    from tokenizers.normalizers import Normalizer

FULL: Final = 0  # the normalizer of this library, in the native core
BERT: Final = 1  # that of BERT alone

UNKNOWN: Final = "[UNK]"
UNKNOWN_ID: Final = 0
CONTINUATION: Final = "##"
LONGEST: Final = 100  # characters; WordPiece treats a longer word as unknown, even if it is in the vocabulary
LONGEST_RUN: Final = 400  # the same without blanks; WordPiece's time grows with the square

EMOJI: Final = "[\u231a-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"  # single ones, and pictographs
_EMOJI: Final = re.compile(EMOJI)
_PART: Final = r"[^\W_]+"
_JOINED: Final = rf"{_PART}(?:[-./&+@:_]{_PART}|(?<=\d),(?=\d){_PART})*"  # covid-19, 3.14, 1,000
TERM: Final = re.compile(
    rf"(?<!\w)(?<![-./&+@:_#]){_JOINED}(?:\+{{1,2}}|\#)?(?!\w)"  # also c++, c#
    rf"|(?<![^\s(\[\"'])[.#@]{_PART}(?:[._]{_PART})*(?!\w)"  # .net, #metoo
    rf"|{EMOJI}"
)
_SIGNS: Final = frozenset("!\"#$%&'*+,-./:;<=>?@[\\]^_`{|}~()")
_ONCE: Final = "\u166d\U000111c9"  # punctuation in the Unicode of `tokenizers`, and no longer in Python's


def replacement(pattern: dict[str, str], content: str) -> dict[str, object]:
    """Describe a step of a normalizer as tokenizer.json does."""
    return {"type": "Replace", "pattern": pattern, "content": content}


# NFKC makes letters of trade marks, and "51/2" of 5½, so these are replaced first. It leaves a hyphen and a slash of
# their own, which are not those that people type.
BEFORE_BERT: Final = [
    replacement({"Regex": "[™℠]"}, " "),
    *(replacement({"String": sign}, text) for sign, text in (("½", " 1/2 "), ("¼", " 1/4 "), ("¾", " 3/4 "))),
    {"type": "NFKC"},
    *(replacement({"String": sign}, text) for sign, text in (("⁄", "/"), ("‐", "-"))),
]
OF_BERT: Final[dict[str, object]] = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "lowercase": True,
}


def is_emoji(token: str) -> bool:
    """Tell whether a token is a single character of the emoji and dingbats."""
    return _EMOJI.fullmatch(token) is not None


def is_punctuation(mark: str) -> bool:
    """Tell whether a text is a character that BERT's splitter sets apart: a sign of ASCII, or of category P.

    Its Unicode is older than Python's, so it is asked about others than ASCII.
    """
    if len(mark) != 1 or mark.isascii():
        return mark in _SIGNS
    import unicodedata  # most tokens have no such character

    return (mark in _ONCE or unicodedata.category(mark).startswith("P")) and _stands_apart(mark)


@cache
def _stands_apart(character: str) -> bool:
    from tokenizers.pre_tokenizers import BertPreTokenizer

    return len(BertPreTokenizer().pre_tokenize_str(f"a{character}a")) == 3


def is_term(token: str) -> bool:
    """Tell whether a token of a vocabulary is a term: the splitter would cut it, and it is written as terms are."""
    if token.isalnum() or token.startswith(CONTINUATION) or not TERM.fullmatch(token):
        return False
    return token == (token.lower() if token.isascii() else _normalized(token))


def _normalized(text: str) -> str:
    """Normalise a text as this library's tokenizers do."""
    core = _smallest()
    if core is not None:
        normalized: str = core.normalized(text)
        return normalized
    return normalizer().normalize_str(text)


@cache
def normalizer() -> Normalizer:
    """Return the normalizer of this library's tokenizers: BERT's, and compatibility characters before it."""
    from tokenizers import Tokenizer

    steps = [*BEFORE_BERT, {**OF_BERT, "strip_accents": None}]
    model = {"type": "WordLevel", "vocab": {}, "unk_token": UNKNOWN}
    content = {"model": model, "normalizer": {"type": "Sequence", "normalizers": steps}}
    found: Normalizer = Tokenizer.from_str(json.dumps(content)).normalizer
    return found


@cache
def _smallest() -> Any:
    """Return a vocabulary in the native core; None without one."""
    compiled = loading.core()
    return None if compiled is None else compiled.Vocabulary([UNKNOWN], [], LONGEST, FULL)
