"""What could be done with the released table after training? `python -m measurements.variants FROM`.

squash     tanh of each dimension of a vector, times a factor and the root of the dimension (SSE's tanh)
leave out  the first principal components, which hold what most texts share
bits       fewer bits a number, with a step for each token that has the least squared error
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from measurements.command import parsed, refusals
from measurements.equal_bytes import argument_parser, write_comparison
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import Encoder, Function
from sentence_distillery.io.ragged import Floats, unit_rows

SQUASH = (0.3, 0.6, 1.0)
LEFT_OUT = (1, 3, 7)  # components
BITS = (3, 4, 5, 6)
STEPS = np.linspace(0.35, 1, 24)  # of a token, as a share of the step that its largest number asks for


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(argument_parser("Compare what can be done with the released table after training."), arguments)
    found = dict(variants(StaticEncoder.load("released", lexical_weight=0.0)))
    with refusals("variants"):
        write_comparison("variants", found, "released", options, "python -m measurements.variants FROM")


def variants(released: StaticEncoder) -> Iterator[tuple[str, Encoder]]:
    """Yield each variant by its name."""
    for factor in SQUASH:
        yield f"squashed, factor {factor:g}", _after(released, partial(squashed, factor=factor))
    for number in LEFT_OUT:
        yield f"without the first {number}", _after(released, partial(np.delete, obj=np.s_[:number], axis=1))
    for bits in BITS:
        yield f"{bits} bits", StaticEncoder(released.tokenizer, rounded(released.table, bits))


def squashed(vectors: Floats, factor: float) -> Floats:
    """Return the hyperbolic tangent of unit vectors, scaled so that their numbers have the root mean square `factor`.

    >>> squashed(np.eye(4, dtype=np.float32)[:1], 0.5).round(2).tolist()
    [[0.7599999904632568, 0.0, 0.0, 0.0]]
    """
    return np.asarray(np.tanh(np.float32(factor * vectors.shape[1] ** 0.5) * vectors), np.float32)


def rounded(table: Floats, bits: int) -> Floats:
    """Round each row to the multiples of its own step that so many bits can tell, with the least squared error.

    >>> rounded(np.array([[0.0, 0.0], [1.0, 0.4]], np.float32), 2).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    most = 2 ** (bits - 1) - 1
    best, errors = np.zeros_like(table), np.full(len(table), np.inf)
    for share in STEPS:
        step = np.maximum(np.abs(table).max(axis=1, keepdims=True) * share / most, 1e-12)
        found = np.clip(np.rint(table / step), -most, most) * step
        error = np.square(found - table).sum(axis=1)
        better = error < errors
        best[better], errors[better] = found[better], error[better]
    return best


def _after(encoder: StaticEncoder, change: Callable[[Floats], Floats]) -> Encoder:
    return Function(lambda texts: change(unit_rows(encoder.encode(texts))))


if __name__ == "__main__":
    main()
