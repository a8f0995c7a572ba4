"""Options that name a teacher, and the error that says which of them is wrong.

A kind of teacher is recognised by its first field, which no other has: `reference`, `function` or `vectors`.
"""

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Discriminator, Field, RootModel, Tag, model_validator

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import setting
from sentence_distillery.io.options import Section

FUNCTION = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"


class Teacher(Section):
    """A transformer, run here."""

    reference: str = Field(title="package:<name>, a local path, or a hub id")
    revision: str | None = Field(default=None, title="commit of a hub id")
    sha256: str | None = Field(default=None, title="SHA-256 of model.safetensors; null accepts any")
    maximum_length: Annotated[int, Field(ge=2)] | None = Field(
        default=None,
        title="maximum number of word pieces of a text, special ones included; null: that of the encoder's files",
    )
    prompt: str | None = Field(
        default=None, title="prompt before every text; '' for none, null for the default of the encoder's files"
    )
    prompt_name: str | None = Field(default=None, title="name of a prompt in the encoder's files")

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.prompt is not None and self.prompt_name is not None:
            raise ValueError(
                f"{setting('prompt', repr(self.prompt))} and {setting('prompt_name', repr(self.prompt_name))} are both "
                "given; keep one"
            )
        return self


class FunctionTeacher(Section):
    """A function that gets a list of texts and returns a row of numbers for each."""

    function: str = Field(pattern=FUNCTION, title="module:function, installed or in the working directory")
    version: str | None = Field(
        title="your version of the function; change it if vectors change but the module's source does not"
    )
    sha256: str | None = Field(title="SHA-256 of the module's source; null accepts any")

    @property
    def reference(self) -> str:
        """How messages and model cards name it."""
        return self.function


class VectorTeacher(Section):
    """Vectors by text that were made elsewhere, such as by an API; it knows no other text."""

    vectors: str = Field(title="Parquet file with the columns text (string) and vector (list of numbers)")
    sha256: str | None = Field(title="SHA-256 of the file; null accepts any")

    @property
    def reference(self) -> str:
        """How messages and model cards name it."""
        return self.vectors


KINDS: dict[str, type[Section]] = {  # by the name that an error may give; no option has such a name
    "a transformer": Teacher,
    "a function": FunctionTeacher,
    "a file of vectors": VectorTeacher,
}


def kind_of(value: Any) -> str:
    """Return the key of KINDS that a mapping of options, or a teacher, is one of."""
    for name, kind in KINDS.items():
        first = next(iter(kind.model_fields))
        if isinstance(value, kind) or (isinstance(value, dict) and first in value):
            return name
    return "a transformer"  # whose missing fields the error names


AnyTeacher = Annotated[
    Annotated[Teacher, Tag("a transformer")]
    | Annotated[FunctionTeacher, Tag("a function")]
    | Annotated[VectorTeacher, Tag("a file of vectors")],
    Discriminator(kind_of),
]


def transformer(teacher: AnyTeacher) -> Teacher:
    """Return a teacher that is a transformer; raises TeacherError if it is something else."""
    if isinstance(teacher, Teacher):
        return teacher
    field = next(iter(type(teacher).model_fields))
    raise TeacherError(
        f"{teacher.reference} is {kind_of(teacher)}, but a transformer is needed here; name a transformer, or leave "
        "this option out.",
        teacher.reference,
        field,
        teacher.reference,
    )


class Encoders(RootModel[dict[str, AnyTeacher]]):
    """Encoders by name. A name means a transformer, unless the option that uses it takes any teacher."""

    model_config = ConfigDict(frozen=True, strict=True)

    def __getitem__(self, name: str) -> Teacher:
        """Return a transformer; raises KeyError, or TeacherError if the entry is something else."""
        return transformer(self.root[name])

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a transformer."""
        return isinstance(self.root.get(str(name)), Teacher)


def check_pinned(teacher: AnyTeacher, sha256: str, has: str, remedy: str) -> None:
    """Raise TeacherError if another SHA-256 is pinned; `has` begins the message, as in "The weights have".

    A pin may have capital letters, as some programs write it.
    """
    if teacher.sha256 is not None and teacher.sha256.lower() != sha256:
        raise TeacherError(
            f"{has} the SHA-256 {sha256}, but {teacher.sha256} is pinned. {remedy}, or pin the new hash if you meant "
            "the change.",
            teacher.reference,
            "sha256",
            teacher.sha256,
        )


class TeacherError(InputError):
    """An option of a teacher does not match the model that its reference names.

    `field` is the wrong option and `value` its value, so that code that read the options from a file can name the key.
    """

    def __init__(self, message: str, reference: str, field: str = "reference", value: object = None) -> None:
        super().__init__(message)
        self.reference = reference
        self.field = field
        self.value = reference if field == "reference" else value

    def __reduce__(self) -> tuple[type["TeacherError"], tuple[object, ...]]:
        """Pickle all arguments, so that a child process can send the error back."""
        return type(self), (str(self), self.reference, self.field, self.value)


class AbsentModelError(TeacherError):
    """The weights that a reference names are not on this machine and cannot be fetched."""


class Sections(Section):
    """What this room reads of params.yaml."""

    teacher: AnyTeacher
    encoders: Encoders
