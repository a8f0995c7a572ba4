"""Train the peers of `benchmarks.suite` that are trained on our own text: `python -m measurements.trained_peers FROM`.

    student           by `distill`, from the teacher of the released encoder
    tokenlearn        model2vec of the same teacher, trained by tokenlearn on the same soft labels
    StaticEmbedding   the module of sentence-transformers, trained by its ranking loss on pairs of texts: captions of
                      one picture, headlines and the beginnings of their articles

The text is news and captions (the sets news and captions of FROM), without the texts of the dev and test splits of the
other sets there. All three have 256 dimensions. StaticEmbedding starts from random vectors, with the rate and the batch
size of its authors' recipe (https://huggingface.co/blog/static-embeddings); the epochs are chosen on STS-B dev.

Each encoder is stored in `--output`, so an interrupted call goes on with the next one. reports/trained_peers.json gets
the seconds of a core that each took, with those of the soft labels, which two of them share.
"""

import logging
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from measurements import command
from measurements.encoding import machine
from measurements.peers import TEACHER, TRAINED
from measurements.sets import SUITE_SETS, collected, folder_of
from sentence_distillery.corpus.fingerprints import fingerprint
from sentence_distillery.distillation.distill import as_teacher, distill
from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.domain.peers import Comparison, tokenlearn
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import evaluate
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.evaluation.tasks import read_task
from sentence_distillery.io.artifacts import (
    InputError,
    atomic_directory,
    read_json,
    read_table,
    table_parts,
    write_json,
)
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import load_encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LENGTH = 128
DIMENSION = 256
REPORT = Path("reports/trained_peers.json")

ARTICLES, CAPTIONS, SEED = 3_000, 12_000, 1
BATCH, RATE, EPOCHS = 2_048, 0.2, (1, 3, 10)
NEWS = pa.schema([("title", pa.string()), ("text", pa.string())])

log = logging.getLogger("trained_peers")


@dataclass(frozen=True)
class Corpus:
    """The text to train on: articles as (headline, text), and captions, those of one picture beside each other."""

    articles: list[tuple[str, str]]
    captions: list[list[str]]

    @property
    def texts(self) -> list[str]:
        """A sample of the articles and captions."""
        chosen = random.Random(SEED)
        captions = [caption for picture in self.captions for caption in picture]
        articles = chosen.sample(self.articles, min(ARTICLES, len(self.articles)))
        return [text for _, text in articles] + chosen.sample(captions, min(CAPTIONS, len(captions)))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs: two captions of one picture, or a headline and the first words of its article."""
        captions = [pair for picture in self.captions for pair in pairwise(picture)]
        return captions + [(title, " ".join(text.split()[:LENGTH])) for title, text in self.articles if title]


def read_corpus(sources: Sequence[Path], data: BenchmarkData) -> Corpus:
    """Read news, and captions without those of a dev or test split; `distill` leaves out such sentences of articles."""
    scored = set(data.fingerprints().tolist())
    table = read_table(folder_of("news", sources) / "news.parquet", NEWS)
    articles = list(zip(table["title"].to_pylist(), table["text"].to_pylist(), strict=True))
    pictures: dict[str, list[str]] = {}
    for line in (folder_of("captions", sources) / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        place, caption = line.split("\t")
        if fingerprint(caption) not in scored:
            pictures.setdefault(place.partition("#")[0], []).append(caption)
    return Corpus([(title or "", text or "") for title, text in articles], list(pictures.values()))


def train_student(corpus: Corpus, data: BenchmarkData, work: Path, seed: int) -> StaticEncoder:
    """Distil our student; the sentences and the soft labels stay in `work`."""
    return distill(
        corpus.texts,
        TEACHER,
        dimension=DIMENSION,
        maximum_length=LENGTH,
        seed=seed,
        fingerprints=data.fingerprints(),
        working_directory=work,
    )


def train_tokenlearn(work: Path) -> Any:
    """Train tokenlearn on the soft labels in `work`."""
    labelled = LabelledCorpus(work / "sentences", work / "soft_labels")
    found = tokenlearn(Comparison("released", as_teacher(TEACHER, None, LENGTH), DIMENSION, labelled, SEED))
    if isinstance(found, Unavailable):
        raise InputError(f"tokenlearn cannot be trained: {found.reason}.")
    return found


def train_static_embedding(corpus: Corpus, data: BenchmarkData) -> "SentenceTransformer":
    """Train sentence-transformers' StaticEmbedding on pairs, with the number of epochs that is best on STS-B dev."""
    task, best, pairs = read_task(data, "stsb", "dev"), -1.0, corpus.pairs
    for epochs in EPOCHS:
        model = static_embedding(pairs, epochs)
        [score] = [row.number or 0.0 for row in evaluate(model, [task], name="static") if row.metric == "spearman"]
        log.info("StaticEmbedding, %d epochs of %d pairs: %.4f on STS-B dev", epochs, len(pairs), score)
        if score > best:
            chosen, best = model, score
    return chosen


