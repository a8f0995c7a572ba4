"""Options of training an encoder."""

from typing import Annotated, ClassVar

from pydantic import Field

from sentence_distillery.io.options import Count, Positive, Precision, Switchable


class ScoredTraining(Switchable):
    """The training of an encoder on rated pairs."""

    number: ClassVar[str] = "epochs"

    epochs: Count = Field(default=4, title="passes over the pairs, 4 in paper 3; the best one on dev is kept")
    batch_size: Count = Field(default=16, title="pairs in a step, 16 in the paper")
    learning_rate: Positive = Field(default=2e-05, title="learning rate of Adam, 2e-5 in the paper")
    warm_up: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(
        default=0.1, title="share of the steps in which the learning rate rises, 0.1 in the paper"
    )
    precision: Precision = "float32"
