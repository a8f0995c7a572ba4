"""Options of a stage that can be switched off, and of training an encoder."""

from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from sentence_distillery.io.options import Count, Positive, Precision, Section
from sentence_distillery.io.unavailable import Unavailable

Enabled = Annotated[bool, Field(title="false: the stage trains nothing, and its results are reported as unavailable")]


class Switchable(Section):
    """The section of a stage that can be switched off; `enabled` is its first field.

    A subclass gives its `name` in params.yaml, and the number that switched the stage off before 0.2.0 with a 0.
    """

    name: ClassVar[str]
    number: ClassVar[str]

    enabled: Enabled = True

    @model_validator(mode="before")
    @classmethod
    def _zero_does_not_switch_off(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get(cls.number) == 0:
            raise ValueError(
                f"{cls.number} = 0 no longer switches the stage off; set {cls.name}.enabled to false and "
                f"{cls.name}.{cls.number} to 1 or more"
            )
        return values

    def switched_off(self) -> Unavailable | None:
        """Return the reason why a run has nothing of this stage, or None if it is enabled.

        For `mlp_head` it is `Unavailable("switched off in this run: mlp_head.enabled is false")`.
        """
        return None if self.enabled else Unavailable(f"switched off in this run: {self.name}.enabled is false")


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
