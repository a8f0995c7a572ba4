"""Test whether encoders notice word order, negation, antonyms and numbers: `python -m measurements.probes`.

Reads data/samples/probes.csv and scores the student, its teacher and the student with an MLP head on it. Writes
reports/probes.json, and prints a line for each encoder and kind of probe.
"""

import sys

from measurements.probe_sentences import cosine_pairs, read_probes, rows, summary
from reproductions.systems.registration import load_variant
from reproductions.systems.similarity import Encode
from reproductions.systems.systems import StudentSystem
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError, read_json, write_json
from sentence_distillery.io.contents import StudentConfig
from sentence_distillery.teachers.transformer import load_encoder
from stages import paths
from stages.params import load_params


def main() -> None:
    try:
        params = load_params()
        probes = read_probes(paths.PROBE_SENTENCES)
        teacher = load_encoder(params.teacher)
        encoders: dict[str, Encode] = {
            "student": StaticEncoder.load(paths.STUDENT).encode,
            "teacher": lambda texts: teacher.embed(teacher.token_ids(texts), params.soft_labels.batch_tokens)[0],
        }
        with_head = load_variant("student, MLP head", paths.MLP_HEAD)
        if isinstance(with_head, StudentSystem):
            encoders[with_head.name] = with_head.encoder.encode
        profile = read_json(paths.STUDENT / CONFIG, StudentConfig).get("profile")
        cosines = {name: cosine_pairs(encode, probes) for name, encode in encoders.items()}
        summaries = {name: summary(probes, pairs) for name, pairs in cosines.items()}
        write_json(paths.PROBES, {"profile": profile, "summary": summaries, "probes": rows(probes, cosines)})
    except InputError as error:
        sys.exit(f"probes: {error}")
    for name, groups in summaries.items():
        for kind, row in groups.items():
            print(
                f"{name:18} {kind:16} n {row['n']:3.0f}   passed {row['passed']:6.1%}   paraphrase "
                f"{row['paraphrase']:.3f}   distractor {row['distractor']:.3f}"
            )


if __name__ == "__main__":
    main()
