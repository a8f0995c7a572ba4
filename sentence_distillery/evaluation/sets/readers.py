"""Readers of benchmark files: each makes rows of the files that a set's entry in sets.toml names.

A reader gets the directory of the files and the arguments of the entry; it yields rows, or raises BadDataError for the
first one that does not fit.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from sentence_distillery.corpus.tables.formats import read_rows
from sentence_distillery.evaluation.sets.records import (
    EVERY_SPLIT,
    BadDataError,
    Document,
    Judgement,
    Pair,
    Passage,
    Query,
    Row,
    drawn,
    lines,
    number,
    parallel_lines,
    records,
    whole,
)

DELIMITERS = {".csv": ",", ".tsv": "\t"}
ROWS = {".jsonl": "jsonl", ".parquet": "parquet"}  # formats of a user's files whose rows name their columns
BINARY = ("0", "1")
ANSWERS = {  # label of a pair -> as sets of this library have it
    **dict.fromkeys(("1", "1.0", "yes", "true"), "1"),
    **dict.fromkeys(("0", "0.0", "no", "false"), "0"),
}

Fields = Mapping[str, str]  # the text of each field of a row
Files = Mapping[str, str]  # by split


def fields_of(
    path: Path,
    columns: Mapping[str, str],
    names: Sequence[str] = (),
    delimiter: str | None = None,
    comment: str | None = None,
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (place, value of each field as text) for the rows of a table; arguments as of the reader `columns`.

    Raises BadDataError if a column is missing, a value is neither a text nor a number, or the file cannot be read.
    """
    rows: Iterator[tuple[str, Mapping[str, object]]]
    if path.suffix in ROWS:
        rows = read_rows(path, ROWS[path.suffix], columns.values())
    else:
        delimiter = delimiter or DELIMITERS[path.suffix]
        rows = records(path, names or columns.values(), delimiter, header=not names, comment=comment)
    for place, row in rows:
        yield place, {field: _text(row, column, place) for field, column in columns.items()}


def _text(row: Mapping[str, object], column: str, place: str) -> str:
    value = row.get(column)
    if not isinstance(value, str | int | float):
        raise BadDataError(f"{place}: column '{column}' has {value!r}, which is neither a text nor a number.")
    return str(value)


def columns(
    directory: Path,
    *,
    files: Files,
    columns: Fields | None = None,
    names: Sequence[str] = (),
    delimiter: str | None = None,
    comment: str | None = None,
    may_lack: str | None = None,
    yes_or_no: bool = False,
) -> Iterator[Pair | Document]:
    """Read pairs or documents from tables, by split; if a field is `split`, each row says its own.

    `columns` has the column of each field: `text` and `label` of a document, or `sentence1`, `sentence2` and perhaps
    `score` and `label` of a pair; None if `names`, all columns of a file without a header, has the fields. A row whose
    field `may_lack` is empty is left out, as are lines that start with `comment`. The suffix says the delimiter if none
    is given. With `yes_or_no` labels that are forms of yes and no become 1 and 0.
    """
    for split, file in files.items():
        for place, row in fields_of(
            directory / file, columns or {name: name for name in names}, names, delimiter, comment
        ):
            if may_lack and not row[may_lack]:
                continue
            label = {"label": _answer(row["label"], place)} if yes_or_no else {}
            yield _row(place, split, {**row, **label})


def _row(place: str, split: str, row: Fields) -> Pair | Document:
    """Make a pair or a document of its fields."""
    split = row.get("split", split)
    if "text" in row:
        return Document(place, split, row["text"], row["label"])
    score = number(row["score"], place) if "score" in row else None
    return Pair(place, split, row["sentence1"], row["sentence2"], score, row.get("label"))


def _answer(text: str, place: str) -> str:
    """Return 1 or 0 for yes or no."""
    if (answer := ANSWERS.get(text.strip().lower())) is None:
        raise BadDataError(f"{place}: the label {text!r} is neither yes nor no; write 1 and 0, or yes and no.")
    return answer


def parallel(directory: Path, *, files: Mapping[str, Sequence[str]], names: Sequence[str]) -> Iterator[Pair | Document]:
    """Read pairs or documents; `files` has, by split, a file for each field of `names`."""
    for split, each in files.items():
        for place, row in parallel_lines(*(directory / file for file in each)):
            yield _row(place, split, dict(zip(names, row, strict=True)))


def labelled_lines(directory: Path, *, files: Files, encoding: str) -> Iterator[Document]:
    """Read documents from lines of a label, a blank and a text."""
    for split, file in files.items():
        for place, line in lines(directory / file, encoding):
            label, blank, text = line.partition(" ")
            if not blank:
                raise BadDataError(f"{place}: {line!r} is not a label, a space and a text.")
            yield Document(place, split, text.strip(), label)


def drawn_lines(directory: Path, *, file: str, encoding: str, test: int, seed: int) -> Iterator[Document]:
    """Read labelled lines that have no splits: `test` of them are drawn for the test, by their keyed hash."""
    rows = list(labelled_lines(directory, files={"train": file}, encoding=encoding))
    tested = drawn([row.text for row in rows], test, seed)
    for row, test_row in zip(rows, tested, strict=True):
        yield row._replace(split="test") if test_row else row


