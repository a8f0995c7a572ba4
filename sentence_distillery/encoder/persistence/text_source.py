"""How the texts of a saved model become tokens, as the library that saved it has them.

                            sentence-transformers              model2vec
    prompt                  before the text                    none
    length of a text        `truncation` of tokenizer.json     `max_length` of config.json, else 512 tokens
    unknown tokens          count, with a vector               are left out
    tokens                  tokenizer.json, without special tokens and padding, in both

If a look-up in the native core gives these tokens, it is taken. Otherwise the package `tokenizers` applies
tokenizer.json, which takes some ten times as long.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sentence_distillery.encoder.exchange.text_rules import LEFT_OUT, MAX_LENGTH, TextRules, unknown_id
from sentence_distillery.encoder.persistence.files import ModelFiles
from sentence_distillery.encoder.persistence.json_files import REMEDY
from sentence_distillery.encoder.persistence.layout import Layout
from sentence_distillery.encoder.persistence.names import CONFIG, TEXT_RULES, TOKENIZER
from sentence_distillery.encoder.persistence.tokenizer_file import read_tokenizer_file
from sentence_distillery.encoder.texts import is_whole
from sentence_distillery.encoder.tokens import InMemory, Tokens
from sentence_distillery.io.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODEL2VEC_LENGTH: Final = 512  # tokens, if config.json of model2vec has no max_length


class Texts(NamedTuple):
    """The tokens of a model, and the rows that they need.

    Attributes:
        tokens: How texts become tokens.
        rows: That the table needs.
        exactly: Whether it may not have more.
    """

    tokens: Tokens
    rows: int
    exactly: bool = True


class TextSource(NamedTuple):
    """What decides how a model's texts become tokens.

    Attributes:
        layout: What config.json and modules.json say.
        by_model2vec: Whether model2vec saved the model.
        files: Its files, which threads read.
    """

    layout: Layout
    by_model2vec: bool
    files: ModelFiles

    @property
    def _path(self) -> Path:
        return self.layout.folder / TOKENIZER

    @property
    def _of_means(self) -> bool:
        """Whether a layer needs means, and not directions alone."""
        return self.layout.layer is not None and self.layout.layer.of_means

    def read(self) -> Texts:
        """Choose the fastest way that gives the tokens of the library that saved the model."""
        if self.layout.ours and TEXT_RULES not in self.layout.config:
            if (length := self.layout.config.get("max_length")) is not None:
                raise InputError(
                    f"{self.layout.directory / CONFIG}: max_length is {length!r}, but a student reads texts to their "
                    "end. Set it to null, and give encode a max_length."
                )
            return self._of_paper() if self._of_means else self._looked_up()

        # In another library unknown tokens count in means, and model2vec may cut texts: a look-up does neither.
        cut = self.layout.config.get("max_length", MODEL2VEC_LENGTH) if self.by_model2vec else None
        means = self._of_means or not (self.by_model2vec or self.layout.normalized)
        if means or self.layout.ours or cut is not None:
            return self.by_rules()
        try:
            return self._looked_up()._replace(exactly=False)
        except InputError:  # another tokenizer, or a damaged one
            return self.by_rules()

    def _looked_up(self) -> Texts:
        begun = self._path == self.files.directory / TOKENIZER
        file = (self.files.tokenizer if begun else None) or read_tokenizer_file(self._path)
        vocabulary = (self.files.vocabulary.result() if begun else None) or file.checked_vocabulary()
        return Texts(Tokens(file, known=vocabulary), vocabulary.size)

    def _of_paper(self) -> Texts:
        # Its means are of all tokens, so the tokenizer has to cut the whole text.
        tokenizer = read_tokenizer_file(self._path).tokenizer()
        _refuse_chance_and_gaps(self._path, tokenizer)
        if tokenizer.truncation is not None:
            raise InputError(f"{self._path}: truncation is {tokenizer.truncation}; that of a student is null. {REMEDY}")
        return Texts(Tokens(InMemory(tokenizer), of_means=True), tokenizer.get_vocab_size())

    def by_rules(self) -> Texts:
        """Take the tokens of `tokenizers`, by the rules of the library that saved the model."""
        tokenizer = read_tokenizer_file(self._path).tokenizer()
        _refuse_chance_and_gaps(self._path, tokenizer)
        rows = max(tokenizer.get_vocab().values(), default=-1) + 1

        # The library that saved the model decides about length and unknown tokens.
        if self.by_model2vec:
            tokenizer.no_truncation()  # it cuts texts itself
            rules = TextRules(unknown_id(tokenizer), self._length(self.layout.config.get(MAX_LENGTH, MODEL2VEC_LENGTH)))
        elif self.layout.ours:
            rules = self._saved_rules(self.layout.config[TEXT_RULES], rows)
        else:
            rules = TextRules()
        return Texts(Tokens(InMemory(tokenizer), rules, of_means=self._of_means), rows, exactly=False)

    def _saved_rules(self, described: object, tokens: int) -> TextRules:
        """Read the rules that `save_pretrained` wrote for another library's model of so many tokens."""
        found = described if isinstance(described, dict) else {}
        left_out = found.get(LEFT_OUT)
        if found.keys() != {LEFT_OUT, MAX_LENGTH} or not (left_out is None or is_whole(left_out, 0, tokens - 1)):
            raise self.layout.refused(
                TEXT_RULES,
                f"{described!r}; it has the id {LEFT_OUT}, below {tokens:,}, and the number of tokens {MAX_LENGTH}, or "
                "null for each",
            )
        return TextRules(left_out, self._length(found[MAX_LENGTH]))

    def _length(self, given: object) -> int | None:
        """Check the greatest number of tokens."""
        if given is None or is_whole(given, 1):
            return given
        raise self.layout.refused(MAX_LENGTH, f"{given!r}; it is a whole number from 1, or null")


def _refuse_chance_and_gaps(path: Path, tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that draws by chance, or lacks its unknown token, which its own library notices late."""
    model = tokenizer.model
    if getattr(model, "dropout", None):
        raise InputError(f"{path}: the dropout of its model is {model.dropout:g}, so tokens are drawn; set it to null.")
    token = getattr(model, "unk_token", None)

    # An added token is none of the model's own, which replace an unknown word; in BPE there may be no such word.
    own = tokenizer if type(model).__name__ == "BPE" else model
    if token is not None and own.token_to_id(token) is None:
        raise InputError(f"{path}: the unk_token of its model, '{token}', has no id in its vocabulary. {REMEDY}")
