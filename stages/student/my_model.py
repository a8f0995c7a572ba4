"""Stage `my_model`: paper 1's own student (stages/student/paper.py), trained beside ours, as a row of its tables.

It learns from the same soft labels over this run's refined vectors, so it is MyModel as far as the run has what the
paper had: `teacher` and `refine` say from whom and from what.
"""

from pathlib import Path

from stages.artifacts import read_json
from stages.ragged import unit_rows
from stages.stage import stage
from stages.student.encoder import MY_MODEL
from stages.student.export import export
from stages.student.student import PROBE, card, train_paper
from stages.student.training import refuse_collapsed
from stages.teacher.labels import SOFT_LABELS, TEACHER

CHECKPOINT = Path("models/checkpoints/my_model.safetensors")


def main() -> None:
    with stage("my_model", unit="sentences") as (params, counters):
        teacher = read_json(SOFT_LABELS / TEACHER)
        encoder, tokens, _ = train_paper(params.my_model, teacher["dimension"], counters, CHECKPOINT)
        probe = tokens.take(range(min(PROBE, len(tokens))))
        refuse_collapsed(unit_rows(encoder.pool(probe)), "paper's student")
        made_from = card(params.profile, params.clean.language, params.my_model, teacher, counters.kept)
        export(encoder, made_from | {"refined": params.refine.objective}, MY_MODEL)
        CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