def matrix(directory: Path, *, texts: str, similarities: str, encoding: str, points: float) -> Iterator[Pair]:
    """Read the pairs of texts, with the similarities of an upper triangular matrix times `points` as their scores.

    The lower half is zero, and the diagonal one.
    """
    documents = (directory / texts).read_text(encoding=encoding).rstrip("\n").split("\n")
    path, size = directory / similarities, len(documents)
    try:
        values = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except ValueError as error:
        raise BadDataError(f"{path}: {error}.") from error

    # Only such a matrix has each pair once.
    if values.shape != (size, size):
        raise BadDataError(f"{path}: a matrix of shape {values.shape}, expected {(size, size)}, one row a document.")
    if (np.tril(values) != np.eye(size)).any():
        raise BadDataError(f"{path}: the lower half is not zero or the diagonal is not one.")
    for i, j in zip(*np.triu_indices(size, k=1), strict=True):
        place = f"{path}, line {i + 1}, column {j + 1}"
        yield Pair(place, "test", documents[i], documents[j], float(values[i, j]) * points)


def collection(
    directory: Path,
    *,
    queries: Files,
    documents: Files,
    judgements: Files,
    columns: Fields | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
    delimiter: str | None = None,
) -> Iterator[Query | Passage | Judgement]:
    """Read tables of queries, documents and judgements, each by split; documents of EVERY_SPLIT are searched by all.

    `columns` has the column of each field: `id` and `text`, or `query`, `document` and `grade`; None if it has the name
    of the field. `names` are all columns of the three kinds of files, if these have no header.
    """

    def rows(kind: str, files: Files, fields: Sequence[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
        wanted, header = {name: (columns or {}).get(name, name) for name in fields}, (names or {}).get(kind, ())
        for split, file in files.items():
            for place, row in fields_of(directory / file, wanted, header, delimiter):
                yield place, split, row

    # Queries first, so that ids are known before the judgements that name them.
    for place, split, row in rows("queries", queries, ("id", "text")):
        yield Query(place, split, **row)
    for place, split, row in rows("documents", documents, ("id", "text")):
        yield Passage(place, split, **row)
    for place, split, row in rows("judgements", judgements, ("query", "document", "grade")):
        yield Judgement(place, split, row["query"], row["document"], whole(row["grade"], place))


def beir(directory: Path, *, documents: str, queries: str, judgements: Files) -> Iterator[Query | Passage | Judgement]:
    """Read BEIR's layout; a document is its title and its text, a query is of the split that judges it."""
    for place, entry in _json_texts(directory / documents, ("_id", "title", "text")):
        yield Passage(place, EVERY_SPLIT, entry["_id"], f"{entry['title']} {entry['text']}".strip())

    # The files of judgements say to which split a query belongs.
    split_of: dict[str, str] = {}
    for split, file in judgements.items():
        for place, row in records(directory / file, ("query-id", "corpus-id", "score"), "\t"):
            split_of[row["query-id"]] = split
            yield Judgement(place, split, row["query-id"], row["corpus-id"], whole(row["score"], place))
    for place, entry in _json_texts(directory / queries, ("_id", "text")):
        yield Query(place, split_of.get(entry["_id"], "none"), entry["_id"], entry["text"])


def _json_texts(path: Path, fields: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (place, text by field) for each line of JSON; raises BadDataError for one that lacks a field."""
    for place, line in lines(path):
        try:
            entry = json.loads(line)
            yield place, {field: str(entry[field]) for field in fields}
        except (ValueError, KeyError, TypeError) as error:
            raise BadDataError(f"{place}: not a JSON object with the fields {', '.join(fields)}.") from error


def smart(
    directory: Path, *, documents: str, queries: str, judgements: str, codes: Sequence[str]
) -> Iterator[Query | Passage | Judgement]:
    """Read the SMART fields of queries and documents, and judgements of query, document and one of `codes`.

    A document is the field .W, which begins with the title; it may have no text. Queries are counted 1, 2, ... in the
    order of the file, whatever their .I says. Every judgement counts as grade 1.
    """
    for count, (place, _, text) in enumerate(_smart_entries(directory / queries), start=1):
        yield Query(place, "test", str(count), text)
    for place, name, text in _smart_entries(directory / documents):
        yield Passage(place, "test", name, text)

    # A line judges one document; the codes say how good it is.
    for place, line in lines(directory / judgements):
        match line.split():
            case [query, document, code] if code in codes:
                yield Judgement(place, "test", query, document, 1)
            case _:
                raise BadDataError(f"{place}: {line!r} is not a query, a document and a code of {', '.join(codes)}.")


def _smart_entries(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (place, .I, .W) of each entry; raises BadDataError for an entry that has no .W."""
    found: list[tuple[str, str, list[str]]] = []
    for place, line in lines(path):
        if line.startswith(".I"):
            found.append((place, line.removeprefix(".I").strip(), []))
        elif not found:
            raise BadDataError(f"{place}: {line!r} comes before the first field .I.")
        else:
            found[-1][2].append(line.strip())

    # The fields before .W, such as the author, are not text.
    for place, name, body in found:
        if ".W" not in body:
            raise BadDataError(f"{place}: entry {name} has no field .W.")
        yield place, name, " ".join(filter(None, body[body.index(".W") + 1 :]))


def answers(directory: Path, *, files: Sequence[str]) -> Iterator[Query | Passage | Judgement]:
    """Read parallel lines of question id, question, sentence and 0 or 1; a sentence is <question id>-<number>."""
    seen: Counter[str] = Counter()
    for place, (query, question, sentence, grade) in parallel_lines(*(directory / file for file in files)):
        if query not in seen:
            yield Query(place, "test", query, question)
        if grade not in BINARY:
            raise BadDataError(f"{place}: unknown label {grade!r}; known labels: {', '.join(BINARY)}.")

        # A sentence has no id of its own, so its place among those of the question is its id.
        seen[query] += 1
        document = f"{query}-{seen[query]:02}"
        yield Passage(place, "test", document, sentence)
        yield Judgement(place, "test", query, document, int(grade))


READERS: dict[str, Callable[..., Iterator[Row]]] = {
    reader.__name__: reader
    for reader in (columns, parallel, labelled_lines, drawn_lines, matrix, collection, beir, smart, answers)
}
