"""Options of training and refining word vectors."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sentence_distillery.io.options import Count, Positive, Section, Seed


class Skipgram(Section):
    tokens: Literal["all", "content"] = Field(title="content: without stop words, as paper 1")
    dimension: Count
    window: Count
    minimum_count: Count
    negative: Count
    epochs: Count
    seed: Seed
    workers: Count = Field(title="1 gives the same bytes for the same seed")


class Fasttext(Skipgram):
    minimum_n: Count = Field(title="characters in the shortest n-gram, the word boundary marks included")
    maximum_n: Count = Field(title="characters in the longest n-gram")
    buckets: Count = Field(title="n-grams share this many vectors")

    @model_validator(mode="after")
    def _some_length_is_taken(self) -> Self:
        if self.minimum_n > self.maximum_n:
            raise ValueError(f"minimum_n = {self.minimum_n} is above maximum_n = {self.maximum_n}")
        return self


class Refine(Section):
    objective: Literal["repulsion", "contrastive"] = Field(
        title="repulsion: Algorithm 1 as printed, with the values below; contrastive: section `contrastive`"
    )
    learning_rate: Positive = Field(title="1e-4 in paper 1")
    iterations: Count = Field(title="50 in paper 1")
    batch_size: Count = Field(title="100 in paper 1")
    sentences: Count = Field(title="how many random sentences of the corpus to use")
    seed: Seed


class Contrastive(Section):
    distance: Annotated[int, Field(ge=0)] = Field(
        title="sentences of an article up to this far apart are related; 0: each sentence only to itself"
    )
    word_dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(title="share of words left out of each side")
    temperature: Positive = Field(title="of the softmax that turns a unit-length sentence vector into a distribution")
    margin: Annotated[float, Field(ge=0.0)] = Field(title="nats; unrelated sentences should be farther by this much")
    batch_temperature: Positive = Field(title="nats; a small value makes only the nearest unrelated sentences count")
    optimizer: Literal["adam", "sgd"]
    learning_rate: Positive = Field(title="at the start; falls linearly to 0")
    epochs: Count = Field(title="passes over the related pairs of the whole corpus")
    batch_size: Annotated[int, Field(ge=2)]
    seed: Seed


class Repulsion(Section):
    """Algorithm 1 over learning rates and iterations; everything else as in section `refine`."""

    learning_rates: list[Positive] = Field(min_length=1)
    iterations: list[Annotated[int, Field(ge=0)]] = Field(
        min_length=1, title="numbers of iterations to measure it after"
    )
