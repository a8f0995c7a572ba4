"""Identities that are in another set, repeated, or seen before: compared with Python's sets."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sentence_distillery.corpus.fingerprints import among, repeats, shared

# Few of them, so that they repeat; and some that differ only in their high bits.
IDENTITIES = st.lists(st.sampled_from([0, 1, 2**22, 2**22 + 1, 2**63, 2**63 + 1, 2**64 - 1, 123456789]))


@given(values=IDENTITIES, table=IDENTITIES)
def test_among(values: list[int], table: list[int]) -> None:
    found = among(np.array(values, np.uint64), np.array(sorted(table), np.uint64))
    assert found.tolist() == [value in set(table) for value in values]


@given(values=IDENTITIES)
def test_shared_and_repeats(values: list[int]) -> None:
    array, counts = np.array(values, np.uint64), Counter(values)
    assert shared(array).tolist() == [counts[value] > 1 for value in values]
    assert repeats(array).tolist() == [value in values[:place] for place, value in enumerate(values)]
