"""Stage `focus`: what the cells of paper 3's grid come to, and whether W_cf > 0 gains anything."""

import itertools
from dataclasses import asdict

from sentence_distillery.encoder.static_encoder import STUDENT, StaticEncoder
from sentence_distillery.encoders.functions import Embed, load_function
from sentence_distillery.evaluation.results import write_results
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.papers.paper3.results import (
    ABOUT,
    DRAWS,
    Outcome,
    at_inference,
    gains_over_none,
    learnt_weights,
    outcome_figures,
    read_outcomes,
    shown,
)
from sentence_distillery.syntax.trees import read_trees
from stages.paths import COMPONENT_RESULTS as FOCUS
from stages.stage import stage


def main() -> None:
    with stage("component_results", unit="cells") as (params, counters):
        focus, trees = params.component_focus, read_trees()
        grid = itertools.product(focus.encoders, focus.tasks, focus.weights)
        cells = [cell for place in grid for cell in read_outcomes(*place)]
        functions: dict[str, Embed] = {"student": StaticEncoder.load(STUDENT).encode}
        functions |= {name: load_function(reference) for name, reference in focus.functions.items()}
        for name, embed in functions.items():
            cells += at_inference(name, embed, focus, trees, counters)
        learnt = learnt_weights(functions, focus, trees, counters)
        cells += [cell for cell, _ in learnt]
        series: dict[tuple[str, str], list[Outcome]] = {}
        for cell in cells:
            counters.drop(cell.absent) if cell.absent else counters.keep()
            series.setdefault((cell.encoder, cell.task), []).append(cell)
        measured = [gain for group in series.values() for gain in gains_over_none(group)]
        write_results(FOCUS, [row for group in series.values() for cell in group for row in outcome_figures(cell)])
        about = {"gains": [asdict(gain) | {"verdict": gain.verdict} for gain in measured], "trees": shown(trees)}
        about["learnt"] = [
            {"encoder": cell.encoder, "task": cell.task, "kind": said.kind, "step": said.step, "weights": said.weights}
            for cell, said in learnt
        ]
        training = {"epochs": params.component_training.epochs, "seeds": params.component_training.seeds}
        write_json(ABOUT, about | {"draws": DRAWS} | training)


if __name__ == "__main__":
    main()
