"""Compare the speed of training with sentence-transformers' own trainer: `python -m measurements.component_training`.

Both train the first encoder of `component_focus` on the same pairs of the first task that is there, with the mean
squared error of the cosine, in batches of the same size, without a component; the figures are pairs a second of one
pass, after a warm-up. sentence-transformers wants two more packages for training: `pip install datasets accelerate`.
"""

import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.paper3.component_focus.cells import Inputs, benchmarks_of, task_pairs
from reproductions.paper3.component_focus.options import ComponentTraining
from reproductions.paper3.component_focus.training import TokenizedTask, Training, tokenize_task
from reproductions.paper3.component_focus.weights import Weights
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.runtime.device import device
from sentence_distillery.runtime.stopwatch import timed
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import find_model, load_encoder
from sentence_distillery.training.batches import Batches
from sentence_distillery.training.trainer import Hooks, Trainer
from stages import paths
from stages.params import Params, load_params

PAIRS = 320
WARM_UP = 32


def ours(params: ComponentTraining, data: TokenizedTask, encoder: PairEncoder) -> float:
    """Seconds of an epoch of our own."""
    tuned = Training(encoder, params, Weights(0.0, encoder.dimension), 1, Path("unused"))

    def epoch(pairs: TokenizedTask) -> None:
        optimizer = torch.optim.Adam(encoder.parameters(), lr=params.learning_rate, fused=True)
        batches = Batches(np.arange(len(pairs.rows["train"])), params.batch_size, seed=1, smallest=1)
        trainer = Trainer(encoder, optimizer, batches, 1, hooks=Hooks(before=lambda number: encoder.train()))
        trainer.run(lambda batch: {"loss": tuned.loss(pairs, batch)})

    epoch(first(data, WARM_UP))
    return timed(lambda: epoch(data)).median


def first(data: TokenizedTask, count: int) -> TokenizedTask:
    """The first `count` pairs of train."""
    rows, ratings = data.rows["train"][:count], data.ratings["train"][:count]
    return TokenizedTask(data.tokens, data.parts, {"train": rows}, {"train": ratings})


def theirs(params: ComponentTraining, teacher: Teacher, columns: dict[str, Any]) -> float:
    """Seconds of an epoch of sentence-transformers."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer import losses, modules

    where = find_model(teacher.reference, teacher.revision)
    transformer = modules.Transformer(str(where), max_seq_length=teacher.maximum_length)
    model = SentenceTransformer(
        modules=[transformer, modules.Pooling(transformer.get_embedding_dimension())], device=str(device())
    )

    def epoch(rows: dict[str, Any]) -> float:
        with tempfile.TemporaryDirectory() as directory:
            arguments = SentenceTransformerTrainingArguments(
                output_dir=directory,
                num_train_epochs=1,
                per_device_train_batch_size=params.batch_size,
                learning_rate=params.learning_rate,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
            )
            data = Dataset.from_dict(rows)
            trainer = SentenceTransformerTrainer(model, arguments, data, loss=losses.CosineSimilarityLoss(model))
            return timed(trainer.train).median

    epoch({name: values[:WARM_UP] for name, values in columns.items()})
    return epoch(columns)


def compare(params: Params) -> dict[str, Any]:
    """Return pairs a second of both; raises InputError if there is nothing to train on."""
    focus, training = params.component_focus, params.component_training
    inputs = Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS)
    there = benchmarks_of(focus.tasks, inputs.benchmarks)
    if not there:
        raise InputError(f"All of {', '.join(focus.tasks)} are missing; run `make benchmarks` and `dvc repro`.")
    pairs = task_pairs(there[0], inputs, Counters("pairs"))
    teacher = params.encoders[focus.encoders[0]]
    encoder = PairEncoder(load_encoder(teacher), Pooling(training.pooling))
    data = first(tokenize_task(pairs, {}, encoder, Weights(0.0, encoder.dimension), Counters("pairs")), PAIRS)
    encoder.keep_only(data.tokens)
    train = pairs["train"]
    columns = {"sentence1": train.sentences1[:PAIRS], "sentence2": train.sentences2[:PAIRS]}
    columns |= {"score": np.asarray(data.ratings["train"]).tolist()}
    count = len(data.rows["train"])
    return {
        "encoder": focus.encoders[0],
        "task": there[0],
        "pairs": count,
        "threads": torch.get_num_threads(),
        "ours": round(count / ours(training, data, encoder), 1),
        "sentence-transformers": round(count / theirs(training, teacher, columns), 1),
    }


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="focus_speed: %(message)s", stream=sys.stderr)
    try:
        print(json.dumps(compare(load_params()), indent=2))
    except InputError as error:
        sys.exit(f"focus_speed: {error}")
    except ImportError as error:
        sys.exit(f"focus_speed: {error}. Run `pip install datasets accelerate`.")


if __name__ == "__main__":
    main()
