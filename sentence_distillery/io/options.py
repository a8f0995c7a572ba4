"""Typed options: frozen models that refuse unknown keys, and the one place of all defaults."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sentence_distillery.io.errors import option, setting

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
Language = Annotated[str, Field(pattern="^[a-z]{2}$")]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def problems(error: ValidationError, names: Mapping[str, str], options: Mapping[str, str]) -> str:
    """Say in one line which options of a model are wrong, as the user typed them.

    `names` has the argument of the user's function for an option, where they differ; "" if it follows from another one,
    which is wrong, too. `options` has the option of the command line for an argument, where they differ.
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
        typed = options.get(name, "")
        if detail["type"] == "value_error":  # its message has the value
            found.append(f"{option(name, typed)}: {detail['ctx']['error']}")
        else:
            found.append(f"{setting(name, repr(detail['input']), typed)}: {detail['msg']}")
    return "; ".join(found)
