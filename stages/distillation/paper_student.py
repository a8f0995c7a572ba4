"""Stage `paper_student`: paper 1's own student (sentence_distillery/distillation/paper_student.py), trained beside ours, as a row of its tables.

It learns from the same soft labels over this run's refined vectors, so it is MyModel as far as the run has what the
paper had: `teacher` and `refine` say from whom and from what.
"""

from pathlib import Path

from sentence_distillery.distillation.export import export
from sentence_distillery.distillation.soft_labels import SOFT_LABELS, TEACHER
from sentence_distillery.distillation.student import PROBE, card, train_paper
from sentence_distillery.distillation.training import refuse_collapsed
from sentence_distillery.encoder.static_encoder import PAPER_STUDENT
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.ragged import unit_rows
from stages.stage import stage

CHECKPOINT = Path("models/checkpoints/paper_student.safetensors")


def main() -> None:
    with stage("paper_student", unit="sentences") as (params, counters):
        teacher = read_json(SOFT_LABELS / TEACHER)
        encoder, tokens, _ = train_paper(params.paper_student, teacher["dimension"], counters, CHECKPOINT)
        probe = tokens.take(range(min(PROBE, len(tokens))))
        refuse_collapsed(unit_rows(encoder.pool(probe)), "paper's student")
        made_from = card(params.profile, params.clean.language, params.paper_student, teacher, counters.kept)
        export(encoder, made_from | {"refined": params.refine.objective}, PAPER_STUDENT)
        CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
