"""Write unicode_tables.h: what `tokenizers` makes of each code point, by asking it about all of them.

The package has Unicode data of several versions, and Python's unicodedata is of yet another one. So nothing is derived
here: each code point goes through the normalizer, the splitter and the search for single words, and the answers are the
table.

A text is more than its code points only in the order of combining marks, which normalisation sorts. Accents are dropped
afterwards, so it matters only for marks that stay; they are the kinds STRANGE, and the core leaves a text in which two
of them meet to the simple path (see text.c).
"""

import unicodedata
from collections.abc import Collection
from functools import cache
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


@cache
def words() -> Tokenizer:
    """Return a tokenizer whose one word is found if no letter follows it."""
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "zz": 1}, unk_token="[UNK]"))
    tokenizer.add_tokens([AddedToken("zz", single_word=True, normalized=False)])
    return tokenizer


@cache
def kind(character: str) -> int:
    """Return the kind of a character of normalised text, by the splitter and the search for single words."""
    pieces = len(SPLITTER.pre_tokenize_str(f"a{character}a"))
    in_word = 1 not in words().encode(f"zz{character}").ids  # \w of a regular expression
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

    def __init__(self) -> None:
        self.content = bytearray()
        self.offsets: list[int] = []
        self._values: dict[str, int] = {}

    def value(self, text: str) -> int:
        """Return the value of an expansion in the table."""
        if text not in self._values:
            self._values[text] = EXPANDED + len(self.offsets)
            self.offsets.append(len(self.content))
            self.content.append(len(text))
            assert len(text.encode()) <= MARGIN
            for character in text:
                encoded = character.encode()
                self.content += bytes([kind(character), len(encoded)]) + encoded
        return self._values[text]


def value(code: int, normalizer: Normalizer, pool: Pool) -> int:
    """Return the entry of a code point: a kind, or the value of an expansion."""
    if code in _SURROGATES:
        return DROPPED
    character = chr(code)
    found = normalizer.normalize_str(character)
    if found == character:
        return kind(character)
    if code in _SYLLABLES:
        assert found == unicodedata.normalize("NFD", character), f"U+{code:04X} is not cut into its letters"
        assert all(kind(letter) == LETTER for letter in found)
        return HANGUL
    if found == f" {character} " and kind(character) == LETTER:
        return IDEOGRAPH
    return {"": DROPPED, " ": SPACE}.get(found) or pool.value(found)


def array(of: str, name: str, numbers: Collection[int]) -> str:
    """Write a constant array, laid out in lines."""
    lines = [""]
    for entry in (f"{number}," for number in numbers):
        if len(lines[-1]) + len(entry) > _LINE:
            lines.append("")
        lines[-1] += entry
    return "\n".join([f"static const {of} {name}[{len(numbers)}] = {{", *lines, "};", ""])


def tables() -> str:
    """Return the content of unicode_tables.h."""
    pool = Pool()
    blocks: dict[tuple[int, ...], int] = {}
    stages = []
    for name, normalizer in NORMALIZERS.items():
        entries = [value(code, normalizer, pool) for code in range(END)]
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
            array("uint32_t", "EXPANSION_OFFSETS", pool.offsets),
            array("uint8_t", "EXPANSIONS", pool.content),
        ]
    )


if __name__ == "__main__":
    TARGET.write_text(tables(), encoding="ascii")
