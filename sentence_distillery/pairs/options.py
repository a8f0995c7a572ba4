"""Options of fine-tuning encoders on sentence pairs."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sentence_distillery.encoders.options import Teacher
from sentence_distillery.io.options import Count, Fraction, Positive, Precision, Section, Seed, Switchable

ThresholdRule = Literal["accuracy", "logistic"]


class Combination(StrEnum):
    """The features of two vectors; paper 2 names u, v, u + v, u - v, u * v and the last one, its table 4 is lost."""

    FIRST = "u"
    BOTH = "u,v"
    DIFFERENCE = "|u-v|"
    PRODUCT = "u*v"
    RELATION = "|u-v|,u*v"
    ALL = "u,v,|u-v|,u*v"

    @property
    def parts(self) -> list[str]:
        """The features that are concatenated."""
        return self.value.split(",")


class Simcse(Teacher, Switchable):  # in this order `enabled` is the first field
    """An encoder that is fine-tuned by contrastive learning; the fields of `Teacher` name the one to start from."""

    name: ClassVar[str] = "simcse"
    number: ClassVar[str] = "sentences"

    objective: Literal["unsupervised", "supervised"] = Field(title="supervised: the entailment pairs of SICK train")
    sentences: Count = Field(title="at most so many examples")
    epochs: Count
    batch_size: Annotated[int, Field(ge=2)]
    learning_rate: Positive
    temperature: Positive = Field(title="0.05 in Gao et al. 2021")
    seed: Seed


class ScoredTraining(Switchable):
    """The training of an encoder on rated pairs."""

    number: ClassVar[str] = "epochs"

    epochs: Count = Field(title="4 in paper 3; the best one on dev is kept")
    batch_size: Count = Field(title="pairs; 16 in the paper")
    learning_rate: Positive = Field(title="of Adam, 2e-5 in the paper")
    warm_up: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(title="share of the steps; 0.1 in the paper")
    precision: Precision


class Pairs(Section):
    """The sentence pairs that encoders learn to classify as paraphrases (paper 2), and the seeds of every cell."""

    dataset: str = Field(title="a benchmark set of pairs labelled 0 and 1, or a directory with train.csv and test.csv")
    also: list[str] = Field(title="sets of rated pairs; each encoder is also scored on their test split")
    validation_share: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(
        title="share of train that is the validation split, for thresholds, early stopping and the choice of the winner"
    )
    folds: Annotated[int, Field(ge=2)] = Field(title="of the cross-validation that chooses the threshold")
    seed: Seed = Field(title="of the split and the folds")
    seeds: list[Seed] = Field(min_length=1, title="every training is run with each; the weights of the first are kept")
    combination: Literal["u", "u,v", "|u-v|", "u*v", "|u-v|,u*v", "u,v,|u-v|,u*v"] = Field(
        title="features of the vectors u and v for logistic regression"
    )


class PairGrid(Section):
    """The axes of the paraphrase matrix: a cell of paper 2 is an encoder, where training starts, and a strategy."""

    encoders: list[str] = Field(title="names in section `encoders`")
    poolings: list[Literal["mean", "max", "cls"]]
    recipes: list[Literal["combined", "modern", "intermediate"]] = Field(
        title="of cross-encoders: section `metric_learning`, `modern_learning`, or the latter after `intermediate`"
    )
    starts: list[str] = Field(title="weights to start from: a pooling alone, or with a recipe, as in mean-combined")
    strategies: list[Literal["cosine", "siamese", "triplet", "logistic", "cosent", "ranking"]]

    @model_validator(mode="after")
    def _every_start_is_made(self) -> Self:
        made = [*self.poolings, *(f"{pooling}-{recipe}" for pooling in self.poolings for recipe in self.recipes)]
        for start in self.starts:
            if start not in made:
                raise ValueError(f"start '{start}' needs its pooling in `poolings` and its recipe in `recipes`")
        return self


class Learning(Section):
    """How an encoder is trained, whatever the loss."""

    epochs: Count
    iterations: Count | None = Field(title="batches in an epoch; null: one pass over the pairs")
    batch_size: Annotated[int, Field(ge=2)]
    optimizer: Literal["sgd", "adamw"]
    momentum: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(title="sgd: Nesterov's")
    weight_decay: Annotated[float, Field(ge=0.0)]
    halve_every: Count | None = Field(title="epochs between halvings of the learning rate; null: linearly to 0")
    warm_up: Fraction = Field(title="share of the steps in which the learning rate rises to its value")
    clip_norm: Positive | None = Field(title="largest norm of a step's gradient; null: no clipping")
    head_epochs: Annotated[int, Field(ge=0)] = Field(
        title="epochs in which only the head is trained, the encoder frozen"
    )
    patience: Count | None = Field(title="epochs without a better validation accuracy before the end; null: never")
    threshold: ThresholdRule = Field(title="best accuracy on validation pairs, or probability 0.5 of a logistic model")
    pair_learning_rate: Positive = Field(title="learning rate of a cross-encoder")
    both_orders: bool = Field(title="a cross-encoder scores a pair in both orders, by the mean of the two vectors")
    precision: Precision


class MetricLearning(Learning):
    margin: Positive = Field(title="0.5 in paper 2")
    siamese_learning_rate: Positive
    triplet_learning_rate: Positive
    logistic_learning_rate: Positive


class ModernLearning(Learning):
    cosent_learning_rate: Positive
    ranking_learning_rate: Positive


class Intermediate(Section):
    """The task that a cross-encoder is trained on first, in the recipe `intermediate`."""

    set: str = Field(title="benchmark set of rated pairs")
    epochs: Count
    learning_rate: Positive


class Combinations(Section):
    """Paper 2's table 4: logistic regression on combinations of the vectors; which ones it has is not known."""

    poolings: list[Literal["mean", "max", "cls"]] = Field(title="of pair_grid.poolings; cls in the paper")
    frozen: bool = Field(title="true trains only the heads, in seconds; false also trains the encoder, once for each")


class PairCost(Section):
    encoder: str = Field(title="name in section `encoders`")
    sentences: Annotated[int, Field(ge=2)] = Field(title="of the sample")
