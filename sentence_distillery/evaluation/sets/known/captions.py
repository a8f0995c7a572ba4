"""Flickr8k captions to train on; no text of it is scored on."""

from sentence_distillery.evaluation.sets.benchmark import GITHUB, Benchmark, pinned

HOME = f"{GITHUB}/prakhar-dhakar/Image-Captioning/8af7560c2844653cf27c68195e36821a89944c22"

SET = Benchmark(
    name="captions",
    title="Flickr8k captions",
    source="Flickr8k (Hodosh et al. 2013)",
    licence="none stated, cite Hodosh et al. 2013",
    citation="Hodosh, Young and Hockenmaier 2013, Framing image description as a ranking task, JAIR 47",
    origin="external",
    pins=pinned(
        (
            "Flickr8k.token.txt",
            HOME,
            "9b8608b02da9040581f1e3d4c8738db1fb6f63314342100432adc3962f77d71a",
        ),
    ),
)
