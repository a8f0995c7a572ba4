"""The model card of the multilingual encoder: the content of its README.md."""

from collections.abc import Mapping
from typing import Final

from measurements.release.multilingual.languages import ENGLISH, LANGUAGES
from measurements.release.multilingual.licences import Origin

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

Languages: {names}. The how-to "Other languages" has the figures by language.

## What it was trained on

The English encoder of the same library gives the target of a text whose English translation is known. The Universal
Sentence Encoder, multilingual v3 (Apache-2.0), gives the target of a text in one of its languages; it does not know
Swedish, Hindi and Vietnamese. The texts come from packages with licences of their own:

| package | licence as stated | archive | SHA-256 |
| --- | --- | --- | --- |
"""

DESCRIPTIONS: Final = (
    "\nDebian's descriptions of packages, and their translations, are under the GPL, version 2 or later.\n"
)


def card(dimension: int, tokens: int, texts: int, origins: Mapping[str, Origin]) -> str:
    """Write the model card.

    `dimension`: of the vectors; `tokens`: in the vocabulary; `texts`: That were trained on; `origins`: of the texts, by
    package. Returns Markdown.
    """
    languages = sorted([(ENGLISH, "English"), *((language.code, language.name) for language in LANGUAGES)])
    head = _HEAD.format(
        codes=", ".join(code for code, _ in languages),
        names=", ".join(sorted(name for _, name in languages)),
        count=len(languages),
        dimension=dimension,
        tokens=tokens,
        texts=texts,
    )
    rows = [f"| {name} | {of.licence} | {of.archive} | {of.sha256[:16]} |\n" for name, of in sorted(origins.items())]
    return head + "".join(rows) + DESCRIPTIONS
