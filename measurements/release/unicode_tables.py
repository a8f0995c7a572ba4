"""Write unicode_tables.h: what `tokenizers` makes of each code point, by asking it about all of them.

    python -m measurements.release.unicode_tables

The package has Unicode data of several versions: one decides what is composed, another what a control, an accent or
punctuation is, a third what is lower case. Python's unicodedata is of yet another version. So nothing is derived here:
each code point goes through the normalizer, the splitter and the search for single words, and the answers are the
table. `VERSION` names the release that was asked.

A text is more than its code points only in the order of combining marks, which normalisation sorts. Accents are dropped
afterwards, so it matters only for marks that stay; they are the kinds STRANGE, and the core leaves a text in which two
of them meet to the simple path (see text.c).
"""

import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import tokenizers
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import NFD, BertNormalizer, Normalizer

from sentence_distillery.encoder.native import vocabulary
from sentence_distillery.encoder.tokenizer import NORMALIZER, SPLITTER

TARGET: Final = Path(vocabulary.__file__).with_name("unicode_tables.h")
NORMALIZERS: Final[dict[str, Normalizer]] = {"FULL": NORMALIZER, "BERT": BertNormalizer(lowercase=True)}
BLOCK_BITS: Final = 7
BLOCK: Final = 1 << BLOCK_BITS
END: Final = 0x110000

# Kinds of characters; text.h has the same. One that becomes other characters has a value from EXPANDED on.
LETTER, SYMBOL, SIGN, JOINER, DROPPED, SPACE, IDEOGRAPH, HANGUL, STRANGE_LETTER, STRANGE_SYMBOL = range(10)
EXPANDED: Final = 16
ACCENT: Final = "\u0301"
OVERLAY: Final = "\u0334"
MARGIN: Final = 64  # bytes that an expansion may have: TEXT_MARGIN of core.h
_SURROGATES: Final = range(0xD800, 0xE000)
_SYLLABLES: Final = range(0xAC00, 0xD7A4)
_LINE: Final = 118


class Splits:
    """Answers of the splitter and of the search for single words, kept by character."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._words = Tokenizer(WordLevel({"[UNK]": 0, "zz": 1}, unk_token="[UNK]"))
        self._words.add_tokens([AddedToken("zz", single_word=True, normalized=False)])

    def kind(self, character: str) -> int:
        """Return the kind of a character of normalised text."""
        if character not in self._known:
            self._known[character] = self._asked(character)
        return self._known[character]

    def _asked(self, character: str) -> int:
        pieces = len(SPLITTER.pre_tokenize_str(f"a{character}a"))
        in_word = 1 not in self._words.encode(f"zz{character}").ids  # \w of a regular expression
        if pieces == 2:
            assert character == " ", f"U+{ord(character):04X} is white space after it was normalised"
            return SPACE
        if pieces == 3:
            return JOINER if in_word else SIGN
        if is_sorted(character):
            return STRANGE_LETTER if in_word else STRANGE_SYMBOL
        return LETTER if in_word else SYMBOL


def is_sorted(character: str) -> bool:
    """Return whether normalisation puts a character into an order with marks: before an accent, or after an overlay."""
    texts = (f"a{ACCENT}{character}", f"a{character}{OVERLAY}")  # of the classes 230 and 1, the lowest
    return any(NFD().normalize_str(text) != text for text in texts)


class Pool:
    """Expansions, each the number of its characters and then kind, length and UTF-8 of each one; equal ones once."""

    def __init__(self, splits: Splits) -> None:
        self.content = bytearray()
        self.offsets: dict[str, int] = {}
        self._splits = splits
        self._values: dict[str, int] = {}

    def value(self, text: str) -> int:
        """Return the value of an expansion in the table."""
        if text not in self.offsets:
            self._values[text] = EXPANDED + len(self.offsets)
            self.offsets[text] = len(self.content)
            self.content.append(len(text))
            assert len(text.encode()) <= MARGIN
            for character in text:
                encoded = character.encode()
                self.content += bytes([self._splits.kind(character), len(encoded)]) + encoded
        return self._values[text]


def value(code: int, normalizer: Normalizer, splits: Splits, pool: Pool) -> int:
    """Return the entry of a code point: a kind, or the value of an expansion."""
    if code in _SURROGATES:
        return DROPPED
    character = chr(code)
    found = normalizer.normalize_str(character)
    if found == character:
        return splits.kind(character)
    if code in _SYLLABLES:
        assert found == unicodedata.normalize("NFD", character), f"U+{code:04X} is not cut into its letters"
        assert all(splits.kind(letter) == LETTER for letter in found)
        return HANGUL
    if found == f" {character} " and splits.kind(character) == LETTER:
        return IDEOGRAPH
    return {"": DROPPED, " ": SPACE}.get(found) or pool.value(found)


def rows(numbers: Iterable[int]) -> Iterator[str]:
    """Lay numbers out in lines."""
    line = ""
    for number in numbers:
        entry = f"{number},"
        if len(line) + len(entry) > _LINE:
            yield line
            line = ""
        line += entry
    yield line


def array(kind: str, name: str, numbers: list[int]) -> str:
    """Write a constant array."""
    return f"static const {kind} {name}[{len(numbers)}] = {{\n" + "\n".join(rows(numbers)) + "\n};\n"


def tables() -> str:
    """Return the content of unicode_tables.h."""
    splits = Splits()
    pool = Pool(splits)
    blocks: dict[tuple[int, ...], int] = {}
    stages = []
    for name, normalizer in NORMALIZERS.items():
        entries = [value(code, normalizer, splits, pool) for code in range(END)]
        cut = (tuple(entries[start : start + BLOCK]) for start in range(0, END, BLOCK))
        stages.append(array("uint16_t", f"{name}_BLOCKS", [blocks.setdefault(block, len(blocks)) for block in cut]))
    return "\n".join(
        [
            f"/* By measurements/release/unicode_tables.py, which asked tokenizers {tokenizers.__version__}. */",
            f'#define UNICODE_TABLES "tokenizers {tokenizers.__version__}"',
            f"#define BLOCK_BITS {BLOCK_BITS}",
            "",
            *stages,
            array("uint16_t", "ENTRIES", [entry for block in blocks for entry in block]),
            array("uint32_t", "EXPANSION_OFFSETS", list(pool.offsets.values())),
            array("uint8_t", "EXPANSIONS", list(pool.content)),
        ]
    )


if __name__ == "__main__":
    TARGET.write_text(tables(), encoding="ascii")
