"""Train the five small Stanza models that ship in models/syntax: `make parser`. Needs UD English EWT in data/external.

    tokenize   Stanza's own recipe, 2,000 steps
    mwt        Stanza's own recipe: where a token such as "don't" is split into words
    lemma      a dictionary of (word, part of speech), most frequent lemma
    pos        BiLSTM of two layers over word, GloVe and character vectors
    depparse   BiLSTM of two layers and biaffine scores (Dozat and Manning 2017) over word, lemma, GloVe and tags

Stanza's defaults are made for a GPU and for size without limit. Here both networks are small, and the learning rate
falls to zero in a straight line. The parser sees gold tags in half of the sentences of an epoch; in the other half each
word has the tag that it has most often, which is wrong about as often as a tagger is, so it learns not to trust them.
A second, shorter round is on the tags of our own tagger.
Only GloVe's `GLOVE_WORDS` most frequent words ship; their vectors are not trained. What is decided is decided on the
dev split; the test split is scored once, by `python -m stages.syntax.score_parser test`.

Each model is a file below `WORK` when it is done; a run that was killed goes on behind the last one, and inside the
tagger and the parser behind the last epoch.
"""

import hashlib
import json
import logging
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stanza.models import lemmatizer, mwt_expander, parser, tagger, tokenizer
from stanza.models.common.doc import DEPREL, FEATS, HEAD, UPOS, XPOS, Document
from stanza.models.common.pretrain import Pretrain
from stanza.models.depparse.data import DataLoader
from stanza.models.depparse.trainer import GraphTrainer
from stanza.models.depparse.trainer import Trainer as ParserTrainer
from stanza.models.depparse.utils import predict_dataset
from stanza.models.pos.data import Dataset
from stanza.models.pos.trainer import Trainer as TaggerTrainer
from stanza.utils.conll import CoNLL

from sentence_distillery.benchmarks import external
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.training.checkpoint import Checkpoint
from sentence_distillery.word_vectors.glove import load_glove

EWT = external.EXTERNAL_DIRECTORY / "ud-english-ewt"
TREEBANK = "UD_English-EWT"
SHORT = "en_ewt"
WORK = Path("models/checkpoints/parser")
GLOVE_WORDS = 30_000
SEED = 1

TOKENIZER = ["--max_seqlen", "300", "--steps", "2000", "--eval_steps", "400"]
TAGGER = "--hidden_dim 128 --word_emb_dim 50 --tag_emb_dim 25 --transformed_dim 100 --deep_biaff_hidden_dim 200"
TAGGER += " --share_hid --char_emb_dim 24 --char_hidden_dim 40 --word_cutoff 3 --dropout 0.33"
PARSER = "--no_char --no_ufeats --hidden_dim 180 --num_layers 2 --word_emb_dim 50 --transformed_dim 100 --word_cutoff 3"
PARSER += " --deep_biaff_hidden_dim 80 --dropout 0.33"
ADAM = "--optim adam --beta2 0.95 --weight_decay 0"
TAGGER_EPOCHS = 5
PARSER_EPOCHS = 4
LEARNING_RATE = 3e-3
SECOND_EPOCHS = 3
SECOND_RATE = 2e-3
TAGGER_SENTENCES = 32
PARSER_WORDS = 1_200

log = logging.getLogger("stages")

Batches = Callable[[], Iterator[Any]]


def prepare() -> None:
    """Stanza's own preparation of the treebank: raw text, character labels, multi-word tokens."""
    for split in ("train", "dev", "test"):
        source = EWT / f"{SHORT}-ud-{split}.conllu"
        if not source.is_file():
            raise InputError(f"{source} does not exist; {external.REMEDY}.")
        place = WORK / "ud" / TREEBANK
        place.mkdir(parents=True, exist_ok=True)
        (place / source.name).unlink(missing_ok=True)
        (place / source.name).symlink_to(source.resolve())
        (place / f"{SHORT}-ud-{split}.txt").touch()
    environment = os.environ | {"UDBASE": str(WORK / "ud"), "DATA_ROOT": str(WORK / "data")}
    for kind in ("tokenizer", "mwt"):
        command = [sys.executable, "-m", f"stanza.utils.datasets.prepare_{kind}_treebank", TREEBANK]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def read_treebank(split: str) -> Document:
    return CoNLL.conll2doc(str(EWT / f"{SHORT}-ud-{split}.conllu"))


