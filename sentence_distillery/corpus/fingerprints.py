"""Fingerprints of texts, equal for texts that differ in nothing but case, punctuation and blanks; queries on many."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sentence_distillery.corpus.text import marks

_NEITHER_IN_ASCII = bytes(code for code in range(128) if not chr(code).isalnum() and chr(code) != "\n")


@cache
def _neither() -> re.Pattern[str]:
    r"""Match all but letters with their marks, such as vowels of Devanagari, and digits; \w has underscores."""
    return re.compile(rf"(?:[^\w{marks()}]|_)+")


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

    # The others, and texts of other scripts, one by one.
    for number, text in enumerate(texts):
        if not kept[number]:
            kept[number] = _neither().sub("", unicodedata.normalize("NFC", text).casefold()).encode("utf-8")
    hashes = np.frombuffer(b"".join([blake2b(content, digest_size=8).digest() for content in kept]), ">u8")
    return np.where(np.array(list(map(len, kept))) > 0, hashes, 0).astype(np.uint64)


Identities = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # an odd number that spreads the bits of another one


def among(values: Identities, table: Identities) -> NDArray[np.bool_]:
    """Mark the values, (values,) bool, that are in `table`."""
    return np.asarray(pc.is_in(pa.array(values), value_set=pa.array(table)))


def shared(values: Identities) -> NDArray[np.bool_]:
    """Mark the values, (values,) bool, that occur more than once."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(counts[places] > 1)


def repeats(values: Identities) -> NDArray[np.bool_]:
    """Mark the values, (values,) bool, that occurred before."""
    repeated = np.ones(len(values), bool)
    repeated[np.unique(values, return_index=True)[1]] = False
    return repeated


def ranks(identities: Identities, seed: int) -> Identities:
    """Return a number for each identity, (identities,) uint64, that looks random but depends on it and the seed alone.

    It is the finaliser of SplitMix64 over identity + seed * 0x9E3779B97F4A7C15.
    """
    mixed = identities + np.uint64(seed * int(GOLDEN) % 2**64)  # unsigned integers wrap around
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
