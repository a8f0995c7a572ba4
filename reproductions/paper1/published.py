"""Figures that paper 1 prints, by table, system, protocol and metric.

Paper 1 is Han and Yang, Mathematics 2024, 12, 3990. Its "SemEval-2016" set of 1,379 pairs scored 0-5 is by size, scale
and content the test split of the STS Benchmark. Its introduction prints other DPCS figures for MyModel (0.518, 0.517,
1.287) than its table 6; the table's are used here.
"""

from dataclasses import dataclass, replace

from sentence_distillery.evaluation.results import Result


@dataclass(frozen=True)
class Published:
    """Pearson, Spearman and MAE of a system in a table of paper 1."""

    table: str
    pearson: float
    spearman: float
    mae: float


PAPER_1: dict[tuple[str, str], Published] = {
    ("Word2Vec", "mean"): Published("4", 0.044, 0.379, 2.313),
    ("GloVe", "mean"): Published("4", 0.368, 0.356, 2.256),
    ("FastText", "mean"): Published("4", 0.064, 0.472, 2.447),
    ("BERT", "mean"): Published("4", 0.451, 0.457, 2.181),
    ("SBERT", "mean"): Published("4", 0.462, 0.482, 2.093),
    ("SimCSE", "mean"): Published("4", 0.458, 0.490, 2.104),
    ("MyModel", "mean"): Published("4", 0.470, 0.481, 2.100),
    ("Word2Vec", "tf-idf"): Published("5", 0.045, 0.387, 2.315),
    ("GloVe", "tf-idf"): Published("5", 0.473, 0.460, 2.046),
    ("FastText", "tf-idf"): Published("5", 0.085, 0.364, 2.340),
    ("BERT", "tf-idf"): Published("5", 0.486, 0.492, 2.057),
    ("SBERT", "tf-idf"): Published("5", 0.516, 0.511, 1.672),
    ("SimCSE", "tf-idf"): Published("5", 0.507, 0.503, 1.947),
    ("MyModel", "tf-idf"): Published("5", 0.528, 0.518, 1.343),
    ("Word2Vec", "dpcs"): Published("6", 0.444, 0.432, 1.380),
    ("GloVe", "dpcs"): Published("6", 0.436, 0.421, 1.423),
    ("FastText", "dpcs"): Published("6", 0.474, 0.467, 1.376),
    ("BERT", "dpcs"): Published("6", 0.451, 0.457, 2.081),
    ("SBERT", "dpcs"): Published("6", 0.511, 0.501, 1.390),
    ("SimCSE", "dpcs"): Published("6", 0.525, 0.514, 1.434),
    ("MyModel", "dpcs"): Published("6", 0.530, 0.518, 1.320),
}


@dataclass(frozen=True)
class Sentiment:
    """Precision, recall and F1 of a system in table 3 of paper 1, an SGD classifier on IMDB."""

    precision: float
    recall: float
    f1: float


PAPER_1_SENTIMENT: dict[str, Sentiment] = {
    "Word2Vec": Sentiment(0.66, 0.02, 0.04),
    "GloVe": Sentiment(0.73, 0.77, 0.75),
    "FastText": Sentiment(0.51, 0.85, 0.64),
    "BERT": Sentiment(0.71, 0.82, 0.76),
    "SBERT": Sentiment(0.67, 0.54, 0.60),
    "SimCSE": Sentiment(0.65, 0.81, 0.72),
    "MyModel": Sentiment(0.75, 0.88, 0.81),
}


OURS = {"Word2Vec": "skip-gram", "MyModel": "paper student"}  # the paper's name -> ours, if they differ
SENTIMENT_TABLE = "3"


def our_name(system: str) -> str:
    """Return our name of a system of the paper: its Word2Vec is our skip-gram, its MyModel our paper student."""
    return OURS.get(system, system)


PAPER_NAMES = {our_name(name): name for name in PAPER_1_SENTIMENT}  # our name -> the paper's


def with_published(result: Result) -> Result:
    """Set paper, table and published if the paper has the same figure: tables 4 to 6 on STS-B test, table 3 on IMDB."""
    system, metric = PAPER_NAMES.get(result.system, ""), result.metric
    if (result.dataset, result.split) == ("stsb", "test") and metric in ("pearson", "spearman", "mae"):
        if (printed := PAPER_1.get((system, result.protocol))) is not None:
            return replace(result, paper="1", table=printed.table, published=getattr(printed, metric))
    elif (result.dataset, result.protocol) == ("imdb", "sgd") and system in PAPER_1_SENTIMENT:
        published = getattr(PAPER_1_SENTIMENT[system], metric)
        return replace(result, paper="1", table=SENTIMENT_TABLE, published=published)
    return result


@dataclass(frozen=True)
class Before:
    """A row of table 1: cosines of two sentences before and after Algorithm 1; figures 2 and 3 show their words."""

    sentence1: str
    sentence2: str
    before: float
    after: float
    related: bool


@dataclass(frozen=True)
class Rated:
    """A row of table 2: the human rating of a pair, the best other system's score and MyModel's, all on 0-5."""

    sentence1: str
    sentence2: str
    rating: float
    baseline: float
    paper_student: float


TABLE_1 = (
    Before("A man puts three pieces of meat into a pan.", "A man is putting meat in a pan.", 0.13, 0.72, True),
    Before("Yes, there is a rule against this.", "There's no rule against it.", 0.74, 0.20, False),
)
TABLE_2 = (
    Rated("Suicide attack kills eight in Baghdad", "Suicide attacks kill 24 people in Baghdad", 2.40, 2.12, 2.41),
    Rated("Ukraine to implement unilateral ceasefire", "Ukraine offers unilateral ceasefire", 4.80, 4.56, 4.78),
    Rated(
        "Beaten Florida teen released in Israel",
        "Palestinian teen dies of wounds sustained in Israeli shooting",
        0.4,
        0.33,
        0.39,
    ),
    Rated("Southwest jet hit nose first", "Southwest Jet's Nose Gear Landed First", 3.6, 3.45, 3.56),
)
