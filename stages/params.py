"""params.yaml as frozen typed models, one for each section.

No field has a default: params.yaml says everything, so a value that changes a result stands in the file that DVC
tracks. `python -m stages.params` checks the file and says nothing when it is right.
"""

import difflib
import re
import sys
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from stages.artifacts import InputError

PARAMS = Path("params.yaml")

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]


def _day(text: str) -> str:
    """Refuse what is no day of the calendar; the text stays as it is, so that YAML gives back what it was given."""
    try:
        date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"'{text}' is no day; write it as in '2024-05-01', in quotes") from error
    return text


Day = Annotated[str, AfterValidator(_day)]
Host = Annotated[str, Field(pattern=r"^[a-z0-9.-]+(:[0-9]{1,5})?$")]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+(/\S*)?$")]
ThresholdRule = Literal["accuracy", "logistic"]
Precision = Annotated[
    Literal["float32", "bfloat16"],
    Field(title="of the matrix products until the best epoch is known; bfloat16 is fast where the processor has it"),
]
Language = Annotated[str, Field(pattern="^[a-z]{2}$")]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Columns(Section):
    """Which column of a table holds which field of an article; null where the table has none."""

    text: str
    title: str | None
    url: str | None
    published: str | None
    source: str | None


class CrawlInput(Section):
    path: str = Field(title="file or directory below data/external")
    format: Literal["text", "lines", "conllu", "jsonl", "csv", "parquet"] | None = Field(
        title="text: one article a file; lines: one a line, its fields between tabs named 1, 2 ...; conllu: one a "
        "sentence; null: by the suffix"
    )
    columns: Columns = Field(title="which column holds what; of no use for text")


class Crawl(Section):
    source: Literal["package", "files", "web"] = Field(
        title="package: the Lee news corpus inside gensim; files: `inputs`; web: what section `web` names"
    )
    inputs: list[CrawlInput]


class Site(Section):
    """One news site; a page is followed where its host is listed and a section holds it, or `articles` fits it."""

    name: str = Field(min_length=1, title="stands as the source of its articles")
    hosts: list[Host] = Field(min_length=1, title="lower-case names, with a port where it is not the usual one")
    sections: list[Url] = Field(title="pages to start from; their paths bound the crawl, http://host/ bounds nothing")
    sitemaps: list[Url] = Field(title="sitemaps or sitemap indexes, compressed or not")
    feeds: list[Url] = Field(title="RSS or Atom")
    articles: str | None = Field(title="regular expression found in an article's URL; null: the page itself tells")

    @field_validator("articles")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"'{pattern}' is no regular expression: {error}") from error
        return pattern


class Web(Section):
    snapshot: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", title="a new name crawls again and fetches what is new"
    )
    contact: str | None = Field(
        pattern=r"^\S+@\S+\.\S+$|^https?://\S+$",
        title="e-mail or page for those who run the sites, sent in User-Agent; no crawl starts without it",
    )
    sites: list[Site]
    since: Day | None = Field(title="articles of earlier days, or of none, are dropped; null keeps all")
    until: Day | None = Field(title="articles of later days, or of none, are dropped; null keeps all")
    languages: list[Language] = Field(title="ISO 639-1 codes of the articles that are kept; none keeps all")
    requests_per_second: Annotated[float, Field(gt=0.0, le=100.0)] = Field(title="at most, to one host")
    pages: Count = Field(title="requests in one snapshot, robots.txt not counted")
    megabytes: Count = Field(title="downloaded in one snapshot")
    page_megabytes: Positive = Field(title="a larger page is dropped, compressed or not")
    depth: Count = Field(title="links from a section, a sitemap or a feed to a page")
    timeout_seconds: Positive = Field(title="for one page, from the connection to its last byte")
    retries: Annotated[int, Field(ge=0, le=10)] = Field(title="after a timeout, a broken connection or HTTP 5xx")
    minimum_words: Count = Field(title="shorter articles are dropped")
    extraction_seconds: Positive = Field(title="for one page in the child process, which is killed then")
    extraction_megabytes: Annotated[int, Field(ge=256)] = Field(title="address space of a child process")
    private_hosts: list[Host] = Field(title="hosts that may stand in a private network; all others must be public")

    @model_validator(mode="after")
    def _some_day_is_kept(self) -> Self:
        if self.since and self.until and self.since > self.until:
            raise ValueError(f"since = {self.since} is after until = {self.until}")
        return self


