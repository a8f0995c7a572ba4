"""Options that name a transformer, and the error that says which of them is wrong."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.options import Section

MAXIMUM_LENGTH = 128  # word pieces, unless a teacher says otherwise


class Teacher(Section):
    """A transformer. Few have a prompt, so its two options may be left out: the default prompt of its files counts."""

    reference: str = Field(title="package:<name>, a local path, or a hub id")
    revision: str | None = Field(title="the pinned commit of a hub id")
    sha256: str | None = Field(title="SHA-256 of model.safetensors; null accepts any")
    maximum_length: Annotated[int, Field(ge=2)] = Field(title="word pieces, special ones included")
    prompt: str | None = Field(default=None, title="what is put before every text; '' for nothing")
    prompt_name: str | None = Field(default=None, title="the same, by its name in the encoder's files")

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.prompt is not None and self.prompt_name is not None:
            raise ValueError(f"prompt = {self.prompt!r} and prompt_name = {self.prompt_name!r} are both given; keep one")
        return self


class TeacherError(InputError):
    """An option of a `Teacher` does not match the model that its reference names.

    `field` is the wrong option and `value` its value, so that code that read the options from a file can name the key.
    """

    def __init__(
        self,
        message: str,
        reference: str,
        field: Literal["reference", "revision", "sha256", "maximum_length", "prompt_name"] = "reference",
        value: object = None,
    ) -> None:
        super().__init__(message)
        self.reference = reference
        self.field = field
        self.value = reference if field == "reference" else value

    def __reduce__(self) -> tuple[type["TeacherError"], tuple[object, ...]]:
        """Pickle all arguments, so that a child process can send the error back."""
        return type(self), (str(self), self.reference, self.field, self.value)


class AbsentModelError(TeacherError):
    """The weights that a reference names are not on this machine and cannot be fetched."""
