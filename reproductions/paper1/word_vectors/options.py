"""Options of training and refining word vectors."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sentence_distillery.io.options import Count, Positive, Section, Seed


class Skipgram(Section):
    tokens: Literal["all", "content"] = Field(
        default="content", title="tokens to train on; content leaves out stop words, as in paper 1"
    )
    dimension: Count = 50
    window: Count = 5
    minimum_count: Count = 5
    negative: Count = 5
    epochs: Count = 5
    seed: Seed = 1
    workers: Count = Field(default=1, title="number of threads; only 1 makes the same bytes for the same seed")


class Fasttext(Skipgram):
    minimum_n: Count = Field(
        default=3, title="length of the shortest n-gram in characters, word boundary marks included"
    )
    maximum_n: Count = Field(default=6, title="length of the longest n-gram in characters")
    buckets: Count = Field(default=100000, title="number of vectors that all n-grams share")

    @model_validator(mode="after")
    def _some_length_is_taken(self) -> Self:
        if self.minimum_n > self.maximum_n:
            raise ValueError(
                f"minimum_n = {self.minimum_n} is above maximum_n = {self.maximum_n}; lower the first "
                "or raise the second"
            )
        return self


class Refine(Section):
    objective: Literal["repulsion", "contrastive"] = Field(
        default="repulsion",
        title="repulsion: Algorithm 1 as printed, with the values below; contrastive: section `contrastive`",
    )
    learning_rate: Positive = Field(default=0.0001, title="learning rate, 1e-4 in paper 1")
    iterations: Count = Field(default=50, title="number of iterations, 50 in paper 1")
    batch_size: Count = Field(default=100, title="sentences in a batch, 100 in paper 1")
    sentences: Count = Field(default=3000, title="number of random sentences of the corpus")
    seed: Seed = 1


class Contrastive(Section):
    distance: Annotated[int, Field(ge=0)] = Field(
        default=2, title="maximum distance of two related sentences in an article; 0: each sentence only to itself"
    )
    word_dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(
        default=0.3, title="share of the words that are left out on each side"
    )
    temperature: Positive = Field(
        default=0.2, title="temperature of the softmax that turns a unit-length sentence vector into a distribution"
    )
    margin: Annotated[float, Field(ge=0.0)] = Field(
        default=0.2, title="nats by which unrelated sentences should be farther apart"
    )
    batch_temperature: Positive = Field(
        default=0.02, title="temperature in nats; with a small one only the nearest unrelated sentences count"
    )
    optimizer: Literal["adam", "sgd"] = "adam"
    learning_rate: Positive = Field(default=0.01, title="initial learning rate; it falls linearly to 0")
    epochs: Count = Field(default=3, title="passes over the related pairs of the whole corpus")
    batch_size: Annotated[int, Field(ge=2)] = 512
    seed: Seed = 1


class Repulsion(Section):
    """Algorithm 1 over learning rates and iterations; everything else as in section `refine`."""

    learning_rates: list[Positive] = Field(default=[0.0001, 0.0003, 0.001, 0.003, 0.01], min_length=1)
    iterations: list[Annotated[int, Field(ge=0)]] = Field(
        default=[0, 10, 20, 30, 40, 50], min_length=1, title="numbers of iterations after which it is measured"
    )


class PaperStudentOptions(Section):
    """Paper 1's student, a linear layer over the mean of refined word vectors."""

    epochs: Count = 10
    batch_size: Annotated[int, Field(ge=2)] = 32
    learning_rate: Positive = 0.001
    seed: Seed = 1


class Sections(Section):
    """What this room reads of params.yaml."""

    skipgram: Skipgram
    fasttext: Fasttext
    refine: Refine
    contrastive: Contrastive
    repulsion: Repulsion
    paper_student: PaperStudentOptions
