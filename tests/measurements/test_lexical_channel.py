"""The encoders of `measurements.lexical_channel`: one for each weight, pair of weights and dimension."""

from measurements import lexical_channel


def test_each_weight_and_each_dimension() -> None:
    found = list(lexical_channel.encoders())
    weights = (*lexical_channel.WEIGHTS, *lexical_channel.PAIRS)
    weighed, wide = found[: len(weights)], found[len(weights) :]
    assert tuple(encoder.lexical_weight for encoder in weighed) == weights
    assert {encoder.dimension for encoder in weighed} == {256 + 768}
    assert tuple(encoder.dimension - 256 for encoder in wide) == lexical_channel.DIMENSIONS
    assert lexical_channel.shape(weighed[0]) == "768 dimensions, weight 0.3"
    assert lexical_channel.shape(wide[-1]) == "2,048 dimensions, weights 0.5 and 1.2"
