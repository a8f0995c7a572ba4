"""Options of comparing encoders: on labelled sets, and on held-out texts."""

from typing import Literal

from pydantic import Field

from sentence_distillery.io.contents import Natural
from sentence_distillery.io.options import Count, Positive, Section, Seed
from sentence_distillery.teachers.options import Teacher

PeerName = Literal["released", "model2vec", "tokenlearn"]


class Reference(Teacher):
    """An encoder to compare ours with; if its weights are unavailable, its rows give that reason."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 .-]*$", title="name of the system in the results")


class Evaluate(Section):
    speed_sentences: Count = Field(default=20000, title="number of sentences encoded to measure throughput")
    speed_seconds: Positive = Field(default=0.2, title="minimum length of a timed sample; shorter samples are noisier")
    references: list[Reference] = Field(default=[], title="transformers to evaluate, in addition to the teacher")
    documents: Natural = Field(default=25000, title="number of documents of each split to classify; 0: none")
    transformer_documents: Natural = Field(default=2000, title="the same number for transformers, which are slow")
    seed: Seed = 1


class Domain(Section):
    peers: list[PeerName] = Field(
        default=["released", "model2vec"],
        title="encoders to compare with; model2vec takes a minute, tokenlearn several",
    )
    neighbours: Count = Field(
        default=10, title="number of near pairs of a text: the text with each of the teacher's nearest texts"
    )
    random_pairs: Count = Field(
        default=10, title="number of random pairs of a text: the text with each of some texts drawn at random"
    )
    seed: Seed = 1


class Sections(Section):
    """What this room reads of params.yaml."""

    domain: Domain
