"""Prompts, which are put before a text, as in sentence-transformers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

QUERY: Final = "query"
DOCUMENT: Final = "document"
NONE: Final = {QUERY: "", DOCUMENT: ""}


class Prompts(NamedTuple):
    """The prompts of a model.

    Attributes:
        named: The text of each, by its name; "query" and "document" are always there.
        default: The name of the one before each text of `encode`; None puts none.
    """

    named: Mapping[str, str] = NONE
    default: str | None = None

    def chosen(self, prompt: str | None, name: str | None) -> str:
        """Return the text to put before each text, perhaps empty: given, or by its name, or the default one.

        Raises TypeError if `prompt` is not a str, ValueError if both are given or there is no prompt of this name.
        """
        if prompt is not None and name is not None:
            raise ValueError(f"prompt {prompt!r} and prompt_name {name!r} are given; give one of them.")
        if prompt is not None:
            if not isinstance(prompt, str):
                raise TypeError(f"prompt is a str, not {type(prompt).__name__}.")
            return prompt

        # A name that the model lacks is refused, and not taken for no prompt.
        wanted = self.default if name is None else name
        if wanted is None:
            return ""
        if wanted not in self.named:
            raise ValueError(f"prompt_name is {wanted!r}; this model has {', '.join(map(repr, self.named))}.")
        return self.named[wanted]
