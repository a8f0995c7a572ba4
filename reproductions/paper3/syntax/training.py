"""Train the five small Stanza models of a parser on UD English EWT.

    tokenize   Stanza's own recipe, 2,000 steps
    mwt        Stanza's own recipe: splits tokens such as "don't" into words
    lemma      a dictionary of (word, part of speech), most frequent lemma
    pos        BiLSTM of two layers over word, GloVe and character vectors
    depparse   BiLSTM of two layers and biaffine scores (Dozat and Manning 2017) over word, lemma, GloVe and tags

Stanza's defaults are made for a GPU and for models of any size. Here both networks are small, and the learning rate
falls linearly to zero. In half of the sentences of an epoch the parser gets the treebank's tags. In the other half each
word has its most frequent tag, which is wrong about as often as a tagger is, so the parser learns not to trust tags. A
second, shorter round uses the tags of our own tagger. Only GloVe's `GLOVE_WORDS` most frequent words are shipped; their
vectors are not trained. All decisions were taken on the dev split; the test split was scored once.

Each finished model is a file in the directory `work`. A killed run resumes after the last one, and within the tagger
and the parser after the last epoch.
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
from dataclasses import dataclass
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

from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper3.syntax.packed import pack
from reproductions.paper3.syntax.parser import PRETRAIN, PROCESSORS
from reproductions.paper3.syntax.scoring import SCORES, treebank_file
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.training.checkpoint import Checkpoint

TREEBANK = "UD_English-EWT"
SHORT = "en_ewt"
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

log = logging.getLogger(__name__)

Batches = Callable[[], Iterator[Any]]


@dataclass(frozen=True)
class ParserTraining:
    """The training of a parser: from the files of UD English EWT in `treebank`, with its state in `work`."""

    treebank: Path
    work: Path

    def run(self, glove: Callable[[], WordVectors], models: Path) -> None:
        """Train the models that are not trained yet, and pack all models into a directory.

        Args:
            glove: loads the word vectors, most frequent word first; it is called if their file does not exist yet.
            models: the directory of the packed models. Scores of other models in it are cleared.

        Raises:
            InputError: a file of the treebank is missing.
        """
        self.prepare()
        for name, make in self._steps(glove).items():
            target = self.model(name)
            if target.is_file():
                continue  # an earlier run made it
            log.info("training %s", name)
            unfinished = self.work / "unfinished" / target.name  # Stanza saves while it trains
            unfinished.parent.mkdir(exist_ok=True)
            make(unfinished)
            unfinished.rename(target)
        for name in (*PROCESSORS, PRETRAIN):
            pack(torch.load(self.model(name), weights_only=True), models / f"{name}.safetensors")
        write_json(models / SCORES, {})  # the former scores were of other models

    def _steps(self, glove: Callable[[], WordVectors]) -> dict[str, Callable[[Path], None]]:
        """Return the function that makes each model, in the order of the training."""
        return {
            PRETRAIN: lambda target: save_pretrain(target, glove()),
            "tokenize": self.train_tokenizer,
            "mwt": self.train_mwt,
            "lemma": self.train_lemmatizer,
            "pos": self.train_tagger,
            "first": self.train_first,
            "depparse": self.train_second,
        }

    def model(self, name: str) -> Path:
        """Return the file of a finished model."""
        return self.work / f"{name}.pt"

    def pretrain(self) -> Pretrain:
        """Return the word vectors that `save_pretrain` wrote."""
        return Pretrain(str(self.model(PRETRAIN)))

    def prepare(self) -> None:
        """Prepare the treebank as Stanza does: raw text, character labels, multi-word tokens."""
        for split in ("train", "dev", "test"):
            source = treebank_file(self.treebank, split)
            place = self.work / "ud" / TREEBANK
            place.mkdir(parents=True, exist_ok=True)
            (place / source.name).unlink(missing_ok=True)
            (place / source.name).symlink_to(source.resolve())
            (place / f"{SHORT}-ud-{split}.txt").touch()
        environment = os.environ | {"UDBASE": str(self.work / "ud"), "DATA_ROOT": str(self.work / "data")}
        for kind in ("tokenizer", "mwt"):
            command = [sys.executable, "-m", f"stanza.utils.datasets.prepare_{kind}_treebank", TREEBANK]
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)

    def read(self, split: str) -> Document:
        """Read one split of the treebank."""
        return CoNLL.conll2doc(str(treebank_file(self.treebank, split)))

    def train_tokenizer(self, target: Path) -> None:
        """Train the tokenizer by Stanza's own recipe."""
        data = self.work / "data/tokenize"
        files = {
            "label_file": data / f"{SHORT}-ud-train.toklabels",
            "txt_file": data / f"{SHORT}.train.txt",
            "mwt_json_file": data / f"{SHORT}-ud-dev-mwt.json",
            "dev_txt_file": data / f"{SHORT}.dev.txt",
            "dev_label_file": data / f"{SHORT}-ud-dev.toklabels",
            "dev_conll_gold": data / f"{SHORT}.dev.gold.conllu",
            "conll_file": self.work / "tokenize.conllu",
        }
        options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
        tokenizer.main([*options, *TOKENIZER, "--lang", "en", "--shorthand", SHORT, *_saved_as(target)])

    def train_mwt(self, target: Path) -> None:
        """Train the splitting of multi-word tokens by Stanza's own recipe."""
        data = self.work / "data/mwt"
        files = [f"--train_file={data / SHORT}.train.in.conllu", f"--eval_file={data / SHORT}.dev.in.conllu"]
        files += [f"--gold_file={data / SHORT}.dev.gold.conllu", f"--output_file={self.work / 'mwt.conllu'}"]
        mwt_expander.main([*files, "--lang", "en", "--shorthand", SHORT, "--num_epoch", "10", *_saved_as(target)])

    def train_lemmatizer(self, target: Path) -> None:
        """Collect the dictionary of lemmas."""
        splits = {"train": "train", "eval": "dev"}
        files = [f"--{name}_file={treebank_file(self.treebank, split)}" for name, split in splits.items()]
        lemmatizer.main([*files, "--dict_only", "--shorthand", SHORT, *_saved_as(target)])

    def train_tagger(self, target: Path) -> None:
        """Train the part-of-speech tagger."""
        args = tagger.parse_args([*TAGGER.split(), *ADAM.replace("--weight_decay 0", "").split(), "--shorthand", SHORT])
        pretrain, document, dev = self.pretrain(), self.read("train"), self.read("dev")
        data = Dataset(document, args, pretrain)
        data.has_tags["feats"] = False  # nothing reads them, and their two dozen losses slow the tags down
        trainer = TaggerTrainer(args, data.vocab, pretrain, device="cpu")
        loader = partial(data.to_loader, batch_size=TAGGER_SENTENCES, shuffle=True)
        reference = dev.get([UPOS, XPOS])

        def evaluate() -> float:
            tag(trainer, dev, pretrain)
            return share_equal(dev.get([UPOS, XPOS]), reference)

        optimizer = trainer.optimizers["general_optimizer"]
        self._fit(trainer, optimizer, lambda: iter(loader()), Round("pos", TAGGER_EPOCHS, LEARNING_RATE), evaluate)
        trainer.save(str(target))

    def train_first(self, target: Path) -> None:
        """Train the first round: half of the sentences have the treebank's tags, the others the most frequent ones."""
        args = parser.parse_args([*PARSER.split(), *ADAM.split(), "--no_second_optim", "--shorthand", SHORT])
        pretrain, document = self.pretrain(), self.read("train")
        data = DataLoader(document, PARSER_WORDS, args, pretrain)
        trainer = GraphTrainer(args, data.vocab, pretrain, device="cpu")
        sentences = data.dataset.data
        trusted = [list(sentence[2:4]) for sentence in sentences]  # tags by number, the root's first
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

        self._fit_parser(trainer, batches, Round(target.stem, PARSER_EPOCHS, LEARNING_RATE), self.read("dev"), target)

    def train_second(self, target: Path) -> None:
        """Train the parser's second round on the tagger's own tags, which it gets in use."""
        args = parser.parse_args([*PARSER.split(), *ADAM.split(), "--no_second_optim", "--shorthand", SHORT])
        pretrain, document, dev = self.pretrain(), self.read("train"), self.read("dev")
        trained = TaggerTrainer(model_file=str(self.model("pos")), pretrain=pretrain, device="cpu")
        for each in (document, dev):
            tag(trained, each, pretrain)
        trainer = ParserTrainer.load(str(self.model("first")), pretrain, args, device="cpu")
        data = DataLoader(document, PARSER_WORDS, args, pretrain, vocab=trainer.vocab)

        def batches() -> Iterator[Any]:
            data.reshuffle()
            return iter(data)

        self._fit_parser(trainer, batches, Round(target.stem, SECOND_EPOCHS, SECOND_RATE), dev, target)

    def _fit_parser(self, trainer: Any, batches: Batches, plan: "Round", dev: Document, target: Path) -> None:
        """Fit and save; the figure in the log is LAS on the treebank's tokens with the tags of `dev`."""
        reference = dev.get([HEAD, DEPREL])
        options: dict[str, Any] = {"vocab": trainer.vocab, "evaluation": True, "sort_during_eval": True}
        data = DataLoader(dev, 5000, trainer.args, self.pretrain(), **options)

        def evaluate() -> float:
            words = [word for sentence in predict_dataset(trainer, data) for word in sentence]
            return share_equal([[int(head), relation] for head, relation in words], reference)

        self._fit(trainer, trainer.optimizer["general_optimizer"], batches, plan, evaluate)
        trainer.save(str(target))

    def _fit(
        self,
        trainer: Any,
        optimizer: torch.optim.Optimizer,
        batches: Batches,
        plan: "Round",
        evaluate: Callable[[], float],
    ) -> None:
        """Train one of Stanza's trainers, the learning rate falling linearly to zero; resumable after each epoch.

        `batches` gives those of an epoch; their order depends on the seed and the epoch alone.
        """
        options = {key: value for key, value in trainer.args.items() if isinstance(value, str | int | float | None)}
        settings = [options, plan.epochs, plan.rate, TAGGER_SENTENCES, PARSER_WORDS, GLOVE_WORDS]
        key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        checkpoint = Checkpoint(self.work / f"{plan.name}.checkpoint", key, trainer.model, optimizer)
        losses = checkpoint.resume()
        for epoch in range(len(losses), plan.epochs):
            random.seed(f"{SEED} {epoch}")
            torch.manual_seed(SEED * 1_000 + epoch)
            planned = list(batches())
            total = 0.0
            for step, batch in enumerate(planned):
                for group in optimizer.param_groups:
                    group["lr"] = plan.rate * (1 - (epoch + step / len(planned)) / plan.epochs)
                loss = trainer.update(batch)
                total += loss[0] if isinstance(loss, tuple) else loss
            losses.append(total / len(planned))
            log.info("%s, epoch %d of %d: loss %.4f", plan.name, epoch + 1, plan.epochs, losses[-1])
            checkpoint.save(losses)
        log.info("%s: dev %.4f", plan.name, evaluate())


