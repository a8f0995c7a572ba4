"""Fingerprints of texts: equal for texts that differ in nothing but case, punctuation and blanks."""

import re
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.corpus.schema import EVALUATION_FINGERPRINTS
from sentence_distillery.io.artifacts import read_table

# \w is a letter, a digit (of any script) or the underscore.
NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")


_NEITHER_IN_ASCII = bytes(code for code in range(128) if not chr(code).isalnum() and chr(code) != "\n")


def fingerprint(text: str) -> int:
    """Return the 64-bit blake2b (big-endian, unsigned) of the case-folded letters and digits of `text`; 0 for none.

    Composed and decomposed accents are alike. Among ten million sentences, the chance that any two different ones
    share a fingerprint is one in 370,000.
    """
    return int(fingerprints([text])[0])


def fingerprints(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return the fingerprint of each text, (texts,) uint64.

    >>> fingerprints(["It's here!", "ITS HERE", "..."]).tolist()
    [12392196206981280389, 12392196206981280389, 0]
    """
    joined = "\n".join(text if text.isascii() else "" for text in texts)
    kept = joined.lower().encode("ascii").translate(None, _NEITHER_IN_ASCII).split(b"\n")
    if len(kept) != len(texts):  # a text contains line ends
        kept = [b""] * len(texts)
    for number, text in enumerate(texts):
        if not kept[number]:
            kept[number] = NEITHER_LETTER_NOR_DIGIT.sub("", unicodedata.normalize("NFC", text).casefold()).encode(
                "utf-8"
            )
    hashes = np.frombuffer(b"".join([blake2b(content, digest_size=8).digest() for content in kept]), ">u8")
    return np.where(np.array(list(map(len, kept))) > 0, hashes, 0).astype(np.uint64)


def read_fingerprints(path: Path) -> NDArray[np.uint64]:
    """Read the fingerprints of the evaluation texts, (texts,) uint64; raises InputError if it cannot."""
    evaluated: NDArray[np.uint64] = read_table(path, EVALUATION_FINGERPRINTS)["fingerprint"].to_numpy()
    return evaluated
