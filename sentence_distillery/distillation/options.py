"""Options of soft labels and students."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sentence_distillery.encoder.lexical import GREATEST_DIMENSION, PLACES
from sentence_distillery.io.errors import setting
from sentence_distillery.io.options import Count, Positive, Precision, Section, Seed
from sentence_distillery.teachers.options import AnyTeacher

STEPS = 1_600
MANY = 50_000  # sentences
SMALL_BATCH, LARGE_BATCH = 128, 1_024
RATE, MOST_RATE = 0.128, 0.01


class SoftLabels(Section):
    batch_tokens: Count = Field(default=8192, title="word pieces in a batch, padding included; limited to 512 on a CPU")
    minimum_count: Count = Field(default=3, title="frequency from which a corpus word also gets a soft label")
    additional_words: Annotated[int, Field(ge=0)] = Field(
        default=0, title="number of further words, the most frequent of GloVe, that also get a soft label"
    )
    additional_teachers: list[AnyTeacher] = Field(
        default=[], title="teachers in addition to `teacher`; the student learns the mean of their cosines"
    )
    precision: Precision = "float32"


class StudentOptions(Section):
    start_from: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        title="encoder whose token vectors training starts from: released; null: the teacher's embeddings of words",
    )
    dimension: Count = Field(
        default=256, title="dimension of the vectors: number of principal components of the teacher's embeddings"
    )
    epochs: Count | None = Field(
        default=None, title="passes over the training data; null: from 5 to 20, for about 1,600 steps"
    )
    batch_size: Annotated[int, Field(ge=2)] | None = Field(
        default=None, title="sentences in a step; null: 128 below 50,000 sentences, otherwise 1,024"
    )
    learning_rate: Positive | None = Field(
        default=None, title="learning rate of Adam for vectors of unit length; null: 0.128 / sqrt(steps), at most 0.01"
    )
    relational_weight: Annotated[float, Field(ge=0.0)] = Field(
        default=0.3, title="weight of the in-batch Kullback-Leibler divergence"
    )
    temperature: Positive = Field(default=0.05, title="temperature of the in-batch similarity distributions")
    lexical_dimension: Annotated[int, Field(ge=0, le=GREATEST_DIMENSION, multiple_of=PLACES)] = Field(
        default=0,
        title="number of further dimensions of searches, for shared words: a multiple of 8, such as 768",
    )
    seed: Seed = 1

    def size(self, sentences: int) -> tuple[int, int]:
        """Return the epochs and the batch size; one that is not given follows from the number of sentences.

        Chosen on validation texts: ten thousand questions need 20 epochs of small batches (recall@10 of the teacher's
        neighbours 64.8, and 55.7 after 5 epochs of 1,024), a quarter of a million sentences 8 of 1,024.
        """
        batch_size = self.batch_size or (SMALL_BATCH if sentences < MANY else LARGE_BATCH)
        return self.epochs or min(max(round(STEPS * batch_size / sentences), 5), 20), batch_size

    def rate(self, steps: int) -> float:
        """Return the learning rate; one that is not given falls with the number of steps, at least 1.

        Chosen on validation texts: 160 steps do best at 0.01, 600 at 0.005, 1,700 at 0.0025.
        """
        return self.learning_rate or min(RATE / steps**0.5, MOST_RATE)


class Size(Section):
    """Compression after training, for small files; all null: none."""

    megabytes: Positive | None = Field(
        default=None,
        title="size limit of the student's files; held-out texts decide how many tokens and dimensions are kept",
    )
    vocabulary: Count | None = Field(
        default=None, title="number of tokens to keep, the most frequent ones; not together with megabytes"
    )
    precision: Literal["float32", "float16", "int8", "levels"] | None = Field(
        default=None, title="storage of a number; null: float32, or with megabytes the better of int8 and levels"
    )

    @model_validator(mode="after")
    def _megabytes_choose_the_vocabulary(self) -> Self:
        if self.megabytes is not None and self.vocabulary is not None:
            raise ValueError(
                f"{setting('megabytes', f'{self.megabytes:g}')} chooses the vocabulary itself, but "
                f"{setting('vocabulary', self.vocabulary)} is given; leave one of them out"
            )
        return self


class Sections(Section):
    """What this room reads of params.yaml."""

    soft_labels: SoftLabels
    student: StudentOptions
    size: Size
