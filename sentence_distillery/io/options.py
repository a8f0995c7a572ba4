"""Typed options: frozen models without defaults that refuse unknown keys."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Precision = Annotated[
    Literal["float32", "bfloat16"],
    Field(title="of the matrix products until the best epoch is known; bfloat16 is fast if the processor supports it"),
]
Language = Annotated[str, Field(pattern="^[a-z]{2}$")]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
