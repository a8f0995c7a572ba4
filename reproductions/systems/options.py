"""Options of the weightings that paper 1 compares; the section `evaluate` has them beside those of the main job."""

from typing import Annotated, Literal

from pydantic import Field

from sentence_distillery.domain import options
from sentence_distillery.io.options import Count, Positive, Section


class Evaluate(options.Evaluate):
    smoothing: Positive = Field(default=0.001, title="the parameter a of SIF and DPCS, 1e-3 in paper 1")
    variance_threshold: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        default=0.95, title="the threshold T of DPCS, 0.95 in paper 1"
    )
    fit_sentences: Count = Field(
        default=10000, title="number of corpus sentences to which the principal components are fitted"
    )
    glove_tokens: Literal["all", "content"] = Field(
        default="content", title="tokens that GloVe averages; content leaves out stop words"
    )


class Sections(Section):
    """What this room reads of params.yaml."""

    evaluate: Evaluate