class Clean(Section):
    language: str = Field(pattern="^[a-z]{2}$", title="ISO 639-1 code; documents in another language are dropped")
    minimum_tokens: Count = Field(title="shorter sentences are dropped")
    maximum_tokens: Count = Field(title="longer sentences are dropped")
    near_duplicate_threshold: Fraction = Field(
        title="Jaccard similarity of two documents' word 3-grams; 1 turns it off"
    )
    line_repeats: Annotated[int, Field(ge=2)] = Field(
        title="a line that stands in so many documents of one source is boilerplate"
    )
    shard_documents: Count = Field(title="documents in each part of data/corpus/sentences")

    @model_validator(mode="after")
    def _some_length_is_kept(self) -> Self:
        if self.minimum_tokens > self.maximum_tokens:
            raise ValueError(f"minimum_tokens = {self.minimum_tokens} is above maximum_tokens = {self.maximum_tokens}")
        return self


class Benchmarks(Section):
    sets: list[str] = Field(title="benchmark sets to read; what is absent is reported")


class Skipgram(Section):
    tokens: Literal["all", "content"] = Field(title="content: without stop words, as paper 1")
    dimension: Count
    window: Count
    minimum_count: Count
    negative: Count
    epochs: Count
    seed: Seed
    workers: Count = Field(title="1 gives the same bytes for the same seed")


class Fasttext(Skipgram):
    minimum_n: Count = Field(title="characters in the shortest n-gram, the marks of a word's ends counted")
    maximum_n: Count = Field(title="characters in the longest n-gram")
    buckets: Count = Field(title="n-grams share this many vectors")

    @model_validator(mode="after")
    def _some_length_is_taken(self) -> Self:
        if self.minimum_n > self.maximum_n:
            raise ValueError(f"minimum_n = {self.minimum_n} is above maximum_n = {self.maximum_n}")
        return self


class Refine(Section):
    objective: Literal["repulsion", "contrastive"] = Field(
        title="repulsion: Algorithm 1 as printed, with the values below; contrastive: section `contrastive`"
    )
    learning_rate: Positive = Field(title="1e-4 in paper 1")
    iterations: Count = Field(title="50 in paper 1")
    batch_size: Count = Field(title="100 in paper 1")
    sentences: Count = Field(title="how many sentences are drawn from the corpus")
    seed: Seed


class Contrastive(Section):
    distance: Annotated[int, Field(ge=0)] = Field(
        title="sentences of an article up to this far apart are related; 0: each sentence to itself alone"
    )
    word_dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(title="share of words left out of each side")
    temperature: Positive = Field(title="of the softmax that makes a distribution of a sentence vector of length 1")
    margin: Annotated[float, Field(ge=0.0)] = Field(title="nats by which unrelated sentences are to be farther")
    batch_temperature: Positive = Field(title="nats; the smaller, the more only the nearest unrelated sentences count")
    optimizer: Literal["adam", "sgd"]
    learning_rate: Positive = Field(title="at the start; falls linearly to 0")
    epochs: Count = Field(title="passes over the related pairs of the whole corpus")
    batch_size: Annotated[int, Field(ge=2)]
    seed: Seed


class Repulsion(Section):
    """Algorithm 1 over learning rates and iterations; all else as section `refine` says."""

    learning_rates: list[Positive] = Field(min_length=1)
    iterations: list[Annotated[int, Field(ge=0)]] = Field(min_length=1, title="after which it is measured")


class Teacher(Section):
    reference: str = Field(title="package:<name>, a local path, or a hub id")
    revision: str | None = Field(title="the pinned commit of a hub id")
    sha256: str | None = Field(title="SHA-256 of model.safetensors; null accepts any")
    maximum_length: Annotated[int, Field(ge=2)] = Field(title="word pieces, special ones included")


