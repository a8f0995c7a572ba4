import hashlib

import numpy as np
import pytest

from sentence_distillery.corpus.fingerprints import fingerprint
from sentence_distillery.evaluation.sets.overlaps import group, overlaps, shared, union


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It's here!", "ITS_HERE"),
        ("PCCW 's chief , Mike", "PCCW's chief, Mike"),
        ("Straße", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("“Yes”", '"yes"'),
        ("nul\x00 and \ud800 surrogate", "nul and surrogate"),
    ],
)
@pytest.mark.fault(19)
def test_alike(one: str, other: str) -> None:
    """NUL and lone surrogates are dropped like punctuation."""
    assert fingerprint(one) == fingerprint(other) != 0


def test_different() -> None:
    assert (
        len({fingerprint(text) for text in ("it is here", "it's here", "café", "cafe", "день", "ден", "1", "2")}) == 8
    )


@pytest.mark.parametrize("text", ["", " \t\n", "...", "_", "\ud800", "😀"])
def test_nothing_to_compare_is_zero(text: str) -> None:
    assert fingerprint(text) == 0


def test_is_a_big_endian_blake2b() -> None:
    assert fingerprint("A b-c.") == int(hashlib.blake2b(b"abc", digest_size=8).hexdigest(), 16)


@pytest.mark.fault(19)
def test_a_long_sentence() -> None:
    """One megabyte."""
    assert fingerprint("word " * 200_000) == fingerprint("WORD" * 200_000)


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


@pytest.mark.fault(18)
def test_overlaps_name_both_sides() -> None:
    """A pair shared by a training and an evaluation set is named in both."""
    groups = {("x", "train"): group(["a"], ["b"]), ("y", "test"): group(["b"], ["a"]), ("z", "test"): group(["q"])}
    counts = {"sentences": 2, "pairs": 1}
    assert overlaps(groups) == {"x": {"train": {"y/test": counts}}, "y": {"test": {"x/train": counts}}}


def test_union() -> None:
    expected = sorted(fingerprint(text) for text in "abc")
    assert union([group(["c", "a"], ["a", "b"]), group(["a"])]).tolist() == expected
    assert union([]).dtype == np.uint64 and union([]).size == 0
