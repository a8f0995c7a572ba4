"""Options of component focusing (paper 3)."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from sentence_distillery.io.options import Count, Positive, Section, Seed
from sentence_distillery.pairs.options import ScoredTraining


class ComponentFocus(Section):
    """Encoders that see a sentence's component beside it (paper 3); the lists are the axes of the matrix."""

    encoders: list[str] = Field(min_length=1, title="names in section `encoders`")
    tasks: list[Annotated[str, Field(pattern=r"^[^+]+(\+labels|\+augmented)?$")]] = Field(
        min_length=1,
        title="sets of scored pairs, stsb and sick in the paper; also one +labels or +augmented, to train on",
    )
    weights: list[Annotated[float, Field(ge=0.0)] | Literal["one", "roles", "gate"]] = Field(
        min_length=1, title="W_cf; 0.0 is SBERT, and a word is a way to learn it with the encoder"
    )

    functions: dict[str, Annotated[str, Field(pattern=r"^[\w.]+:\w+$")]] = Field(
        title="name -> module:function, encoders that take the component at inference alone"
    )

    @field_validator("functions")
    @classmethod
    def _names_are_free(cls, functions: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if taken := sorted(functions.keys() & {"student", *info.data.get("encoders", ())}):
            raise ValueError(f"'{taken[0]}' is the name of another encoder")
        return functions

    @field_validator("weights", mode="before")
    @classmethod
    def _each_names_its_cell(cls, weights: Any) -> Any:
        """DVC names a cell as the file has its weight, the stage as Python writes it."""
        given = weights if isinstance(weights, list) else []
        if whole := [weight for weight in given if isinstance(weight, int)]:
            raise ValueError(f"write {float(whole[0])} instead of {whole[0]}")
        if len(set(map(str, given))) < len(given):
            raise ValueError(f"{given} has a weight twice")
        return weights


class ComponentTraining(ScoredTraining):
    """How a cell of that grid is trained; with 0 epochs the component comes at inference alone."""

    seeds: list[Seed] = Field(min_length=1, title="every cell is trained with each")
    pooling: Literal["mean", "max", "cls"]
    label_weight: Positive = Field(title="of the labels' cross-entropy beside the scores' loss, in tasks +labels")


class AugmentedPairs(Section):
    """Pairs that a teacher scores, for the tasks +augmented of component_focus."""

    teacher: str = Field(title="name in section `encoders`; tuned on the task first, as component_training says")
    seeds: list[Seed] = Field(min_length=1, title="it is tuned with each, and their mean cosine is the score")
    pairs: Count = Field(title="beside those that people scored")
    nearest: Count = Field(title="rank of the farthest neighbour that a sentence is paired with")
    share: Annotated[float, Field(ge=0.0, le=1.0)] = Field(title="what the teacher has to say in people's scores")
    seed: Seed = Field(title="of the pairs that are drawn")