class Simcse(Teacher):
    objective: Literal["unsupervised", "supervised"] = Field(title="supervised: entailments of SICK train")
    sentences: Annotated[int, Field(ge=0)] = Field(title="at most so many examples; 0 trains nothing")
    epochs: Count
    batch_size: Annotated[int, Field(ge=2)]
    learning_rate: Positive
    temperature: Positive = Field(title="0.05 in Gao et al. 2021")
    seed: Seed


class SoftLabels(Section):
    batch_tokens: Count = Field(title="word pieces in a batch, padding included; at most 512 on a processor")
    minimum_count: Count = Field(title="corpus words with this count get a soft label of their own")
    further_words: Annotated[int, Field(ge=0)] = Field(title="GloVe's most frequent that the corpus lacks, likewise")
    further_teachers: list[Teacher] = Field(title="beside `teacher`; the student learns the mean of their cosines")
    precision: Precision


class Student(Section):
    kind: Literal["paper", "static"]
    dimension: Count = Field(title="static: principal components of the teacher's embeddings that are kept")
    epochs: Count
    batch_size: Annotated[int, Field(ge=2)]
    learning_rate: Positive
    relational_weight: Annotated[float, Field(ge=0.0)] = Field(title="static: weight of the in-batch KL")
    temperature: Positive = Field(title="static: of the in-batch similarity distributions")
    seed: Seed


class MyModel(Section):
    """Paper 1's student, trained beside ours; as `student` with kind paper."""

    epochs: Count
    batch_size: Annotated[int, Field(ge=2)]
    learning_rate: Positive
    seed: Seed


class Deep(Section):
    """The student with a hidden layer behind its sum."""

    units: Annotated[int, Field(ge=0)] = Field(title="of the hidden layer; 0: no such variant")
    epochs: Count
    batch_size: Annotated[int, Field(ge=2)]
    learning_rate: Positive
    relational_weight: Annotated[float, Field(ge=0.0)] = Field(title="weight of the in-batch KL")
    temperature: Positive = Field(title="of the in-batch similarity distributions")
    seed: Seed


class Gold(Section):
    """The student tuned on people's scores, those of STS-B train."""

    epochs: Annotated[int, Field(ge=0)] = Field(title="0 tunes nothing")
    batch_size: Annotated[int, Field(ge=2)]
    turn_rate: Positive = Field(title="learning rate of the linear map that all tokens share")
    weight_rate: Positive = Field(title="learning rate of the logarithms of the token weights")
    direction_rate: Positive = Field(title="learning rate of the direction that weighs a token by its share of it")
    seed: Seed


class ScoredTraining(Section):
    """How an encoder is trained on pairs with scores."""

    epochs: Annotated[int, Field(ge=0)] = Field(title="4 in paper 3, the best by dev counts; 0 trains nothing")
    batch_size: Count = Field(title="pairs; 16 in the paper")
    learning_rate: Positive = Field(title="of Adam, 2e-5 in the paper")
    warm_up: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(title="share of the steps; 0.1 in the paper")
    precision: Precision


class GoldTeacher(ScoredTraining):
    """The teachers tuned on people's scores, for the student that is; `precision` is that of their labels, too."""

    seed: Seed


class Seeds(Section):
    values: list[Seed] = Field(title="beside the run's own; what trains in minutes is trained again with each")

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(set(self.values)) < len(self.values):
            raise ValueError(f"{self.values} has a seed twice")
        return self


