"""Options of the variants of teacher and student that did not become the default."""

from typing import Annotated, ClassVar

from pydantic import Field

from reproductions.encoders.options import ScoredTraining, Switchable
from sentence_distillery.io.options import Count, Positive, Section, Seed


class MlpHead(Switchable):
    """The student with an MLP head: a hidden layer after the sum of its token vectors."""

    name: ClassVar[str] = "mlp_head"
    number: ClassVar[str] = "units"

    units: Count = Field(default=256, title="number of units of the hidden layer")
    epochs: Count = 10
    batch_size: Annotated[int, Field(ge=2)] = 1024
    learning_rate: Positive = 0.001
    relational_weight: Annotated[float, Field(ge=0.0)] = Field(
        default=0.3, title="weight of the in-batch Kullback-Leibler divergence"
    )
    temperature: Positive = Field(default=0.05, title="temperature of the in-batch similarity distributions")
    seed: Seed = 1


class FineTunedStudent(Switchable):
    """The student that is fine-tuned on the human ratings of STS-B train."""

    name: ClassVar[str] = "fine_tuned_student"
    number: ClassVar[str] = "epochs"

    epochs: Count = 3
    batch_size: Annotated[int, Field(ge=2)] = 128
    map_learning_rate: Positive = Field(default=0.001, title="learning rate of the linear map that all tokens share")
    token_weight_learning_rate: Positive = Field(
        default=0.01, title="learning rate of the logarithms of the token weights"
    )
    direction_learning_rate: Positive = Field(
        default=0.01, title="learning rate of the direction along which a token's component sets its weight"
    )
    seed: Seed = 1


class FineTunedTeacher(ScoredTraining):
    """Teachers that are fine-tuned on human ratings, for the fine-tuned student; `precision` is their labels', too."""

    name: ClassVar[str] = "fine_tuned_teacher"

    epochs: Count = Field(default=1, title="passes over the pairs, 4 in paper 3; the best one on dev is kept")
    seed: Seed = 1


class Sections(Section):
    """What this room reads of params.yaml."""

    mlp_head: MlpHead
    fine_tuned_teacher: FineTunedTeacher
    fine_tuned_student: FineTunedStudent
