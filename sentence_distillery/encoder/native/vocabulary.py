"""The vocabulary of a WordPiece tokenizer as this library makes it, which the native core looks up."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.native.characters import (
    BEFORE_BERT,
    BERT,
    CONTINUATION,
    FULL,
    LONGEST,
    LONGEST_RUN,
    OF_BERT,
    is_emoji,
    is_punctuation,
    is_term,
)

_PARTS: Final[dict[str, dict[str, object]]] = {
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "continuing_subword_prefix": CONTINUATION},
}

_PLACE: Final = b'"vocab":'
_MARK: Final = b'{"":-1}'  # in place of the tokens, so that the rest can be parsed

Sizes = tuple[int, int, int]  # tokens, continuations among them, and bytes of all


class Vocabulary(NamedTuple):
    """What decides how a text is cut.

    Attributes:
        words: The tokens by id; the first one is the unknown token.
        terms: The ids of added tokens, which are found before a text is split.
        longest_word: The most characters of a word that is cut; a longer one is unknown.
        normalizer: FULL or BERT; None if the native core has no table of it.
    """

    words: list[str]
    terms: list[int]
    longest_word: int
    normalizer: int | None

    @property
    def size(self) -> int:
        """The number of tokens."""
        return len(self.words)


class Loaded(NamedTuple):
    """A vocabulary that the native core has read by itself.

    Attributes:
        compiled: The vocabulary in the core.
        size: The number of tokens.
    """

    compiled: Any
    size: int


def loaded(content: bytes) -> Loaded | None:
    """Have the native core read the vocabulary in a tokenizer.json, some ten times as fast as `vocabulary_of`.

    None if there is no core, or if the file is anything but what `tokenizers` writes for a student: then
    `vocabulary_of` says what it is.
    """
    load = loader(content)
    return None if load is None else load()


def loader(content: bytes) -> Callable[[], Loaded | None] | None:
    """Check a tokenizer.json, and return what has the native core read its vocabulary; None as for `loaded`.

    That needs the interpreter's lock no longer, which a thread would have to wait for.
    """
    core, start = loading.core(), content.find(_PLACE) + len(_PLACE)
    if core is None or start < len(_PLACE):
        return None
    try:
        found = core.scan_vocabulary(content, start)
        return None if found is None else _checked_loader(core, content, start, *found)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _checked_loader(
    core: Any, content: bytes, start: int, end: int, sizes: Sizes, odd: dict[str, int]
) -> Callable[[], Loaded | None] | None:
    """Return what loads a vocabulary that was scanned, if the rest of the file is a student's."""
    rest = json.loads(content[:start] + _MARK + content[end:])
    longest, normalizer = settings_of(rest)
    if rest["model"]["vocab"] != json.loads(_MARK) or normalizer is None:  # another one was scanned
        return None

    # The core finds fewer kinds of terms than this library writes, so their characters are looked at.
    terms = {term: odd[term] for term in terms_of(rest)}
    term_ids(rest, next(iter(odd), None), odd)
    if not terms_are_apart(list(terms)):
        return None

    def load() -> Loaded | None:
        with suppress(ValueError):  # the core cannot look up such tokens
            return Loaded(core.Vocabulary.of_json(content, start, sizes, terms, longest, normalizer), sizes[0])
        return None

    return load


def terms_are_apart(terms: list[str]) -> bool:
    """Tell whether each term is an emoji, or has signs of ASCII and no other punctuation and none of the emoji.

    The native core finds only these: it searches around signs, and emoji by themselves.
    """
    emoji = {term for term in terms if is_emoji(term)}
    others = {character for term in terms if term not in emoji for character in term}
    return emoji.isdisjoint(others) and not any(
        is_punctuation(character) for character in others if not character.isascii()
    )


