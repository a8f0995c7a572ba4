"""One reader for each benchmark's own file format: from a directory to rows with their place (file and line).

Nothing is repaired: a row that does not fit raises BadDataError. Quotes are read as each format means them: in
comma-separated files they enclose a field, in tab-separated ones they are characters like any other.
"""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sentence_distillery.io.artifacts import read_table

TRAIN_DEV_TEST = ("train", "dev", "test")
LEE_POINTS = 5  # the judges' scale, 1 (unrelated) to 5 (the same); the file holds their mean divided by this
IMDB = pa.schema([("label", pa.int8()), ("text", pa.string())])


class BadDataError(ValueError):
    """A row, a column or a count that does not fit; the message has value and place, the caller adds the remedy."""


class Pair(NamedTuple):
    place: str
    split: str
    sentence1: str
    sentence2: str
    score: float | None = None
    label: str | None = None


class Document(NamedTuple):
    place: str
    split: str
    text: str
    label: str


def records(
    path: Path, columns: Iterable[str], delimiter: str = ",", header: bool = True, comment: str | None = None
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (place, field by column) for each row that does not start with `comment`.

    `columns` must be in the header, or name all fields if the file has no header.

    Raises BadDataError with file and line for a missing column, a wrong number of fields, a stray quote, or bytes that
    are not UTF-8.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        if delimiter == "\t":
            reader = csv.reader(file, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
        else:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            names = next(reader, []) if header else list(columns)
            for missing in sorted(set(columns) - set(names)):
                raise BadDataError(f"{path}, line 1: no column '{missing}' (it has {', '.join(names) or 'none'}).")
            for fields in reader:
                if comment and fields and fields[0].startswith(comment):
                    continue
                place = f"{path}, line {reader.line_num}"
                if len(fields) != len(names):
                    raise BadDataError(f"{place}: {len(fields)} fields, expected {len(names)} ({', '.join(names)}).")
                yield place, dict(zip(names, fields, strict=True))
        except csv.Error as error:
            raise BadDataError(f"{path}, near line {reader.line_num + 1}: {error}.") from error
        except UnicodeDecodeError as error:
            raise BadDataError(f"{path}, line {_undecodable(path)}: {error}.") from error


def _undecodable(path: Path) -> int:
    """Find the first line that is not UTF-8, since a text file is decoded ahead of the row that is read."""
    with path.open("rb") as file:
        return next(number for number, line in enumerate(file, 1) if line.decode("utf-8", "replace").encode() != line)


def number(text: str, place: str) -> float:
    """Convert `text` to a number; raises BadDataError."""
    try:
        return float(text)
    except ValueError:
        raise BadDataError(f"{place}: score {text!r} is not a number.") from None


def read_stsb(directory: Path) -> Iterator[Pair]:
    """Read the STS Benchmark: no header; sentence 1, sentence 2, similarity 0-5."""
    for split in TRAIN_DEV_TEST:
        path = directory / f"stsb-en-{split}.csv"
        for place, row in records(path, ("sentence1", "sentence2", "score"), header=False):
            yield Pair(place, split, row["sentence1"], row["sentence2"], number(row["score"], place))


def read_sick(directory: Path) -> Iterator[Pair]:
    """Read SICK: relatedness 1-5 as the score (SICK-R), the entailment judgment as the label (SICK-E); trial is dev."""
    columns = ("sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
    for split, part in zip(TRAIN_DEV_TEST, ("train", "trial", "test_annotated"), strict=True):
        for place, row in records(directory / f"SICK_{part}.txt", columns, delimiter="\t"):
            sentence1, sentence2, score, label = (row[column] for column in columns)
            yield Pair(place, split, sentence1, sentence2, number(score, place), label)


def read_mrpc(directory: Path) -> Iterator[Pair]:
    """Read the Microsoft Research Paraphrase Corpus: label 1 for a paraphrase, else 0."""
    for split in ("train", "test"):
        path = directory / f"msr_paraphrase_{split}.txt"
        for place, row in records(path, ("Quality", "#1 String", "#2 String"), delimiter="\t"):
            yield Pair(place, split, row["#1 String"], row["#2 String"], label=row["Quality"])


def read_imdb(directory: Path) -> Iterator[Document]:
    """Read ACL IMDB: label 1 for a positive review, 0 for a negative one; the unlabelled part is left out."""
    for split in ("train", "test"):
        path = directory / f"imdb_{split}.parquet"
        table = read_table(path, IMDB)
        rows = zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True)
        for row, (text, label) in enumerate(rows, start=1):
            yield Document(f"{path}, row {row}", split, text or "", str(label))


def read_wordsim353(directory: Path) -> Iterator[Pair]:
    """Read WordSimilarity-353: word pairs with relatedness 0-10."""
    return _read_words(directory / "wordsim353.tsv")


def read_simlex999(directory: Path) -> Iterator[Pair]:
    """Read SimLex-999: word pairs with similarity 0-10."""
    return _read_words(directory / "simlex999.txt")


def _read_words(path: Path) -> Iterator[Pair]:
    """Read tab-separated word 1, word 2, score, after comment lines that start with '#'."""
    for place, row in records(path, ("word1", "word2", "score"), delimiter="\t", header=False, comment="#"):
        yield Pair(place, "test", row["word1"], row["word2"], number(row["score"], place))


def read_lee(directory: Path) -> Iterator[Pair]:
    """Read Lee, Pincombe & Welsh (2005): 1,225 pairs of 50 news documents with the mean human similarity, 1-5.

    The matrix is upper triangular, its lower half zero and its diagonal one; lee.cor is Latin-1.
    """
    documents = (directory / "lee.cor").read_text(encoding="latin-1").rstrip("\n").split("\n")
    path = directory / "similarities0-1.txt"
    try:
        similarities = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except ValueError as error:
        raise BadDataError(f"{path}: {error}.") from error
    size = len(documents)
    if similarities.shape != (size, size):
        raise BadDataError(
            f"{path}: a matrix of shape {similarities.shape}, expected {(size, size)}, one row a document."
        )
    if (np.tril(similarities) != np.eye(size)).any():
        raise BadDataError(f"{path}: the lower half is not zero or the diagonal is not one.")
    for i, j in zip(*np.triu_indices(size, k=1), strict=True):
        place = f"{path}, line {i + 1}, column {j + 1}"
        yield Pair(place, "test", documents[i], documents[j], float(similarities[i, j]) * LEE_POINTS)


def read_sample_pairs(directory: Path) -> Iterator[Pair]:
    """Read the project's own pairs: relatedness 1-5 as the score, entailment as the label."""
    columns = ("split", "sentence1", "sentence2", "relatedness", "entailment", "paraphrase")
    for place, row in records(directory / "pairs.csv", columns):
        score = number(row["relatedness"], place)
        yield Pair(place, row["split"], row["sentence1"], row["sentence2"], score, row["entailment"])


def read_sample_paraphrases(directory: Path) -> Iterator[Pair]:
    """Read the same pairs with the label 1 for a paraphrase, else 0."""
    for place, row in records(directory / "pairs.csv", ("split", "sentence1", "sentence2", "paraphrase")):
        yield Pair(place, row["split"], row["sentence1"], row["sentence2"], label=row["paraphrase"])


def read_sample_reviews(directory: Path) -> Iterator[Document]:
    """Read the project's own reviews: label 1 for a positive one, 0 for a negative one."""
    for place, row in records(directory / "reviews.csv", ("split", "text", "label")):
        yield Document(place, row["split"], row["text"], row["label"])
