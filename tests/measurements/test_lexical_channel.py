"""The encoders of `benchmarks.lexical_channel`: one for each weight, then one for each dimension."""

from measurements import lexical_channel


def test_each_weight_and_each_dimension() -> None:
    found = list(lexical_channel.encoders())
    weights, dimensions = found[: len(lexical_channel.WEIGHTS)], found[len(lexical_channel.WEIGHTS) :]
    assert tuple(encoder.lexical_weight for encoder in weights) == lexical_channel.WEIGHTS
    assert {encoder.dimension for encoder in weights} == {256 + 768}
    assert tuple(encoder.dimension - 256 for encoder in dimensions) == lexical_channel.DIMENSIONS
    assert lexical_channel.shape(dimensions[-1]) == "2,048 dimensions, weight 1.2"