class Pairs(Section):
    """Which encoders learn to tell paraphrases, how, and on what (paper 2); the lists are the axes of the matrix."""

    dataset: str = Field(title="a benchmark set of pairs labelled 0 and 1, or a directory with train.csv and test.csv")
    also: list[str] = Field(title="sets of scored pairs whose test split each encoder is scored on as well")
    held_out: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(
        title="share of train that nothing is trained on: threshold, end of training and winner come from it"
    )
    folds: Annotated[int, Field(ge=2)] = Field(title="of the cross-validation that chooses the threshold")
    seed: Seed = Field(title="of the split and the folds")
    seeds: list[Seed] = Field(min_length=1, title="every training is run with each; the first one's weights are kept")
    encoders: list[str] = Field(title="names in section `encoders`")
    poolings: list[Literal["mean", "max", "cls"]]
    recipes: list[Literal["combined", "modern", "intermediate"]] = Field(
        title="of tuning on joined pairs: section `metric_learning`, `modern_learning`, or that after `intermediate`"
    )
    starts: list[str] = Field(title="where training starts: a pooling alone, or with a recipe, as in mean-combined")
    strategies: list[Literal["cosine", "siamese", "triplet", "logistic", "cosent", "ranking"]]
    combination: Literal["u", "u,v", "|u-v|", "u*v", "|u-v|,u*v", "u,v,|u-v|,u*v"] = Field(
        title="what logistic regression reads of the vectors u and v"
    )

    @model_validator(mode="after")
    def _every_start_is_made(self) -> Self:
        made = [*self.poolings, *(f"{pooling}-{recipe}" for pooling in self.poolings for recipe in self.recipes)]
        for start in self.starts:
            if start not in made:
                raise ValueError(f"start '{start}' needs its pooling in `poolings` and its recipe in `recipes`")
        return self


class Learning(Section):
    """How an encoder is trained, whatever the loss."""

    epochs: Count
    iterations: Count | None = Field(title="batches in an epoch; null: one pass over the pairs")
    batch_size: Annotated[int, Field(ge=2)]
    optimizer: Literal["sgd", "adamw"]
    momentum: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(title="sgd: Nesterov's")
    weight_decay: Annotated[float, Field(ge=0.0)]
    halve_every: Count | None = Field(title="epochs between halvings of the learning rate; null: linearly to 0")
    warm_up: Fraction = Field(title="share of the steps in which the learning rate rises to its value")
    clip_norm: Positive | None = Field(title="longest that a step's gradient may be; null: not shortened")
    head_epochs: Annotated[int, Field(ge=0)] = Field(title="in which the head learns alone, the encoder frozen")
    patience: Count | None = Field(title="epochs without a better held-out accuracy before the end; null: never")
    threshold: ThresholdRule = Field(title="the held-out pairs' best accuracy, or even odds by logistic regression")
    pair_rate: Positive = Field(title="learning rate of fine-tuning on joined pairs")
    both_orders: bool = Field(title="a joined pair is scored either way round, by the mean of its two vectors")
    precision: Precision


class MetricLearning(Learning):
    margin: Positive = Field(title="0.5 in paper 2")
    siamese_rate: Positive
    triplet_rate: Positive
    logistic_rate: Positive


class ModernLearning(Learning):
    cosent_rate: Positive
    ranking_rate: Positive


class Intermediate(Section):
    """What joined pairs learn first under the recipe of that name."""

    set: str = Field(title="benchmark set of scored pairs")
    epochs: Count
    learning_rate: Positive


class Combinations(Section):
    """Paper 2's table 4: logistic regression on six combinations of the vectors."""

    poolings: list[Literal["mean", "max", "cls"]] = Field(title="of pairs.poolings; cls in the paper")
    frozen: bool = Field(title="the heads alone are trained, in seconds; false trains the encoder six times")


class PairCost(Section):
    encoder: str = Field(title="name in section `encoders`")
    sentences: Annotated[int, Field(ge=2)] = Field(title="of the sample")


class Syntax(Section):
    """Which sentences are parsed, and by what."""

    model: str = Field(title="bundled: models/syntax; hub: Stanza's own, fetched once; or a directory of models")
    maximum_words: Count = Field(title="a text with a longer sentence has no tree; memory grows with the square")
    sets: list[str] = Field(title="benchmark sets of pairs; what is absent is reported")


