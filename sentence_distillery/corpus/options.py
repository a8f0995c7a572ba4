"""Options of reading and cleaning a corpus."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from sentence_distillery.io.options import Count, Fraction, Language, Section, Seed


class Columns(Section):
    """Which column of a table holds which field of an article; null, or not named, if the table lacks it."""

    text: str
    title: str | None = None
    url: str | None = None
    published: str | None = None
    source: str | None = None


class HeldOut(Section):
    share: Annotated[float, Field(ge=0.0, le=0.5)] = Field(
        default=0.05, title="share of the sentences, in whole documents, that no model is trained on; 0: none"
    )
    maximum_sentences: Count = Field(default=2000, title="maximum number of held-out sentences")
    seed: Seed = 1
    pool: str = Field(
        default="",
        title="file of held-out texts that stay the same as the text grows, drawn once; one without texts: "
        "each edition draws its own",
    )


class Clean(Section):
    language: Language = Field(default="en", title="ISO 639-1 code; documents in another language are dropped")
    minimum_tokens: Count = Field(default=4, title="minimum length of a sentence in words; shorter ones are dropped")
    maximum_tokens: Count = Field(default=100, title="maximum length of a sentence in words; longer ones are dropped")
    near_duplicate_threshold: Fraction = Field(
        default=0.8, title="Jaccard similarity of word 3-grams from which a document counts as a near duplicate; 1: off"
    )
    line_repeats: Annotated[int, Field(ge=2)] = Field(
        default=10, title="number of documents of one source from which a repeated line counts as boilerplate"
    )
    shard_documents: Count = Field(default=1000, title="number of documents in each part of data/corpus/sentences")

    @model_validator(mode="after")
    def _some_length_is_kept(self) -> Self:
        if self.minimum_tokens > self.maximum_tokens:
            raise ValueError(
                f"minimum_tokens = {self.minimum_tokens} is above maximum_tokens = "
                f"{self.maximum_tokens}; lower the first or raise the second"
            )
        return self


class Sections(Section):
    """What this room reads of params.yaml."""

    clean: Clean
    held_out: HeldOut
