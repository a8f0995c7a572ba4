"""Stage `student`: train a student on the teacher's soft labels and save it as a sentence-transformers model."""

from sentence_distillery.distillation.export import export
from sentence_distillery.distillation.soft_labels import SOFT_LABELS, TEACHER
from sentence_distillery.distillation.student import (
    CHECKPOINT,
    PROBE,
    card,
    development,
    train_paper,
    train_static,
    write_curve,
)
from sentence_distillery.distillation.training import refuse_collapsed
from sentence_distillery.encoder.static_encoder import STUDENT
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.ragged import unit_rows
from stages.stage import stage


def main() -> None:
    with stage("student", unit="sentences") as (params, counters):
        teacher = read_json(SOFT_LABELS / TEACHER)
        train = train_static if params.student.kind == "static" else train_paper
        encoder, tokens, curve = train(params.student, teacher["dimension"], counters)
        probe = tokens.take(range(min(PROBE, len(tokens))))
        refuse_collapsed(unit_rows(encoder.pool(probe)), "student")
        write_curve(curve)
        if pairs := development():
            counters.details["development"] = f"{pairs.name}/{pairs.split}"
        export(encoder, card(params.profile, params.clean.language, params.student, teacher, counters.kept), STUDENT)
        CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
