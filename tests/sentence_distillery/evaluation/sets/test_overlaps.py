import hashlib

import pytest

from sentence_distillery.corpus.fingerprints import fingerprint
from sentence_distillery.evaluation.sets.decontamination import group, shared


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It's here!", "ITS_HERE"),
        ("PCCW 's chief , Mike", "PCCW's chief, Mike"),
        ("Straße", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("“Yes”", '"yes"'),
        ("nul\x00 and \ud800 surrogate", "nul and surrogate"),
        pytest.param("word " * 200_000, "WORD" * 200_000, id="one megabyte"),
    ],
)
@pytest.mark.fault(19)
def test_alike(one: str, other: str) -> None:
    """NUL and lone surrogates are dropped like punctuation."""
    assert fingerprint(one) == fingerprint(other) != 0


def test_different() -> None:
    """Letters and their marks count; without any there is nothing to compare."""
    texts = ("it is here", "it's here", "café", "cafe", "день", "ден", "1", "2")
    assert len(set(map(fingerprint, texts))) == len(texts)
    assert set(map(fingerprint, ("", " \t\n", "...", "_", "\ud800", "😀"))) == {0}


def test_is_a_big_endian_blake2b() -> None:
    assert fingerprint("A b-c.") == int(hashlib.blake2b(b"abc", digest_size=8).hexdigest(), 16)


@pytest.mark.fault(18)
def test_swapped_pairs_are_one() -> None:
    """The pair (b, a) is found as (a, b)."""
    train, test = group(["a", "c"], ["b", "d"]), group(["b", "d"], ["a", "e"])
    assert shared(train, test) == {"sentences": 3, "pairs": 1}


@pytest.mark.fault(18)
def test_duplicates_and_blanks_count_once_and_never() -> None:
    """Duplicates within one split show as fewer distinct sentences."""
    found = group(["A.", "a", "b", "..."], ["b", "B!", "a", "c"])
    assert found.distinct == {"sentences": 3, "pairs": 1}
    assert group(["One text.", "one text", "!"]).distinct == {"sentences": 1, "pairs": 0}