@dataclass(frozen=True)
class Round:
    """One training of a model: the name of its checkpoint, its epochs, and the learning rate that it starts with."""

    name: str
    epochs: int
    rate: float


def save_pretrain(target: Path, glove: WordVectors) -> None:
    """Write the vectors of GloVe's most frequent words as Stanza keeps them; the mean serves for every other word."""
    rows = np.asarray(glove.vectors[:GLOVE_WORDS], dtype=np.float16).astype(np.float32)
    lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in zip(glove.words, rows.tolist(), strict=False))
    text = target.with_suffix(".txt")
    text.write_text(f"{len(rows)} {rows.shape[1]}\n<unk> {' '.join(map(str, rows.mean(0)))}\n" + "".join(lines))
    Pretrain(str(target), str(text)).load()


def _saved_as(target: Path) -> list[str]:
    """Return the options that name a model's file to Stanza."""
    return ["--save_dir", str(target.parent), "--save_name", target.name]


def share_equal(rows: Sequence[Any], reference: Sequence[Any]) -> float:
    """Return the share of rows that equal those of the reference, in [0, 1]."""
    return sum(list(one) == list(other) for one, other in zip(rows, reference, strict=True)) / len(reference)


def tag(trainer: TaggerTrainer, document: Document, pretrain: Pretrain) -> None:
    """Put the tagger's own tags into a document."""
    data = Dataset(document, trainer.args, pretrain, vocab=trainer.vocab, evaluation=True)
    tags = []
    with torch.no_grad():
        for batch in data.to_loader(batch_size=200):
            tags += trainer.predict(batch)
    document.set([UPOS, XPOS, FEATS], [row for sentence in tags for row in sentence])


def most_frequent(sentences: list[list[list[str]]]) -> list[list[tuple[str, str]]]:
    """Return the most frequent (UPOS, XPOS) of each word; a word that occurs once counts as any such word."""
    counts: dict[str, Counter[tuple[str, str]]] = {}
    rare: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        for word, upos, xpos in sentence:
            counts.setdefault(word.lower(), Counter())[upos, xpos] += 1
    for tags in counts.values():
        rare.update(tags if tags.total() == 1 else {})
    best = {word: (tags if tags.total() > 1 else rare).most_common(1)[0][0] for word, tags in counts.items()}
    return [[best[word.lower()] for word, _, _ in sentence] for sentence in sentences]
