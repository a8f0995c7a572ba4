"""Score encoders on texts without labels, as rows of the table of figures."""

from collections.abc import Iterator

from sentence_distillery.domain.coverage import tokenizer_of
from sentence_distillery.domain.measures import Reference, measures, unavailable
from sentence_distillery.evaluation.evaluate import Encoder, embed
from sentence_distillery.evaluation.results import Measure, Result, as_result
from sentence_distillery.io.unavailable import Unavailable

DATASET = "held-out texts"  # in the table of figures


def scored(
    name: str, encoder: Encoder | Unavailable, reference: Reference | Unavailable, dataset: str = DATASET
) -> Iterator[Result]:
    """Measure an encoder: a figure for each of `measures.METRICS`, or why there is none."""
    for measure in measured(encoder, reference):
        yield as_result(name, dataset, "", measure)


def measured(encoder: Encoder | Unavailable, reference: Reference | Unavailable) -> Iterator[Measure]:
    """Yield the figures of an encoder, or the reason in place of each; arguments as of `scored`."""
    if isinstance(reference, Unavailable):
        return unavailable(reference, 0)
    if isinstance(encoder, Unavailable):
        return unavailable(encoder, len(reference.texts))
    return measures(embed(encoder, list(reference.texts)), tokenizer_of(encoder), reference)
