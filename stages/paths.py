"""Every path of the repository that a stage reads or writes, relative to its root.

The library does not know them: a stage passes it the paths that it needs. dvc.yaml names the same paths.
"""

from pathlib import Path

# Files of the user, and files that ship with the repository
EXTERNAL = Path("data/external")
TEXTS = Path("data/texts")
SAMPLES = Path("data/samples")
PROBE_SENTENCES = SAMPLES / "probes.csv"
TREEBANK = EXTERNAL / "ud-english-ewt"
RELEASED = Path("models/released")
PARSER = Path("models/syntax")
CONF = Path("conf")
POOLS = CONF / "held_out"  # fixed pools of held-out texts
NO_POOL = POOLS / "none.csv"
WRITTEN = (Path("data"), Path("models"), Path("reports"))

# Benchmark sets and the corpus
BENCHMARKS = Path("data/benchmarks")
EVALUATION_FINGERPRINTS = BENCHMARKS / "evaluation_fingerprints.parquet"
ARTICLES = Path("data/corpus/articles")
SENTENCES = Path("data/corpus/sentences")

# Word vectors
SKIPGRAM = Path("models/skipgram")
REFINED = Path("models/refined")
FASTTEXT = Path("models/fasttext")
WEIGHTING = Path("models/weighting")
PAPER1_WEIGHTING = Path("models/paper1_weighting")

# Students and their teachers
SOFT_LABELS = Path("data/soft_labels")
STUDENT = Path("models/student")
PAPER_STUDENT = Path("models/paper_student")
MLP_HEAD = Path("models/mlp_head")
FINE_TUNED_TEACHER = Path("models/fine_tuned_teacher")
FINE_TUNED_LABELS = Path("data/fine_tuned_labels")
FINE_TUNED_STUDENT = Path("models/fine_tuned_student")
SIMCSE = Path("models/simcse")
SIMCSE_ABOUT = SIMCSE / "simcse.json"

# Papers 2 and 3
PAIRS = Path("data/pairs")
STARTS = Path("models/pairs/starts")
PARAPHRASE_CELLS = Path("models/pairs/cells")
COMBINATIONS = Path("models/pairs/combinations")
PARAPHRASER = Path("models/paraphraser")
TREES = Path("data/trees")
COMPONENT_FOCUS = Path("data/component_focus")
AUGMENTED_PAIRS = Path("data/augmented_pairs")

MODELS = {  # of the systems that a run trains, by their names in `reproductions.systems.registration.SystemInputs`
    "skipgram": SKIPGRAM,
    "refined": REFINED,
    "fasttext": FASTTEXT,
    "paper_student": PAPER_STUDENT,
    "student": STUDENT,
    "mlp_head": MLP_HEAD,
    "fine_tuned_student": FINE_TUNED_STUDENT,
    "simcse": SIMCSE,
}

# Reports of a run
REPORTS = Path("reports")
COUNTERS = REPORTS / "counters"
COSTS = REPORTS / "costs"  # seconds, memory and speeds: never the same twice, so neither DVC nor git has them
SPEEDS = COSTS / "speeds.csv"
ALL_SPEEDS = COSTS / "all_speeds.csv"
PAPER1_SPEEDS = COSTS / "paper1_speeds.csv"
PAIR_SECONDS = COSTS / "pair_seconds.json"  # pair_cost.json there is the stage's own cost
CURVES = REPORTS / "curves"
SEEDS = REPORTS / "seeds"
RUNS = REPORTS / "runs"
PAPER1_RUNS = RUNS / "paper1"
PARAPHRASE_RUNS = RUNS / "paraphrase"
COMPONENT_RUNS = RUNS / "component_focus"
RESULTS = REPORTS / "results.csv"
METRICS = REPORTS / "metrics.json"
ALL_SYSTEMS = REPORTS / "all_systems.csv"  # variants and weightings, too
VARIANTS = REPORTS / "variants.csv"  # on held-out texts
PAPER1_RESULTS = REPORTS / "paper1.csv"
PAPER1_METRICS = REPORTS / "paper1_metrics.json"
PAPER1_GAINS = REPORTS / "paper1_gains.json"
EXAMPLES = REPORTS / "examples.json"
SYSTEMS = REPORTS / "systems.json"  # the description of each system, by its name
DRAWS = REPORTS / "draws.json"  # bootstrap draws of the student's figures
POOL_FIGURES = REPORTS / "held_out"  # of the student on a fixed pool of held-out texts
DOMAIN = REPORTS / "domain.csv"  # figures on held-out texts, and on the user's own labels
CORPUS_OVERVIEW = REPORTS / "corpus.json"
CORPUS_QUALITY = REPORTS / "corpus_quality.csv"
COMPONENT_RESULTS = REPORTS / "component_focus.csv"
COMPONENT_REPORT = REPORTS / "component_focus.json"
PARAPHRASE_RESULTS = REPORTS / "paraphrase.csv"
PARAPHRASE_REPORT = REPORTS / "paraphrase.json"
PAIR_COST = REPORTS / "pair_cost.json"
PARETO = REPORTS / "pareto.csv"
PROBES = REPORTS / "probes.json"
BENCH = REPORTS / "bench.json"
KINDS = REPORTS / "kinds.json"
PAGE = REPORTS / "index.html"

# In directories of stage outputs, but no stage writes them
BROUGHT: tuple[Path, ...] = (EXTERNAL, TEXTS, SAMPLES, RELEASED, PARSER, RUNS)
BROUGHT += (CORPUS_QUALITY, PARETO, PROBES, BENCH, KINDS)

# Checkpoints: not tracked by DVC, since DVC empties a stage's outputs before it runs
DATA_CHECKPOINTS = Path("data/checkpoints")  # crawl state, soft labels by text, trees, converted teachers
CRAWL_STATE = DATA_CHECKPOINTS / "crawl"
MODEL_CHECKPOINTS = Path("models/checkpoints")  # trainings
KEPT_LABELS = DATA_CHECKPOINTS / "soft_labels"
KEPT_FINE_TUNED_LABELS = DATA_CHECKPOINTS / "fine_tuned_labels"
PARSED_SHARDS = DATA_CHECKPOINTS / "parse"
PARSER_CHECKPOINTS = MODEL_CHECKPOINTS / "parser"
PAIR_CHECKPOINTS = MODEL_CHECKPOINTS / "pairs"
COMPONENT_CHECKPOINTS = MODEL_CHECKPOINTS / "component_focus"
FINE_TUNED_TEACHER_CHECKPOINTS = MODEL_CHECKPOINTS / "fine_tuned_teacher"