def save_pretrain(target: Path) -> None:
    """The vectors of GloVe's most frequent words, as Stanza keeps them; the mean stands for every other word."""
    glove = load_glove()
    rows = np.asarray(glove.vectors[:GLOVE_WORDS], dtype=np.float16).astype(np.float32)
    lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in zip(glove.words, rows.tolist(), strict=False))
    text = target.with_suffix(".txt")
    text.write_text(f"{len(rows)} {rows.shape[1]}\n<unk> {' '.join(map(str, rows.mean(0)))}\n" + "".join(lines))
    Pretrain(str(target), str(text)).load()


def train_tokenizer(target: Path) -> None:
    data = WORK / "data/tokenize"
    files = {
        "label_file": data / f"{SHORT}-ud-train.toklabels",
        "txt_file": data / f"{SHORT}.train.txt",
        "mwt_json_file": data / f"{SHORT}-ud-dev-mwt.json",
        "dev_txt_file": data / f"{SHORT}.dev.txt",
        "dev_label_file": data / f"{SHORT}-ud-dev.toklabels",
        "dev_conll_gold": data / f"{SHORT}.dev.gold.conllu",
        "conll_file": WORK / "tokenize.conllu",
    }
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    tokenizer.main([*options, *TOKENIZER, "--lang", "en", "--shorthand", SHORT, *_saved_as(target)])


def train_mwt(target: Path) -> None:
    data = WORK / "data/mwt"
    files = [f"--train_file={data / SHORT}.train.in.conllu", f"--eval_file={data / SHORT}.dev.in.conllu"]
    files += [f"--gold_file={data / SHORT}.dev.gold.conllu", f"--output_file={WORK / 'mwt.conllu'}"]
    mwt_expander.main([*files, "--lang", "en", "--shorthand", SHORT, "--num_epoch", "10", *_saved_as(target)])


def train_lemmatizer(target: Path) -> None:
    files = [f"--{name}_file={EWT / SHORT}-ud-{split}.conllu" for name, split in (("train", "train"), ("eval", "dev"))]
    lemmatizer.main([*files, "--dict_only", "--shorthand", SHORT, *_saved_as(target)])


def _saved_as(target: Path) -> list[str]:
    return ["--save_dir", str(target.parent), "--save_name", target.name]


def fit(
    trainer: Any,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    epochs: int,
    rate: float,
    evaluate: Callable[[], float],
    name: str,
) -> None:
    """Some epochs of a trainer of Stanza's, the learning rate falling to zero; resumable after each epoch.

    `batches` gives an epoch's; their order depends on the seed and the epoch alone.
    """
    options = {key: value for key, value in trainer.args.items() if isinstance(value, str | int | float | None)}
    content = json.dumps([options, epochs, rate, TAGGER_SENTENCES, PARSER_WORDS, GLOVE_WORDS], sort_keys=True)
    key = hashlib.sha256(content.encode()).hexdigest()
    checkpoint = Checkpoint(WORK / f"{name}.checkpoint", key, trainer.model, optimizer)
    losses = checkpoint.resume()
    for epoch in range(len(losses), epochs):
        random.seed(f"{SEED} {epoch}")
        torch.manual_seed(SEED * 1_000 + epoch)
        planned = list(batches())
        total = 0.0
        for step, batch in enumerate(planned):
            for group in optimizer.param_groups:
                group["lr"] = rate * (1 - (epoch + step / len(planned)) / epochs)
            loss = trainer.update(batch)
            total += loss[0] if isinstance(loss, tuple) else loss
        losses.append(total / len(planned))
        log.info("%s, epoch %d of %d: loss %.4f", name, epoch + 1, epochs, losses[-1])
        checkpoint.save(losses)
    log.info("%s: dev %.4f", name, evaluate())


def share_equal(found: Sequence[Any], gold: Sequence[Any]) -> float:
    return sum(list(one) == list(other) for one, other in zip(found, gold, strict=True)) / len(gold)


def train_tagger(target: Path, pretrain: Pretrain) -> None:
    args = tagger.parse_args([*TAGGER.split(), *ADAM.replace("--weight_decay 0", "").split(), "--shorthand", SHORT])
    document, dev = read_treebank("train"), read_treebank("dev")
    data = Dataset(document, args, pretrain)
    data.has_tags["feats"] = False  # nothing here reads them, and their two dozen losses slow down the tags
    trainer = TaggerTrainer(args, data.vocab, pretrain, device="cpu")
    loader = partial(data.to_loader, batch_size=TAGGER_SENTENCES, shuffle=True)
    gold = dev.get([UPOS, XPOS])

    def evaluate() -> float:
        tag(trainer, dev, pretrain)
        found = dev.get([UPOS, XPOS])
        return share_equal(found, gold)

    fit(
        trainer,
        trainer.optimizers["general_optimizer"],
        lambda: iter(loader()),
        TAGGER_EPOCHS,
        LEARNING_RATE,
        evaluate,
        "pos",
    )
    trainer.save(str(target))


