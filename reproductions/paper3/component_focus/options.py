"""Options of component focusing (paper 3)."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from reproductions.encoders.options import ScoredTraining
from sentence_distillery.io.options import Count, Positive, Section, Seed

PoolingOrder = Literal["before_pooling", "after_pooling"]  # when a sentence and its component are added


class ComponentFocus(Section):
    """Encoders that read a sentence and its component (paper 3); the lists are the axes of the matrix."""

    encoders: list[str] = Field(min_length=1, title="names of section `encoders`")
    tasks: list[Annotated[str, Field(pattern=r"^[^+]+(\+labels|\+augmented)?$")]] = Field(
        min_length=1,
        title="sets of rated pairs (stsb and sick in the paper); +labels adds a loss on labels, +augmented adds pairs",
    )
    weights: list[Annotated[float, Field(ge=0.0)] | Literal["one", "roles", "tags", "gate"]] = Field(
        min_length=1, title="values of W_cf; 0.0 is SBERT; one, roles, tags and gate learn it with the encoder"
    )

    functions: dict[str, Annotated[str, Field(pattern=r"^[\w.]+:\w+$")]] = Field(
        default={}, title="further encoders (name: module:function), which get the component only at inference"
    )

    @field_validator("functions")
    @classmethod
    def _names_are_free(cls, functions: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if taken := sorted(functions.keys() & {"student", *info.data.get("encoders", ())}):
            raise ValueError(f"'{taken[0]}' is the name of another encoder; choose another name")
        return functions

    @field_validator("weights", mode="before")
    @classmethod
    def _each_names_its_cell(cls, weights: Any) -> Any:
        """Refuse weights that DVC and Python would write differently in a cell's name."""
        given = weights if isinstance(weights, list) else []
        if whole := [weight for weight in given if isinstance(weight, int)]:
            raise ValueError(f"write {float(whole[0])} instead of {whole[0]}")
        if len(set(map(str, given))) < len(given):
            raise ValueError(f"{given} has a weight twice; name each weight once")
        return weights


class ComponentTraining(ScoredTraining):
    """How a cell of that grid is trained; if it is not enabled, the component is used at inference only."""

    name: ClassVar[str] = "component_training"

    seeds: list[Seed] = Field(default=[1], min_length=1, title="seeds of the training of every cell")
    pooling: Literal["mean", "max", "cls"] = "mean"
    order: PoolingOrder = Field(
        default="before_pooling",
        title="before_pooling adds token outputs, as in section 3.2.1 of paper 3; after_pooling adds pooled vectors",
    )
    prepositional_objects: bool = Field(
        default=True,
        title="true: as table 2 of paper 3 defines a component; false: as the parse of its table 3 leaves it",
    )
    label_weight: Positive = Field(
        default=0.1,
        title="weight of the cross-entropy of the labels in tasks with +labels, relative to the loss on ratings",
    )


class AugmentedPairs(Section):
    """Training pairs that a teacher scores, for the tasks +augmented of component_focus."""

    teacher: str = Field(title="a name of section `encoders`; first fine-tuned on the task, as in component_training")
    seeds: list[Seed] = Field(
        default=[1, 2], min_length=1, title="seeds of the teacher's fine-tuning; the mean cosine is the score"
    )
    pairs: Count = Field(default=6000, title="number of pairs to add to the human-rated ones")
    nearest: Count = Field(
        default=64, title="number of nearest neighbours from which the partner of a sentence is drawn"
    )
    share: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        default=0.3, title="weight of the teacher's scores in the mixture with human ratings"
    )
    seed: Seed = Field(default=1, title="seed of the random choice of pairs")


class Sections(Section):
    """What this room reads of params.yaml."""

    component_focus: ComponentFocus
    component_training: ComponentTraining
    augmented_pairs: AugmentedPairs
