"""Train the five small Stanza models that ship in models/syntax: `make parser`. Needs UD English EWT in data/external."""

import logging
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from stanza.models.common.pretrain import Pretrain

from sentence_distillery.io.artifacts import InputError, write_json
from sentence_distillery.syntax.packed import pack
from sentence_distillery.syntax.parser import BUNDLED, PRETRAIN, PROCESSORS
from sentence_distillery.syntax.scoring import SCORES
from sentence_distillery.syntax.training import (
    WORK,
    prepare,
    save_pretrain,
    train_first,
    train_lemmatizer,
    train_mwt,
    train_second,
    train_tagger,
    train_tokenizer,
)

log = logging.getLogger("stages")


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="train_parser: %(message)s", stream=sys.stderr)
    logging.getLogger("stanza").setLevel(logging.WARNING)
    try:
        prepare()
    except InputError as error:
        sys.exit(f"train_parser: {error}")
    pretrain = Pretrain(str(WORK / "pretrain.pt"))
    steps: dict[str, Callable[[Path], None]] = {
        "pretrain": save_pretrain,
        "tokenize": train_tokenizer,
        "mwt": train_mwt,
        "lemma": train_lemmatizer,
        "pos": partial(train_tagger, pretrain=pretrain),
        "first": partial(train_first, pretrain=pretrain),
        "depparse": partial(train_second, first=WORK / "first.pt", tagger_file=WORK / "pos.pt", pretrain=pretrain),
    }
    for name, make in steps.items():
        target = WORK / f"{name}.pt"
        if target.is_file():
            continue  # of an earlier run
        log.info("training %s", name)
        unfinished = WORK / "unfinished" / target.name  # Stanza saves while it trains
        unfinished.parent.mkdir(exist_ok=True)
        make(unfinished)
        unfinished.rename(target)
    for name in (*PROCESSORS, PRETRAIN):
        pack(torch.load(WORK / f"{name}.pt", weights_only=True), BUNDLED / f"{name}.safetensors")
    write_json(SCORES, {})  # those that stood there are other models'


if __name__ == "__main__":
    main()
