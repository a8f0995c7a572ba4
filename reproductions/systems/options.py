"""Options of the evaluation."""

from typing import Annotated, Literal

from pydantic import Field

from sentence_distillery.io.options import Count, Positive, Section, Seed
from sentence_distillery.teachers.options import Teacher


class Reference(Teacher):
    """An encoder to compare ours with; if its weights are unavailable, its rows give that reason."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 .-]*$", title="name of the system in the results")


class Evaluate(Section):
    smoothing: Positive = Field(default=0.001, title="the parameter a of SIF and DPCS, 1e-3 in paper 1")
    variance_threshold: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        default=0.95, title="the threshold T of DPCS, 0.95 in paper 1"
    )
    fit_sentences: Count = Field(
        default=10000, title="number of corpus sentences to which the principal components are fitted"
    )
    speed_sentences: Count = Field(default=20000, title="number of sentences encoded to measure throughput")
    speed_seconds: Positive = Field(default=0.2, title="minimum length of a timed sample; shorter samples are noisier")
    glove_tokens: Literal["all", "content"] = Field(
        default="content", title="tokens that GloVe averages; content leaves out stop words"
    )
    references: list[Reference] = Field(default=[], title="transformers to evaluate, in addition to the teacher")
    documents: Annotated[int, Field(ge=0)] = Field(
        default=25000, title="number of documents of each split to classify; 0: none"
    )
    transformer_documents: Annotated[int, Field(ge=0)] = Field(
        default=2000, title="the same number for transformers, which are slow"
    )
    seed: Seed = 1


class Sections(Section):
    """What this room reads of params.yaml."""

    evaluate: Evaluate