def read_vocabulary(content: bytes) -> Vocabulary | Loaded | None:
    """Read the vocabulary of a tokenizer.json; None if it is of another kind."""
    try:
        return loaded(content) or vocabulary_of(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def vocabulary_of(content: Any) -> Vocabulary:
    """Take the vocabulary out of the content of a student's tokenizer.json.

    Raises ValueError, KeyError, TypeError or AttributeError if it is anything else.
    """
    longest, normalizer = settings_of(content)
    words = by_id(content["model"]["vocab"])
    "".join(words).encode()  # not with a lone surrogate
    odd = {word: number for number, word in enumerate(words) if not (word.isascii() and word.isalnum())}
    return Vocabulary(words, term_ids(content, words[0] if words else None, odd), longest, normalizer)


def settings_of(content: Any) -> tuple[int, int | None]:
    """Check that a tokenizer has a student's settings; its tokens are not looked at.

    Returns the characters of its longest word, and the number of its normalizer in the core. Raises as `vocabulary_of`.
    """
    if content.get("truncation") is not None:
        raise ValueError(f"its truncation is {content['truncation']!r}, not null")
    normalizer = _normalizer(content["normalizer"])
    for part, expected in _PARTS.items():
        _check(part, content[part], expected)
    if (longest := content["model"].get("max_input_chars_per_word")) not in (LONGEST, LONGEST_RUN):
        raise ValueError(f"its model has the max_input_chars_per_word {longest!r}, not {LONGEST} or {LONGEST_RUN}")
    return longest, normalizer


def term_ids(content: Any, first: str | None, odd: Mapping[str, int]) -> list[int]:
    """Check that a tokenizer has a student's tokens, and return the ids of its terms. Raises as `vocabulary_of`.

    `first` is the token with the id 0, None if there are no tokens. `odd` has the ids of the tokens that are not
    letters and digits of ASCII alone. The vocabulary in `content` is not looked at.
    """
    if first is None or first != content["model"]["unk_token"]:
        raise ValueError(f"its first token is {first!r}, expected the unknown one")

    # A term is an added token under its own id, written as terms are.
    terms = terms_of(content)
    known = {token["content"] for token in content["added_tokens"] if _is_term(token, odd)}
    if others := set(terms) - known:
        raise ValueError(f"it has {len(others)} added tokens that are not terms, such as '{min(others)}'")
    if signed := _signed(odd, known):
        raise ValueError(f"it has {len(signed)} tokens with punctuation that are not terms, such as '{signed[0]}'")
    return [odd[term] for term in terms]


def by_id(vocabulary: dict[str, int]) -> list[str]:
    """Sort tokens by their ids; raises ValueError if these are not 0, 1, 2, ..."""
    if list(vocabulary.values()) == list(range(len(vocabulary))):
        return list(vocabulary)
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    if [vocabulary[word] for word in words] != list(range(len(words))):
        raise ValueError("its ids have gaps")
    return words


def terms_of(content: Any) -> list[str]:
    """List the terms of a student's tokenizer, which are its added tokens."""
    return [token["content"] for token in content["added_tokens"]]


def _is_term(token: Mapping[str, Any], odd: Mapping[str, int]) -> bool:
    """Tell whether an added token is one that `static_tokenizer` adds for a term."""
    plain = not (token["special"] or token["lstrip"] or token["rstrip"]) and token["normalized"]
    own = odd.get(token["content"]) == token["id"]
    return own and plain and is_term(token["content"]) and token["single_word"] != is_emoji(token["content"])


def _signed(odd: Mapping[str, int], terms: set[str]) -> list[str]:
    """List the tokens with punctuation that would need a vector in the text, where `encode` leaves punctuation out."""
    whole = [word for word, number in odd.items() if number and not word.startswith(CONTINUATION)]
    return [word for word in whole if word not in terms and not word.isalnum() and any(map(is_punctuation, word))]


def _normalizer(normalizer: Any) -> int | None:
    """Return the number of a normalizer in the core, None for one that keeps accents; raises ValueError for others."""
    steps = normalizer["normalizers"] if (normalizer or {}).get("type") == "Sequence" else [normalizer]
    *earlier, bert = steps
    _check("normalizer", bert, OF_BERT)
    if earlier and earlier != BEFORE_BERT:
        raise ValueError(f"its normalizer has other steps before BERT's: {earlier}")
    if bert.get("strip_accents") is False:
        return None
    return FULL if earlier else BERT


def _check(part: str, found: Any, expected: Mapping[str, object]) -> None:
    for name, value in expected.items():
        setting = (found or {}).get(name)
        if setting != value:
            raise ValueError(f"its {part} has the {name} {setting!r}, expected {value!r}")
