"""The model card of the multilingual encoder: the content of its README.md."""

from collections.abc import Iterable, Mapping
from typing import Final

from measurements.release.multilingual.corpus import Share
from measurements.release.multilingual.evaluation import Part, Scores
from measurements.release.multilingual.languages import BY_CODE, ENGLISH, LANGUAGES
from measurements.release.multilingual.licences import Origin
from reproductions.docs.tables.cells import one

_HEAD: Final = """---
library_name: sentence-transformers
tags: [sentence-transformers, model2vec, sentence-similarity, static-embeddings]
language: [{codes}]
license: other
---

# The multilingual student of sentence-distillery

Sentence embeddings of {dimension} dimensions in {count} languages, without a neural network: a vector for each of
{tokens:,} tokens, their mean, unit length. Made by `make multilingual` from {texts:,} texts.

```python
from sentence_distillery import load

model = load("released-multilingual")
german, english = model.encode(["Der Sturm schloss den Hafen.", "The storm closed the port."])
print(german @ english)
```

## What it was trained on

The English encoder of the same library gives the target of a text whose English translation is known. The Universal
Sentence Encoder, multilingual v3 (Apache-2.0), gives the target of a text in one of its languages; it does not know
{untaught}, where it reads the English translation. "Second teacher" counts the texts whose target has a say of it, and
"tokens" the different tokens of all texts of a language.

| language | texts | second teacher | tokens |
| --- | --: | --: | --: |
"""
_PACKAGES: Final = """
The texts come from packages with licences of their own:

| package | licence as stated | archive | SHA-256 |
| --- | --- | --- | --- |
"""
_DESCRIPTIONS: Final = (
    "\nDebian's descriptions of packages, and their translations, are under the GPL, version 2 or later.\n"
)
_FIGURES: Final = """
## How good it is

STS-B ({part}): rank correlation with human ratings × 100. Tatoeba: per cent of the sentences whose nearest English
sentence is their translation, on {half} half. Words known: per cent of Tatoeba's words that are one token.

| language | STS-B | Tatoeba | words known |
| --- | --: | --: | --: |
"""


def card(dimension: int, tokens: int, counted: Mapping[str, Share], origins: Mapping[str, Origin]) -> str:
    """Write the model card: `tokens` in the vocabulary, what each language has, and the origins of the texts."""
    names = {ENGLISH: "English"} | {language.code: language.name for language in LANGUAGES}
    head = _HEAD.format(
        codes=", ".join(sorted(names)),
        count=len(names),
        dimension=dimension,
        tokens=tokens,
        texts=sum(share.texts for share in counted.values()),
        untaught=", ".join(language.name for language in LANGUAGES if not language.taught),
    )
    languages = [
        f"| {names[code]} | {share.texts:,} | {share.taught:,} | {share.tokens:,} |\n"
        for code, share in sorted(counted.items(), key=lambda item: names[item[0]])
    ]
    packages = [
        f"| {name} | {of.licence} | {of.archive} | {of.sha256[:16]} |\n" for name, of in sorted(origins.items())
    ]
    return head + "".join(languages) + _PACKAGES + "".join(packages) + _DESCRIPTIONS


def figures(scores: Iterable[Scores], part: Part) -> str:
    """Write the section of the card with the figures by language."""
    rows = [
        f"| {BY_CODE[score.language].name} | {one(score.similarity)} | {one(score.retrieval)} | "
        f"{one(score.known, digits=0)} |\n"
        for score in scores
    ]
    half = "the first" if part == "dev" else "the second"
    return _FIGURES.format(part=part, half=half) + "".join(rows)
