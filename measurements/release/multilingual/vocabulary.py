"""Choose the tokens: the English encoder's, pieces of every script, then the frequent words of each language in turn.

A word's score is the mean of its shares in general text (lists of frequencies) and in the parallel text:

    score(w) = share of general text * GENERAL + share of parallel text * (1 - GENERAL)

Every character has a piece, at the beginning and inside a word, so no text of these scripts is without a vector.
Text is normalised as everywhere in this library, which drops combining marks. In Thai, Hindi and kana these are vowels
or voicing, so some words fall together. Korean syllables become letters, and Chinese characters stand alone.
"""

import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Final

from tokenizers import Tokenizer, trainers
from tokenizers.models import WordPiece

from sentence_distillery.encoder.tokenizer import CONTINUATION, NORMALIZER, UNKNOWN

GENERAL: Final = 0.6  # weight of general text
COMMON: Final = 60_000  # words of general text that are read, the most frequent ones
LISTED: Final = 30_000  # words of a language that pieces are learnt from
PIECES: Final = 2_500  # learnt for each language
TURN: Final = 20  # words that a language adds before the next one's turn
AT_ONCE: Final = 10_000  # texts normalised together
_CHINESE: Final = re.compile("[\u3400-\u9fff]")
# Python does not count vowel signs beside a letter as letters, but they belong to the word.
_WORD: Final = re.compile(r"(?:[^\W_]|[\u0900-\u0963\u0966-\u096f\u0971-\u097f\u0e01-\u0e4e])+")


def split_words(texts: Iterable[str]) -> Iterator[list[str]]:
    """Normalise texts, many at a time, and cut them into words, as they are looked up.

    >>> list(split_words(["Grüße, Jürgen", "हिन्दी", "東京"]))
    [['gruße', 'jurgen'], ['हिनदी'], ['東', '京']]
    """
    remaining = iter(texts)
    while some := [text.replace("\n", " ") for text in islice(remaining, AT_ONCE)]:
        lines = NORMALIZER.normalize_str("\n".join(some)).split("\n")
        if len(lines) != len(some):  # a control character became a line's end
            lines = [NORMALIZER.normalize_str(text) for text in some]
        yield from (_WORD.findall(line) for line in lines)


def general_words(pypi: Path, language: str) -> dict[str, float]:
    """Read how frequent words are in general text, most frequent first; those of Thai as counts."""
    import msgpack  # a dependency of the pipeline's engine, not of the library

    if language == "th":
        lines = next((pypi / "pythainlp").rglob("tnc_freq.txt")).read_text().splitlines()
        counted = (line.partition("\t") for line in lines[:COMMON])
        return {word: float(count) for word, _, count in counted if word.strip()}
    folder = next((pypi / "wordfreq").rglob("data"))
    file = next(file for size in ("large", "small") if (file := folder / f"{size}_{language}.msgpack.gz").exists())
    levels = msgpack.unpackb(gzip.decompress(file.read_bytes()), raw=False)[1:]  # the first one says the format
    frequencies = ((word, 10 ** (-level / 100)) for level, words in enumerate(levels) for word in words)
    return dict(islice(frequencies, COMMON))


def word_scores(general: Mapping[str, float], texts: Iterable[str]) -> dict[str, float]:
    """Score the words of a language, from 0 to 1, by their frequency in general text and in the parallel `texts`.

    Words that occur once in the parallel text alone are left out.

    >>> word_scores({"Haus": 1.0}, ["ein Haus", "ein Hof"])
    {'haus': 0.7, 'ein': 0.2}
    """
    counted = Counter(chain.from_iterable(split_words(texts)))
    known = defaultdict[str, float](float)
    for frequency, found in zip(general.values(), split_words(general), strict=True):
        for word in found:
            known[word] += frequency
    all_known, all_counted = sum(known.values()) or 1.0, counted.total() or 1
    return {
        word: GENERAL * known.get(word, 0.0) / all_known + (1 - GENERAL) * counted[word] / all_counted
        for word in dict.fromkeys((*known, *counted))
        if word in known or counted[word] > 1
    }


def learnt_pieces(words: Sequence[str]) -> list[str]:
    """Learn word pieces of a language from its frequent words, in alphabetical order; Chinese characters need none."""
    spelt = sorted(word for word in words if not _CHINESE.search(word))
    if not spelt:
        return []
    characters = sorted({f"{CONTINUATION}{character}" for word in spelt for character in word[1:]})
    size = max(PIECES, 2 * len(characters))
    trainer = trainers.WordPieceTrainer(vocab_size=size, show_progress=False, special_tokens=characters)
    tokenizer = Tokenizer(WordPiece(unk_token=UNKNOWN))
    tokenizer.train_from_iterator(spelt, trainer)
    return sorted(tokenizer.get_vocab())


def choose(english: Sequence[str], scores: Mapping[str, Mapping[str, float]], size: int) -> list[str]:
    """Choose a vocabulary of `size`, the unknown token first, then all English ones, by the scores of each language.

    >>> chosen = choose(["storm"], {"de": {"sturm": 0.9, "see": 0.5}}, 100)
    >>> chosen[:2], "sturm" in chosen, "##m" in chosen
    (['[UNK]', 'storm'], True, True)
    """
    chosen = dict.fromkeys([UNKNOWN, *english])
    characters = sorted({character for words in scores.values() for word in words for character in word})
    chosen.update(dict.fromkeys(characters))
    chosen.update(dict.fromkeys(f"{CONTINUATION}{c}" for c in characters if not _CHINESE.match(c)))
    ranked = {
        code: sorted((word for word in words if not word.isdigit()), key=lambda word: (-words[word], word))
        for code, words in scores.items()
    }
    for words in ranked.values():
        chosen.update(dict.fromkeys(learnt_pieces(words[:LISTED])))
    waiting = {code: iter([word for word in words if word not in chosen]) for code, words in ranked.items()}
    while waiting and len(chosen) < size:
        for code in list(waiting):
            turn = list(islice(waiting[code], TURN))
            chosen.update(dict.fromkeys(turn))
            if not turn:
                del waiting[code]
    return list(chosen)[:size]
