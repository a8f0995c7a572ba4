"""Options of fine-tuning encoders on sentence pairs."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reproductions.encoders.options import Switchable
from sentence_distillery.io.options import Count, Fraction, Positive, Precision, Section, Seed
from sentence_distillery.teachers.options import Teacher

MOST_LAYERS = 3  # hidden ones of a head
ThresholdRule = Literal["accuracy", "logistic"]


class Combination(StrEnum):
    """The features of two vectors; paper 2 names u, v, u + v, u - v, u * v and the last one, its table 4 is lost."""

    FIRST = "u"
    BOTH = "u,v"
    SUM = "u+v"
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

    objective: Literal["unsupervised", "supervised"] = Field(
        default="unsupervised",
        title="unsupervised: two dropout masks of a sentence "
        "make a pair; supervised: the entailment pairs of SICK train",
    )
    sentences: Count = Field(default=1600, title="maximum number of examples")
    epochs: Count = 1
    batch_size: Annotated[int, Field(ge=2)] = 32
    learning_rate: Positive = 3e-05
    temperature: Positive = Field(default=0.05, title="temperature of the contrastive loss; 0.05 in Gao et al. 2021")
    seed: Seed = 1


class Pairs(Section):
    """The sentence pairs that encoders learn to classify as paraphrases (paper 2), and the seeds of every cell."""

    dataset: str = Field(
        default="mrpc", title="a benchmark set of pairs labelled 0 and 1, or a directory with train.csv and test.csv"
    )
    also: list[str] = Field(
        default=["stsb"], title="further sets of rated pairs, whose test splits each encoder is scored on"
    )
    validation_share: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(
        default=0.1,
        title="share of train for the validation split: thresholds, early stopping and the choice of the winner",
    )
    folds: Annotated[int, Field(ge=2)] = Field(
        default=10, title="number of folds of the cross-validation that chooses the threshold"
    )
    seed: Seed = Field(default=1, title="seed of the split and of the folds")
    seeds: list[Seed] = Field(
        default=[1], min_length=1, title="seeds of every training; the weights of the first one are kept"
    )
    combination: Literal["u", "u,v", "|u-v|", "u*v", "|u-v|,u*v", "u,v,|u-v|,u*v"] = Field(
        default="u,v,|u-v|,u*v", title="features of the vectors u and v for logistic regression"
    )


class PairGrid(Section):
    """The axes of the paraphrase matrix: a cell of paper 2 is an encoder, the initial weights, and a strategy."""

    encoders: list[str] = Field(title="names of section `encoders`")
    poolings: list[Literal["mean", "max", "cls"]]
    recipes: list[Literal["combined", "modern", "intermediate"]] = Field(
        title="trainings of cross-encoders: by section `metric_learning`, by `modern_learning`, or by the latter "
        "after `intermediate`"
    )
    starts: list[str] = Field(title="initial weights: a pooling alone, or with a recipe, as in mean-combined")
    strategies: list[Literal["cosine", "siamese", "triplet", "logistic", "cosent", "ranking"]]

    @model_validator(mode="after")
    def _every_start_is_made(self) -> Self:
        made = [*self.poolings, *(f"{pooling}-{recipe}" for pooling in self.poolings for recipe in self.recipes)]
        for start in self.starts:
            if start not in made:
                raise ValueError(f"start '{start}' needs its pooling in `poolings` and its recipe in `recipes`")
        return self


Iterations = Annotated[Count | None, Field(title="batches in an epoch; null: one pass over the pairs")]
Momentum = Annotated[float, Field(ge=0.0, lt=1.0, title="Nesterov momentum of sgd")]
HalveEvery = Annotated[
    Count | None, Field(title="epochs after which the learning rate is halved; null: it falls linearly to 0")
]
WarmUp = Annotated[Fraction, Field(title="share of the steps in which the learning rate rises")]
ClipNorm = Annotated[Positive | None, Field(title="maximum norm of the gradient; null: no clipping")]
HeadEpochs = Annotated[int, Field(ge=0, title="epochs that train only the head, with a frozen encoder")]
Patience = Annotated[
    Count | None, Field(title="epochs without a better validation accuracy until early stopping; null: never")
]
Threshold = Annotated[
    ThresholdRule,
    Field(
        title="accuracy: the threshold of the best validation accuracy; logistic: probability 0.5 of a logistic model"
    ),
]
PairLearningRate = Annotated[Positive, Field(title="learning rate of a cross-encoder")]
BothOrders = Annotated[
    bool, Field(title="true: a cross-encoder reads a pair in both orders and uses the mean of the two vectors")
]


class Learning(Section):
    """Settings of training an encoder, for every loss; each section has defaults of its own."""

    epochs: Count
    iterations: Iterations
    batch_size: Annotated[int, Field(ge=2)]
    optimizer: Literal["sgd", "adamw"]
    momentum: Momentum
    weight_decay: Annotated[float, Field(ge=0.0)]
    halve_every: HalveEvery
    warm_up: WarmUp
    clip_norm: ClipNorm
    head_epochs: HeadEpochs
    patience: Patience
    threshold: Threshold
    pair_learning_rate: PairLearningRate
    both_orders: BothOrders
    precision: Precision


class MetricLearning(Learning):
    """As in paper 2, which names no learning rates: with 0.02 the margin loss collapses all vectors into one."""

    epochs: Count = 30
    iterations: Iterations = 80
    batch_size: Annotated[int, Field(ge=2)] = 12
    optimizer: Literal["sgd", "adamw"] = "sgd"
    momentum: Momentum = 0.9
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.01
    halve_every: HalveEvery = 5
    warm_up: WarmUp = 0.0
    clip_norm: ClipNorm = None
    head_epochs: HeadEpochs = 10
    patience: Patience = None
    threshold: Threshold = "accuracy"
    pair_learning_rate: PairLearningRate = 0.005
    both_orders: BothOrders = False
    precision: Precision = "float32"
    margin: Positive = Field(default=0.5, title="margin of the pair and triplet losses, 0.5 in paper 2")
    siamese_learning_rate: Positive = 0.002
    triplet_learning_rate: Positive = 0.002
    logistic_learning_rate: Positive = 0.005


class ModernLearning(Learning):
    """Current practice: AdamW, warm-up, early stopping."""

    epochs: Count = 4
    iterations: Iterations = None
    batch_size: Annotated[int, Field(ge=2)] = 16
    optimizer: Literal["sgd", "adamw"] = "adamw"
    momentum: Momentum = 0.0
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.01
    halve_every: HalveEvery = None
    warm_up: WarmUp = 0.1
    clip_norm: ClipNorm = 5.0
    head_epochs: HeadEpochs = 0
    patience: Patience = 2
    threshold: Threshold = "logistic"
    pair_learning_rate: PairLearningRate = 5e-05
    both_orders: BothOrders = True
    precision: Precision = "float32"
    cosent_learning_rate: Positive = 2e-05
    ranking_learning_rate: Positive = 2e-05


class Intermediate(Section):
    """The task that a cross-encoder is trained on first, in the recipe `intermediate`."""

    set: str = Field(default="stsb", title="benchmark set of rated pairs")
    epochs: Count = 2
    learning_rate: Positive = 3e-05


class Combinations(Section):
    """Paper 2's table 4: logistic regression on combinations of the vectors; which ones it has is not known."""

    hidden_layers: list[Annotated[int, Field(ge=0, le=MOST_LAYERS)]] = Field(
        default=[0],
        min_length=1,
        title="numbers of hidden layers of the heads; 0 is logistic regression, the paper's choice",
    )
    poolings: list[Literal["mean", "max", "cls"]] = Field(title="some of pair_grid.poolings; cls in the paper")
    frozen: bool = Field(
        default=True,
        title="true trains only the heads, in seconds; false also trains the encoder, once per combination",
    )


class PairCost(Section):
    encoder: str = Field(title="a name of section `encoders`")
    sentences: Annotated[int, Field(ge=2)] = Field(default=200, title="number of sentences in the sample")


class Sections(Section):
    """What this room reads of params.yaml."""

    simcse: Simcse
    pairs: Pairs
    pair_grid: PairGrid
    metric_learning: MetricLearning
    modern_learning: ModernLearning
    intermediate: Intermediate
    combinations: Combinations
    pair_cost: PairCost
