"""Options of measuring encoders on held-out texts."""

from typing import Literal

from pydantic import Field

from sentence_distillery.io.options import Count, Section, Seed

PeerName = Literal["released", "model2vec", "tokenlearn"]


class Domain(Section):
    peers: list[PeerName] = Field(title="encoders to compare with; model2vec takes a minute, tokenlearn several")
    neighbours: Count = Field(title="near pairs of a text: it and so many of the teacher's nearest texts")
    random_pairs: Count = Field(title="random pairs of a text: it and so many texts drawn at random")
    seed: Seed
