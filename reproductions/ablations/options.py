"""Options of the variants of teacher and student that did not become the default."""

from typing import Annotated, ClassVar

from pydantic import Field

from reproductions.paper2.pairs.options import ScoredTraining
from sentence_distillery.io.options import Count, Positive, Seed, Switchable


class MlpHead(Switchable):
    """The student with an MLP head: a hidden layer after the sum of its token vectors."""

    name: ClassVar[str] = "mlp_head"
    number: ClassVar[str] = "units"

    units: Count = Field(title="number of units of the hidden layer")
    epochs: Count
    batch_size: Annotated[int, Field(ge=2)]
    learning_rate: Positive
    relational_weight: Annotated[float, Field(ge=0.0)] = Field(
        title="weight of the in-batch Kullback-Leibler divergence"
    )
    temperature: Positive = Field(title="temperature of the in-batch similarity distributions")
    seed: Seed


class FineTunedStudent(Switchable):
    """The student that is fine-tuned on the human ratings of STS-B train."""

    name: ClassVar[str] = "fine_tuned_student"
    number: ClassVar[str] = "epochs"

    epochs: Count
    batch_size: Annotated[int, Field(ge=2)]
    map_learning_rate: Positive = Field(title="learning rate of the linear map that all tokens share")
    token_weight_learning_rate: Positive = Field(title="learning rate of the logarithms of the token weights")
    direction_learning_rate: Positive = Field(
        title="learning rate of the direction along which a token's component sets its weight"
    )
    seed: Seed


class FineTunedTeacher(ScoredTraining):
    """Teachers that are fine-tuned on human ratings, for the fine-tuned student; `precision` is their labels', too."""

    name: ClassVar[str] = "fine_tuned_teacher"

    seed: Seed