def static_embedding(pairs: Sequence[tuple[str, str]], epochs: int) -> "SentenceTransformer":
    """Train the module from random vectors, with the teacher's tokenizer."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    torch.manual_seed(SEED)
    teacher = as_teacher(TEACHER, None, LENGTH)
    assert isinstance(teacher, Teacher)
    tokenizer = load_encoder(teacher).tokenizer.backend_tokenizer
    tokenizer.no_padding()
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=DIMENSION)], device="cpu")
    loss, steps = MultipleNegativesRankingLoss(model), epochs * (len(pairs) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    warm_up = max(1, steps // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up))
    )
    for batch in batches(pairs, epochs):
        optimizer.zero_grad()
        loss([model.preprocess(list(side)) for side in zip(*batch, strict=True)], labels=None).backward()
        optimizer.step()
        schedule.step()
    return model


def batches(pairs: Sequence[tuple[str, str]], epochs: int) -> Iterator[list[tuple[str, str]]]:
    """Yield the pairs in a new order for each epoch, in whole batches."""
    shuffled = random.Random(SEED)
    for _ in range(epochs):
        order = iter(shuffled.sample(range(len(pairs)), len(pairs)))
        for _ in range(len(pairs) // BATCH):
            yield [pairs[row] for row in islice(order, BATCH)]


def train(sources: Sequence[Path], output: Path, scored: Sequence[str]) -> None:
    """Train each encoder that is not there yet on text without the sets `scored`; the report gets its seconds."""
    data = collected(scored, sources, output / "benchmarks")
    corpus, work = read_corpus(sources, data), output / "text"
    trainings: dict[str, Callable[[], Any]] = {
        "student": lambda: train_student(corpus, data, work, SEED),
        "student, second seed": lambda: train_student(corpus, data, work, SEED + 1),  # the soft labels are there
        "tokenlearn": lambda: train_tokenlearn(work),
        "StaticEmbedding": lambda: train_static_embedding(corpus, data),
    }
    for name, make in trainings.items():
        target = output / name
        if target.exists():
            continue
        start = core_seconds()
        encoder = make()
        seconds = round(core_seconds() - start)  # of an interrupted training those since it went on
        with atomic_directory(target) as partial:
            encoder.save_pretrained(str(partial))
        known = read_json(REPORT, dict[str, Any])["seconds"] if REPORT.exists() else {}
        sentences = sum(pq.read_metadata(part).num_rows for part in table_parts(work / "sentences"))
        texts = f"{sentences:,} sentences, {len(corpus.pairs):,} pairs"
        about = f"{texts}; seconds of a core; 'student' has made the labels"
        write_json(REPORT, {"about": about, "machine": machine(), "seconds": known | {name: seconds}})
        log.info("%s: %d s of a core", name, seconds)


def core_seconds() -> float:
    """Return the seconds of a core that this process and those that it has waited for have taken."""
    return sum(os.times()[:4])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command.argument_parser("Train the peers of benchmarks.suite that learn from our own text.")
    parser.add_argument("--output", type=Path, default=TRAINED, help=f"directory of the encoders ({TRAINED})")
    options = command.parsed(parser, arguments)
    with command.refusals("trained_peers"):
        train(options.source, options.output, SUITE_SETS)


if __name__ == "__main__":
    main()
