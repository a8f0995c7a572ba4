"""Options of measuring encoders on held-out texts."""

from typing import Literal

from pydantic import Field

from sentence_distillery.io.options import Count, Section, Seed

PeerName = Literal["released", "model2vec", "tokenlearn"]


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
