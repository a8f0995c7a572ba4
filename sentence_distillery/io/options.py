"""Typed options: frozen models that refuse unknown keys, and the one place of all defaults."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sentence_distillery.io.errors import setting
from sentence_distillery.io.unavailable import Unavailable

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Precision = Annotated[
    Literal["float32", "bfloat16"],
    Field(
        title="precision of the matrix products until the best epoch is known; bfloat16 is fast if the processor "
        "supports it"
    ),
]
Enabled = Annotated[bool, Field(title="false: the stage trains nothing, and its results are reported as unavailable")]
Language = Annotated[str, Field(pattern="^[a-z]{2}$")]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def problems(error: ValidationError, names: Mapping[str, str], options: Mapping[str, str]) -> str:
    """Say in one line which options are wrong, as the user typed them.

    Args:
        error: Of a model of options.
        names: The argument of the user's function, by the name of an option, where they differ; "" if an option follows
            from another one, which is wrong, too.
        options: The option of the command line, by the argument, where they differ.
    """
    found = []
    for detail in error.errors():
        if not detail["loc"]:  # of several options, which the message names
            found.append(str(detail["ctx"]["error"]))
            continue

        # A default that follows from a wrong option would be reported as a second mistake.
        field = str(detail["loc"][0])
        name = names.get(field, field)
        if not name:
            continue
        found.append(f"{setting(name, repr(detail['input']), options.get(name, ''))}: {detail['msg']}")
    return "; ".join(found)


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
