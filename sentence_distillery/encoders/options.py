"""Options that name a transformer."""

from typing import Annotated

from pydantic import Field

from sentence_distillery.io.options import Section


class Teacher(Section):
    reference: str = Field(title="package:<name>, a local path, or a hub id")
    revision: str | None = Field(title="the pinned commit of a hub id")
    sha256: str | None = Field(title="SHA-256 of model.safetensors; null accepts any")
    maximum_length: Annotated[int, Field(ge=2)] = Field(title="word pieces, special ones included")
