"""Options of dependency parsing."""

from pydantic import Field

from sentence_distillery.io.options import Count, Section


class Syntax(Section):
    """The sentences to parse, and the model to parse them with."""

    model: str = Field(title="bundled: models/syntax; hub: Stanza's own, fetched once; or a directory of models")
    maximum_words: Count = Field(title="a text with a longer sentence has no tree; memory grows with the square")
    sets: list[str] = Field(title="benchmark sets of pairs; absent ones are reported")
