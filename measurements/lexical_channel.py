"""How many dimensions should the lexical channel have, and which weight? `python -m measurements.lexical_channel FROM`.

Takes the released encoder with each of WEIGHTS, of PAIRS and of DIMENSIONS of its channel, and compares it with the one
without the channel.
"""

from collections.abc import Iterator, Sequence

from measurements.command import parsed, refusals
from measurements.equal_bytes import argument_parser, write_comparison
from sentence_distillery.encoder.static_encoder import StaticEncoder

WEIGHTS = (0.3, 0.5, 0.8, 1.0, 1.2, 1.4)  # with the dimension of the released channel
PAIRS = ((0.3, 1.2), (0.5, 1.2), (0.8, 1.2), (0.5, 2.0))  # of short and of long texts
DIMENSIONS = (256, 512, 1024, 2048)  # with the weight of "released-search"


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(argument_parser("Compare dimensions and weights of the lexical channel."), arguments)
    found = {shape(encoder): encoder for encoder in encoders()}
    with refusals("lexical_channel"):
        about = "python -m measurements.lexical_channel FROM"
        write_comparison("lexical-channel", found, "none: released", options, about)


def encoders() -> Iterator[StaticEncoder]:
    """Yield the released encoder with each weight and pair of weights, then with each dimension of its channel."""
    yield from (StaticEncoder.load("released", lexical_weight=weight) for weight in (*WEIGHTS, *PAIRS))
    yield from (StaticEncoder.load("released-search", lexical_dimension=dimension) for dimension in DIMENSIONS)


def shape(encoder: StaticEncoder) -> str:
    """Name a channel by its dimensions and its weight."""
    assert encoder.lexical is not None
    weight = encoder.lexical_weight
    weights = "weights {:g} and {:g}".format(*weight) if isinstance(weight, tuple) else f"weight {weight:g}"
    return f"{encoder.lexical.dimension:,} dimensions, {weights}"


if __name__ == "__main__":
    main()
