"""tokenizer.json, which the package `tokenizers` reads, or the native core alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sentence_distillery.encoder.native.vocabulary import Loaded, Vocabulary, loaded, read_vocabulary, vocabulary_of
from sentence_distillery.encoder.persistence.json_files import LARGEST_JSON, REMEDY, check_file
from sentence_distillery.io.errors import InputError, one_line

if TYPE_CHECKING:  # its import takes longer than encoding a text
    from tokenizers import Tokenizer


class TokenizerFile(NamedTuple):
    """A tokenizer.json.

    Attributes:
        source: Its path, or its content, as pickled models have it.
    """

    source: Path | bytes

    def tokenizer(self) -> Tokenizer:
        """Read it for `tokenizers`; raises InputError if it is not a tokenizer."""
        from tokenizers import Tokenizer

        source = self.source
        if isinstance(source, Path):
            check_file(source, LARGEST_JSON)
        try:
            found = Tokenizer.from_buffer(source) if isinstance(source, bytes) else Tokenizer.from_file(str(source))
            found.no_padding()  # as in both other libraries: padding would count as tokens
            return found
        except Exception as error:  # tokenizers raises plain Exception
            name = "The content of a pickled model" if isinstance(source, bytes) else source
            # It may quote all that the file holds.
            raise InputError(f"{name} is not a tokenizer: {one_line(error)}. {REMEDY}") from error

    def pickled(self) -> bytes:
        """Return its content; another machine may not have the file."""
        return self.source.read_bytes() if isinstance(self.source, Path) else self.source

    def vocabulary(self) -> Vocabulary | Loaded | None:
        """Read what the native core looks up; None if it is of another kind."""
        return read_vocabulary(self.content())

    def content(self) -> bytes:
        """Return its content; nothing if it cannot be read, and `tokenizer` and `checked_vocabulary` say why."""
        try:
            if isinstance(self.source, Path):
                check_file(self.source, LARGEST_JSON)
            return self.pickled()
        except (OSError, InputError):
            return b""

    def checked_vocabulary(self) -> Vocabulary | Loaded:
        """Read what the native core looks up, much faster than the whole tokenizer; raises InputError."""
        if isinstance(self.source, Path):
            check_file(self.source, LARGEST_JSON)
        try:
            # The core reads what `tokenizers` writes; errors are those of the parser of JSON.
            content = self.pickled()
            return loaded(content) or vocabulary_of(json.loads(content))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = "it does not exist" if isinstance(error, FileNotFoundError) else error
            raise InputError(
                f"{self.source!s} is not a tokenizer of a static student: {reason}. If another program made the model, "
                f"load it with that one. {REMEDY}"
            ) from error
