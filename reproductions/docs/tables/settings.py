"""The one shape of most tables: a row for each setting of a saved run, a column for each set."""

from collections.abc import Collection, Sequence

from reproductions.docs.tables.cells import cells_of, grid
from reproductions.docs.tables.rows import results, source
from sentence_distillery.evaluation.results import Result

Place = tuple[str, str, str]  # dataset, split, protocol

TITLES: dict[Place, str] = {
    ("stsb", "dev", "teachers"): "teachers: STS-B dev",
    ("stsb", "dev", "mean"): "STS-B dev",
    ("sick", "dev", "mean"): "SICK trial",
    ("stsb", "dev", "fine-tuned"): "with map, weights, direction: STS-B dev",
    ("sick", "dev", "fine-tuned"): "SICK trial",
    ("stsb", "test", "mean"): "STS-B test",
    ("sick", "test", "mean"): "SICK-R test",
    ("scifact", "train", "search"): "SciFact train",
    ("nfcorpus", "dev", "search"): "NFCorpus dev",
    ("held-out texts", "", "neighbours"): "recall@10 of the teacher's neighbours",
    ("held-out texts", "", "near pairs"): "Spearman, near pairs",
    ("banking77", "train", "C = 1"): "accuracy, C = 1",
    ("banking77", "train", "C = 10"): "C = 10",
    ("imdb", "train", "sgd"): "F1",
    ("mrpc", "train", "cosine"): "MRPC train",
    ("labels", "", "none"): "no channel",
    ("labels", "", "recommended"): "the recommended weight",
    ("labels", "", "search"): "weight 1.2",
    ("labels", "", "best"): "the best of ten weights",
    **{("held-out texts", "", form): f"recall@10, {form}" for form in ("as they are", "centred")},
    **{("stsb", "dev", form): f"STS-B dev, {form}" for form in ("as they are", "centred")},
    **{("held-out texts", "", f"rate {rate}"): rate for rate in ("0.0025", "0.005", "0.01", "0.02")},
    **{
        (name, split, encoder): f"{encoder}: {title}"
        for name, split, title in (("scifact", "train", "SciFact train"), ("nfcorpus", "dev", "NFCorpus dev"))
        for encoder in ("released", "released-search")
    },
    **{
        (name, split, protocol): title
        for name, title in {
            "trec": "TREC",
            "subj": "SUBJ",
            "mr": "MR",
            "tweet_emotion": "TweetEval emotion",
            "banking77": "Banking77",
        }.items()
        for protocol in ("few-shot", "full")
        for split in ("train", "dev")
    },
}


def settings(
    name: str, title: str, digits: int = 2, compared: bool = True, protocols: Collection[str] = ()
) -> list[str]:
    """Return the table of a saved run, or of some of its protocols.

    It has a row for each system and a column for each set, the best figures in bold if they are compared.
    """
    rows = [row for row in results(name) if not protocols or row.protocol in protocols]
    return [*rows_of(rows, title, digits, compared), "", source(name)]


def rows_of(rows: Sequence[Result], title: str, digits: int = 2, compared: bool = True) -> list[str]:
    """Return figures as a table without the line of its source."""
    cells: dict[tuple[str, Place], list[Result]] = {}
    for row in rows:
        cells.setdefault((row.system, _place(row)), []).append(row)
    systems, places = (list(dict.fromkeys(key)) for key in zip(*cells, strict=True))
    columns = [cells_of([cells.get((system, place), []) for system in systems], digits, compared) for place in places]
    return grid([title, *(TITLES[place] for place in places)], zip(systems, *columns, strict=True))


def _place(row: Result) -> Place:
    return row.dataset, row.split, row.protocol