def tag(trainer: TaggerTrainer, document: Document, pretrain: Pretrain) -> None:
    """Put the tagger's own tags into a document."""
    data = Dataset(document, trainer.args, pretrain, vocab=trainer.vocab, evaluation=True)
    found = []
    with torch.no_grad():
        for batch in data.to_loader(batch_size=200):
            found += trainer.predict(batch)
    document.set([UPOS, XPOS, FEATS], [tags for sentence in found for tags in sentence])


def most_frequent(sentences: list[list[list[str]]]) -> list[list[tuple[str, str]]]:
    """The (UPOS, XPOS) that each word has most often; a word that comes once counts as any such word."""
    counts: dict[str, Counter[tuple[str, str]]] = {}
    rare: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        for word, upos, xpos in sentence:
            counts.setdefault(word.lower(), Counter())[upos, xpos] += 1
    for found in counts.values():
        rare.update(found if found.total() == 1 else {})
    best = {word: (found if found.total() > 1 else rare).most_common(1)[0][0] for word, found in counts.items()}
    return [[best[word.lower()] for word, _, _ in sentence] for sentence in sentences]


def train_first(target: Path, pretrain: Pretrain) -> None:
    """The parser's first round: gold tags in half of the sentences, most frequent ones in the other half."""
    args = parser.parse_args([*PARSER.split(), *ADAM.split(), "--no_second_optim", "--shorthand", SHORT])
    document = read_treebank("train")
    data = DataLoader(document, PARSER_WORDS, args, pretrain)
    trainer = GraphTrainer(args, data.vocab, pretrain, device="cpu")
    sentences = data.dataset.data
    trusted = [list(sentence[2:4]) for sentence in sentences]  # tags by number, the root's before them
    unit = {name: data.vocab[name].map for name in ("upos", "xpos")}
    words = data.dataset.load_doc(document)
    doubtful = {
        tuple(word[0] for word in sentence): [
            [first[0], *unit[name](list(column))]
            for name, column, first in zip(("upos", "xpos"), zip(*tags, strict=True), trusted[0], strict=True)
        ]
        for sentence, tags in zip(words, most_frequent([[w[:3] for w in s] for s in words]), strict=True)
    }

    def batches() -> Iterator[Any]:
        for sentence, tags in zip(sentences, trusted, strict=True):
            sentence[2:4] = tags if random.random() < 0.5 else doubtful[tuple(sentence[9])]
        data.reshuffle()
        return iter(data)

    fit_parser(trainer, batches, PARSER_EPOCHS, LEARNING_RATE, read_treebank("dev"), pretrain, target)


def train_second(target: Path, first: Path, tagger_file: Path, pretrain: Pretrain) -> None:
    """Its second round, on the tagger's own tags, as at work."""
    args = parser.parse_args([*PARSER.split(), *ADAM.split(), "--no_second_optim", "--shorthand", SHORT])
    document, dev = read_treebank("train"), read_treebank("dev")
    trained = TaggerTrainer(model_file=str(tagger_file), pretrain=pretrain, device="cpu")
    for each in (document, dev):
        tag(trained, each, pretrain)
    trainer = ParserTrainer.load(str(first), pretrain, args, device="cpu")
    data = DataLoader(document, PARSER_WORDS, args, pretrain, vocab=trainer.vocab)

    def batches() -> Iterator[Any]:
        data.reshuffle()
        return iter(data)

    fit_parser(trainer, batches, SECOND_EPOCHS, SECOND_RATE, dev, pretrain, target)


def fit_parser(
    trainer: Any, batches: Batches, epochs: int, rate: float, dev: Document, pretrain: Pretrain, target: Path
) -> None:
    """Fit and save; the figure in the log is LAS on gold tokens with the tags of `dev`."""
    gold = dev.get([HEAD, DEPREL])
    data = DataLoader(dev, 5000, trainer.args, pretrain, vocab=trainer.vocab, evaluation=True, sort_during_eval=True)

    def evaluate() -> float:
        found = [word for sentence in predict_dataset(trainer, data) for word in sentence]
        return share_equal([[int(head), relation] for head, relation in found], gold)

    fit(trainer, trainer.optimizer["general_optimizer"], batches, epochs, rate, evaluate, target.stem)
    trainer.save(str(target))
