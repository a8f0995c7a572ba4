"""Texts with their vectors: neighbours by a student, and by its teacher if there are soft labels.

A text from a table has the values of the other columns with it, by which the neighbours can be filtered.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.distillation.label_files import READ, embedding_array, sentence_ids, soft_label_schema
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError, read_json, read_table, table_parts
from sentence_distillery.io.contents import Labeller
from sentence_distillery.io.ragged import Floats, unit_rows

SENTENCES = "sentences"  # the folders of the working directory of `distill`
SOFT_LABELS = "soft_labels"
LIMIT = 100_000  # texts
EXAMPLES = 3
EXAMPLE = 60  # characters, about
CHOICES = 50  # values of a column that a filter lists; one with more is searched for a part of its value
NEAR = 0.97  # cosine of texts that differ in a word or two, if at all


@dataclass(frozen=True)
class Neighbour:
    """A text of the collection, and its cosine with the query."""

    index: int
    text: str
    score: float


@dataclass(frozen=True)
class Group:
    """A neighbour, and those further from the query that are nearly the same text."""

    first: Neighbour
    others: Sequence[Neighbour]


@dataclass(frozen=True)
class Where:
    """A filter: texts with a value in a column."""

    column: str
    value: str


@dataclass(frozen=True, eq=False)
class Collection:
    """Texts and their vectors at unit length.

    Attributes:
        encoder: The student.
        texts: The texts.
        vectors: (texts, dimension) float32, the student's.
        teacher: (texts, dimension) float32, the teacher's, or None if there are no soft labels.
        left_out: Texts above the limit, which are not in the collection.
        columns: The values of the other columns as text, by the name of the column, a value for each text.
    """

    encoder: StaticEncoder
    texts: Sequence[str]
    vectors: Floats
    teacher: Floats | None = None
    left_out: int = 0
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def choices(self) -> dict[str, list[str]]:
        """The values of each column, if it has at most CHOICES; else none."""
        found = {name: sorted(set(values)) for name, values in self.columns.items()}
        return {name: values if len(values) <= CHOICES else [] for name, values in found.items()}

    @cached_property
    def examples(self) -> list[str]:
        """A few texts to search for: of each third of the collection the one whose length is closest to EXAMPLE."""
        known = np.flatnonzero(self.vectors.any(axis=1))
        thirds = [part[:5_000] for part in np.array_split(known, EXAMPLES) if len(part)]
        chosen = [min(part, key=lambda index: abs(len(self.texts[index]) - EXAMPLE)) for part in thirds]
        return list(dict.fromkeys(self.texts[index] for index in chosen))

    @classmethod
    def of_rows(
        cls, encoder: StaticEncoder, rows: Iterable[tuple[str, Mapping[str, object]]], limit: int = LIMIT
    ) -> "Collection":
        """Encode up to `limit` texts that are not blank, each with the values of its other columns; count the rest.

        Raises InputError if there is none.

        Example:
            >>> from sentence_distillery import load
            >>> found = Collection.of_rows(load(), [("The storm closed the port.", {}), ("Shares fell.", {})])
            >>> [neighbour.text for neighbour in found.search("a gale at the harbour", 1)]
            ['The storm closed the port.']
        """
        filled = ((text.strip(), row) for text, row in rows if text.strip())
        listed = list(islice(filled, limit))
        if not listed:
            raise InputError("There is no text to explore: the files are empty or blank. Give files with text.")
        texts = [text for text, _ in listed]
        names = dict.fromkeys(name for _, row in listed for name in row)
        columns = {name: [_shown(row.get(name)) for _, row in listed] for name in names}
        filled_columns = {name: values for name, values in columns.items() if any(values)}
        left_out = sum(1 for _ in filled)
        return cls(encoder, texts, encoder.encode_document(texts), left_out=left_out, columns=filled_columns)

    @classmethod
    def labelled(cls, encoder: StaticEncoder, directory: Path, limit: int = LIMIT) -> "Collection":
        """Read the working directory of `distill`: up to `limit` sentences and the teacher's embedding of each.

        Raises InputError if a file cannot be read, or the soft labels are of other sentences.
        """
        dimension = int(read_json(directory / SOFT_LABELS / "teacher.json", Labeller)["dimension"])
        texts: list[str] = []
        labels: list[Floats] = []
        left_out = 0

        # Labels are beside the sentences, part by part; what is above the limit is counted and not read.
        for part in table_parts(directory / SENTENCES):
            sentences = read_table(part, READ)
            room = limit - len(texts)
            left_out += max(len(sentences) - room, 0)
            if room > 0:
                kept = sentences.slice(0, room)
                texts += kept["text"].to_pylist()
                labels.append(_labels(directory / SOFT_LABELS / part.name, dimension, kept))
        return cls(encoder, texts, encoder.encode_document(texts), unit_rows(np.concatenate(labels)), left_out)

    def search(self, query: str, count: int, where: Where | None = None) -> list[Neighbour]:
        """Find the texts whose vectors are closest to a query's; none if the student knows no word of it."""
        vector = self.encoder.encode_query(query)
        return self._nearest(self.vectors, vector, count, where) if vector.any() else []

    def alike(self, index: int, count: int, where: Where | None = None) -> list[Neighbour]:
        """Find the texts closest to one of the collection, by the student."""
        return self._nearest(self.vectors, self.vectors[index], count, where, without=index)

    def alike_for_teacher(self, index: int, count: int, where: Where | None = None) -> list[Neighbour] | None:
        """Find the texts closest to one of the collection, by the teacher; None without soft labels."""
        return None if self.teacher is None else self._nearest(self.teacher, self.teacher[index], count, where, index)

    def groups(self, neighbours: Sequence[Neighbour], count: int, vectors: Floats | None = None) -> list[Group]:
        """Put neighbours that are nearly the same text, with a cosine of NEAR or more, in at most `count` groups.

        A neighbour of none of them is left out. `vectors` are the teacher's for its neighbours; None: the student's.
        """
        vectors = self.vectors if vectors is None else vectors
        firsts: list[Neighbour] = []
        others: list[list[Neighbour]] = []

        # Compared with the first of each group alone, so that a chain of small changes makes no group.
        for neighbour in neighbours:
            cosines = vectors[[first.index for first in firsts]] @ vectors[neighbour.index]
            if len(cosines) and cosines.max() >= NEAR:
                others[int(cosines.argmax())].append(neighbour)
            elif len(firsts) < count:
                firsts.append(neighbour)
                others.append([])
        return [Group(first, near) for first, near in zip(firsts, others, strict=True)]

    def _rows_where(self, where: Where) -> NDArray[np.bool_]:
        """Tell which texts pass a filter: the value itself in a column with few values, else a part of it."""
        values, wanted = self.columns[where.column], where.value.casefold()
        if self.choices[where.column]:
            return np.array([value == where.value for value in values])
        return np.array([wanted in value.casefold() for value in values])

    def _nearest(
        self, vectors: Floats, vector: Floats, count: int, where: Where | None, without: int | None = None
    ) -> list[Neighbour]:
        scores = vectors @ vector
        kept = np.ones(len(scores), bool) if where is None else self._rows_where(where)
        if without is not None:
            kept[without] = False
        scores[~kept] = -np.inf
        count = min(count, int(kept.sum()))
        best = np.argpartition(-scores, count - 1)[:count] if 0 < count < len(scores) else np.arange(len(scores))
        ordered = best[np.lexsort([best, -scores[best]])][:count]
        return [Neighbour(int(index), self.texts[index], float(scores[index])) for index in ordered]


def _shown(value: object) -> str:
    """Return a value of a column as text; an absent one is empty."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | list | dict) else str(value)


def _labels(path: Path, dimension: int, sentences: pa.Table) -> Floats:
    """Read the soft labels of sentences; raises InputError if they are of others."""
    labels = read_table(path, soft_label_schema(dimension)).slice(0, len(sentences))
    if not sentence_ids(sentences["document"], sentences["position"]).equals(labels["sentence"]):
        raise InputError(f"{path} does not belong to these sentences; distil again with the same texts.")
    return embedding_array(labels["embedding"]).astype(np.float32)
