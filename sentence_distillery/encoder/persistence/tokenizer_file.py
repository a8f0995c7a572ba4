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
    """A tokenizer.json, which was read once: what comes in its place later is another model's.

    Attributes:
        name: How errors call it.
        content: What it holds.
    """

    name: str
    content: bytes

    def tokenizer(self) -> Tokenizer:
        """Read it for `tokenizers`; raises InputError if it is not a tokenizer."""
        from tokenizers import Tokenizer

        try:
            found = Tokenizer.from_str(self.content.decode())
            found.no_padding()  # as in both other libraries: padding would count as tokens
            return found
        except Exception as error:  # tokenizers raises plain Exception
            # It may quote all that the file holds.
            raise InputError(f"{self.name} is not a tokenizer: {one_line(error)}. {REMEDY}") from error

    def pickled(self) -> bytes:
        """Return its content."""
        return self.content

    def vocabulary(self) -> Vocabulary | Loaded | None:
        """Read what the native core looks up; None if it is of another kind."""
        return read_vocabulary(self.content)

    def checked_vocabulary(self) -> Vocabulary | Loaded:
        """Read what the native core looks up, much faster than the whole tokenizer; raises InputError."""
        try:
            # The core reads what `tokenizers` writes; errors are those of the parser of JSON.
            return loaded(self.content) or vocabulary_of(json.loads(self.content))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(
                f"{self.name} is not a tokenizer of a static student: {error}. If another program made the model, "
                f"load it with that one. {REMEDY}"
            ) from error


def read_tokenizer_file(path: Path) -> TokenizerFile:
    """Read tokenizer.json; raises InputError if it cannot be read, or has more than LARGEST_JSON bytes."""
    check_file(path, LARGEST_JSON)
    try:
        return TokenizerFile(str(path), path.read_bytes())
    except OSError as error:
        reason = "it does not exist" if isinstance(error, FileNotFoundError) else error
        raise InputError(f"{path} is not a tokenizer of a model: {reason}. {REMEDY}") from error