class ComponentFocus(Section):
    """Encoders that see a sentence's component beside it (paper 3); the lists are the axes of the matrix."""

    encoders: list[str] = Field(min_length=1, title="names in section `encoders`")
    tasks: list[Annotated[str, Field(pattern=r"^[^+]+(\+labels|\+silver)?$")]] = Field(
        min_length=1, title="sets of scored pairs, stsb and sick in the paper; also one +labels or +silver, to train on"
    )
    weights: list[Annotated[float, Field(ge=0.0)] | Literal["one", "roles", "gate"]] = Field(
        min_length=1, title="W_cf; 0.0 is SBERT, and a word is a way to learn it with the encoder"
    )

    functions: dict[str, Annotated[str, Field(pattern=r"^[\w.]+:\w+$")]] = Field(
        title="name -> module:function, encoders that take the component at inference alone"
    )

    @field_validator("functions")
    @classmethod
    def _names_are_free(cls, functions: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if taken := sorted(functions.keys() & {"student", *info.data.get("encoders", ())}):
            raise ValueError(f"'{taken[0]}' is the name of another encoder")
        return functions

    @field_validator("weights", mode="before")
    @classmethod
    def _each_names_its_cell(cls, weights: Any) -> Any:
        """DVC names a cell as the file has its weight, the stage as Python writes it."""
        given = weights if isinstance(weights, list) else []
        if whole := [weight for weight in given if isinstance(weight, int)]:
            raise ValueError(f"write {float(whole[0])} instead of {whole[0]}")
        if len(set(map(str, given))) < len(given):
            raise ValueError(f"{given} has a weight twice")
        return weights


class FocusTraining(ScoredTraining):
    """How a cell of that grid is trained; with 0 epochs the component comes at inference alone."""

    seeds: list[Seed] = Field(min_length=1, title="every cell is trained with each")
    pooling: Literal["mean", "max", "cls"]
    label_weight: Positive = Field(title="of the labels' cross-entropy beside the scores' loss, in tasks +labels")


class Silver(Section):
    """Pairs that a teacher scores, for the tasks +silver of component_focus."""

    teacher: str = Field(title="name in section `encoders`; tuned on the task first, as focus_training says")
    seeds: list[Seed] = Field(min_length=1, title="it is tuned with each, and their mean cosine is the score")
    pairs: Count = Field(title="beside those that people scored")
    nearest: Count = Field(title="rank of the farthest neighbour that a sentence is paired with")
    share: Annotated[float, Field(ge=0.0, le=1.0)] = Field(title="what the teacher has to say in people's scores")
    seed: Seed = Field(title="of the pairs that are drawn")


class Shards(Section):
    """Where shards are worked on. No stage lists these, since the same bytes come out whatever they say."""

    processes: Count | None = Field(title="how many processes; 1 works in the stage's own, null takes all cores")
    dask: str | None = Field(
        pattern=r"^(tcp|tls)://\S+:\d+$", title="address of a Dask scheduler, whose workers take the processes' place"
    )


class Reference(Teacher):
    """An encoder that stands beside ours; where its weights are not at hand its rows say so."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 .-]*$", title="of the system in the results")


class Evaluate(Section):
    smoothing: Positive = Field(title="a of SIF and DPCS, 1e-3 in paper 1")
    variance_threshold: Annotated[float, Field(gt=0.0, le=1.0)] = Field(title="T of DPCS, 0.95 in paper 1")
    fit_sentences: Count = Field(title="corpus sentences that the principal components are fitted on")
    speed_sentences: Count = Field(title="sentences encoded to measure throughput")
    glove_tokens: Literal["all", "content"] = Field(title="what GloVe reads; content: without stop words")
    references: list[Reference] = Field(title="transformers beside the teacher")
    documents: Annotated[int, Field(ge=0)] = Field(title="of each split that are classified, 0 for none")
    transformer_documents: Annotated[int, Field(ge=0)] = Field(title="the same for transformers, which are slow")
    seed: Seed


AnyMatrix = TypeVar("AnyMatrix", Pairs, PairCost, ComponentFocus, Silver)


class Params(Section):
    profile: str
    crawl: Crawl
    web: Web
    clean: Clean
    benchmarks: Benchmarks
    skipgram: Skipgram
    fasttext: Fasttext
    refine: Refine
    contrastive: Contrastive
    repulsion: Repulsion
    teacher: Teacher
    soft_labels: SoftLabels
    simcse: Simcse
    student: Student
    my_model: MyModel
    deep: Deep
    gold_teacher: GoldTeacher
    gold: Gold
    seeds: Seeds
    evaluate: Evaluate
    encoders: dict[str, Teacher]
    pairs: Pairs
    metric_learning: MetricLearning
    modern_learning: ModernLearning
    intermediate: Intermediate
    combinations: Combinations
    pair_cost: PairCost
    syntax: Syntax
    component_focus: ComponentFocus
    focus_training: FocusTraining
    silver: Silver
    shards: Shards

    @field_validator("pairs", "pair_cost", "component_focus", "silver")
    @classmethod
    def _encoders_are_known(cls, section: AnyMatrix, info: ValidationInfo) -> AnyMatrix:
        match section:
            case PairCost():
                given = [section.encoder]
            case Silver():
                given = [section.teacher]
            case _:
                given = section.encoders
        known = info.data.get("encoders", given)
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"{', '.join(unknown)} is none of section encoders, which has {', '.join(known)}")
        return section

    @field_validator("combinations")
    @classmethod
    def _poolings_are_made(cls, combinations: Combinations, info: ValidationInfo) -> Combinations:
        made = info.data["pairs"].poolings if "pairs" in info.data else combinations.poolings
        if absent := [pooling for pooling in combinations.poolings if pooling not in made]:
            raise ValueError(f"poolings has {', '.join(absent)}, which pairs.poolings, what is embedded, has not")
        return combinations

    @field_validator("component_focus")
    @classmethod
    def _tasks_are_parsed(cls, focus: ComponentFocus, info: ValidationInfo) -> ComponentFocus:
        parsed = info.data["syntax"].sets if "syntax" in info.data else focus.tasks
        unparsed = [task for task in focus.tasks if task.partition("+")[0] not in parsed]
        if unparsed and focus.weights != [0.0]:
            raise ValueError(f"tasks has {', '.join(unparsed)}, which syntax.sets, the sets that are parsed, has not")
        return focus


class _Loader(yaml.SafeLoader):
    """YAML 1.2's core schema, as DVC reads the same file: 1e-05 is a number and `no` a text."""


_Loader.yaml_implicit_resolvers = {}  # without those of YAML 1.1
for _tag, _pattern in (
    ("null", r"~|null|Null|NULL|"),
    ("bool", r"true|True|TRUE|false|False|FALSE"),
    ("int", r"[-+]?(0|[1-9][0-9]*)"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), None)


def load_params(path: Path = PARAMS) -> Params:
    """Read and check the whole file; raises InputError that lists every problem."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be read: {error}. Restore it with `git checkout {path}`.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no sections. Restore it with `git checkout {path}`.")
    try:
        return Params.model_validate(content)
    except ValidationError as error:
        problems = "\n".join(f"  {_problem(dict(detail))}" for detail in error.errors())
        raise InputError(f"{path} has {error.error_count()} problem(s):\n{problems}") from error


def _problem(detail: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        return f"{place}: unknown key{_suggestion(detail['loc'])}"
    if detail["type"] == "missing":
        return f"{place}: missing"
    if detail["type"] == "value_error":  # of a whole section
        return f"{place}: {detail['ctx']['error']}"
    return f"{place} = {detail['input']!r}: {detail['msg']}"


def _suggestion(location: tuple[str | int, ...]) -> str:
    """The known key nearest to the unknown one at `location`, as a question."""
    model: Any = Params
    for part in location[:-1]:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        model = field.annotation if field else model
        model = model if hasattr(model, "model_fields") else model.__args__[0]
    known = list(model.model_fields)
    nearest = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.5)
    return f"; did you mean '{nearest[0]}'?" if nearest else f"; known keys are {', '.join(known)}"


def main() -> None:
    try:
        load_params()
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
