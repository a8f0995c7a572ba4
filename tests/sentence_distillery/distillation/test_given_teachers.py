"""Students of a teacher that is a function, and of one that is a file of vectors."""

import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from sentence_distillery import cli
from sentence_distillery.distillation.distill import distill, texts_to_embed
from sentence_distillery.distillation.start import with_estimates
from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.domain.held_out import reference_of
from sentence_distillery.domain.measures import Reference
from sentence_distillery.domain.texts import DOMAIN, evaluate_on_texts
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import words
from sentence_distillery.io.artifacts import InputError, read_json
from sentence_distillery.io.ragged import Floats, TokenIds
from sentence_distillery.teachers.functions import PROBE
from stages import paths

from .test_distill import SENTENCES, SMALL, TEXTS, saved, through_the_stages

pytestmark = pytest.mark.usefixtures("on_one_thread")

FUNCTION = {"function": "own_teacher:embed", "version": None, "sha256": None}
MODULE = """
import zlib
import numpy as np

def embed(texts):
    return [mean(text.lower().replace(".", "").split()) for text in texts]

def mean(words):
    return np.mean([vector(word) for word in words] or [np.ones(12)], axis=0)

def vector(text):
    return np.random.default_rng(zlib.crc32(text.encode())).normal(size=12)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a function that gives means of the words' vectors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_teacher", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    Path("own_teacher.py").write_text(MODULE)
    return tmp_path


def embed(texts: list[str]) -> NDArray[np.float64]:
    """What the module's function gives."""
    from own_teacher import embed as function  # type: ignore[import-not-found]

    return np.array(function(texts))


def write_vectors(texts: list[str], path: str = "vectors.parquet") -> str:
    vectors = [row.tolist() for row in embed(texts)]
    pq.write_table(pa.table({"text": texts, "vector": pa.array(vectors, pa.list_(pa.float32()))}), path)
    return path


def test_its_labels_are_made_anew_if_the_function_changes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only then: a second call finds them."""

    def kept(revision: str | None = None) -> set[str]:
        monkeypatch.delitem(sys.modules, "own_teacher", raising=False)
        distill(TEXTS, "own_teacher:embed", working_directory="work", revision=revision, **SMALL)
        return {path.name for path in Path("work/kept").iterdir()}

    first = kept()
    assert kept() == first
    second = kept("2")
    Path("own_teacher.py").write_text(MODULE + "\n# edited\n")
    assert first < second < kept()


def test_methods_of_two_objects_are_two_teachers(here: Path) -> None:
    """regression: the second one got the vectors of the first, since their source is the same."""

    class Scaled:
        def __init__(self, scale: float) -> None:
            self.scale, self.seen = scale, 0

        def embed(self, texts: list[str]) -> NDArray[np.float64]:
            self.seen += len(texts)
            return embed(texts) ** self.scale

    teachers = [Scaled(1), Scaled(3), Scaled(1)]
    for teacher in teachers:
        distill(TEXTS, teacher.embed, working_directory="work", **SMALL)
    first, second, again = (teacher.seen for teacher in teachers)
    assert first == second > again == 2  # the probe, twice


def test_sentences_without_words(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file that has the sentences only: the words' vectors are estimated, and the student still agrees with it."""
    caplog.set_level(logging.INFO)
    found = distill(SENTENCES, write_vectors(SENTENCES), clean=False, **SMALL | {"epochs": 10})
    assert "words have no vector; their vectors are estimated from sentences" in caplog.text
    full = distill(SENTENCES, "own_teacher:embed", clean=False, **SMALL | {"epochs": 10})
    agreement = [_spearman(encoder) for encoder in (found, full)]
    assert min(agreement) > 0.7 and abs(agreement[0] - agreement[1]) < 0.15, agreement


def _spearman(encoder: StaticEncoder) -> float:
    result = next(iter(evaluate_on_texts(encoder, SENTENCES, "own_teacher:embed")))
    assert isinstance(result.value, float)
    return result.value


def test_a_few_texts_without_a_vector(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They are counted and named, and no student is trained on them: it is that of the others."""
    missing, rest = SENTENCES[:5], SENTENCES[5:]
    path = write_vectors([text for text in texts_to_embed(SENTENCES, clean=False) if text not in missing])
    found = distill(SENTENCES, path, clean=False, **SMALL)
    total = len(SENTENCES)
    assert f"5 of {total} sentences have no vector in vectors.parquet, such as {missing[0]!r}, " in caplog.text
    assert found.dimension == 6
    caplog.clear()
    evaluate_on_texts(found, SENTENCES, path)
    assert f"5 of {total} texts have no vector of the teacher" in caplog.text
    assert len(rest) == total - 5


def test_too_many_texts_without_a_vector(here: Path) -> None:
    """Such as if the vectors are of whole texts, and the sentences are asked for."""
    path = write_vectors(TEXTS)
    problem = (
        r"of \d+ sentences have no vector in vectors\.parquet, such as .*at most 10% may lack one\. texts_to_embed"
    )
    with pytest.raises(InputError, match=problem):
        distill(TEXTS, path, **SMALL)
    assert distill(TEXTS, path, clean=False, **SMALL | {"epochs": 1}).dimension == 6


def test_the_command(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    """List the texts, embed them elsewhere, distil."""
    Path("texts.txt").write_text("\n".join(SENTENCES))
    cli.main(["distill", "texts.txt", "--no-clean", "--list-texts", "texts.parquet"])
    listed = pq.read_table("texts.parquet")["text"].to_pylist()
    assert listed[: len(SENTENCES)] == SENTENCES
    assert {"friends", "harbour"} <= set(listed)
    command = ["distill", "texts.txt", "--no-clean", "--dimension", "6", "--epochs", "1", "--output"]
    cli.main([*command, "one", "--teacher", write_vectors(listed)])
    cli.main([*command, "two", "--teacher", "own_teacher:embed", "--revision", "2"])
    assert Path("one/model.safetensors").read_bytes() == Path("two/model.safetensors").read_bytes()
    with pytest.raises(SystemExit, match=r"distill: --teacher is missing\. Only --list-texts works"):
        cli.main([*command, "three"])
    with pytest.raises(SystemExit, match=r"prompt 'query: ' is given, but the teacher is a function; put it before"):
        cli.main([*command, "three", "--teacher", "own_teacher:embed", "--prompt", "query: "])


def test_the_model_card_of_a_command(here: Path) -> None:
    """Of its own run, and never in place of other files, which is said before anything is trained."""
    Path("texts.txt").write_text("\n".join(SENTENCES))
    command = ["distill", "texts.txt", "--no-clean", "--teacher", "own_teacher:embed", "--dimension", "6"]
    cli.main([*command, "--epochs", "2", "--seed", "5", "--precision", "int8", "--output", "models/mine"])
    card = Path("models/mine/README.md").read_text()
    assert "Made by `sentence-distillery distill`." in card
    assert f"| trained on | {len(SENTENCES)} sentences, 2 epochs, seed 5 |" in card
    assert "`own_teacher:embed`, a function, SHA-256" in card and "| dimension | 6 |" in card
    assert 'SentenceTransformer("models/mine")' in card
    assert "sentence-distillery evaluate --model models/mine --texts FILE --teacher own_teacher:embed" in card
    assert "reports/index.html" not in card and "{" not in card
    made_from = StaticEncoder.load(Path("models/mine")).made_from
    assert (made_from["sentences"], made_from["epochs"], made_from["seed"]) == (len(SENTENCES), 2, 5)
    Path("models/mine/notes.txt").touch()
    asked = list(Path().iterdir())
    with pytest.raises(SystemExit, match=r"models/mine holds 'notes\.txt', which is not part of a model"):
        cli.main([*command, "--working-directory", "work", "--output", "models/mine"])
    assert list(Path().iterdir()) == asked


def test_the_stages(here: Path) -> None:
    """A function by its name, itself, and a file of its vectors: the same bytes by `distill` and by the pipeline.

    The card names the teacher.
    """
    expected = saved(distill(TEXTS, "own_teacher:embed", **SMALL))
    path = write_vectors(texts_to_embed(TEXTS))
    for teacher in (embed, Path(path)):
        assert saved(distill(TEXTS, teacher, **SMALL)) == expected
    assert through_the_stages(FUNCTION) == expected
    about = read_json(paths.SOFT_LABELS / "teacher.json", dict[str, Any])
    assert (about["reference"], about["kind"], about["pooling"]) == ("own_teacher:embed", "function", None)
    assert "`own_teacher:embed`, a function, SHA-256" in (paths.STUDENT / "README.md").read_text()
    assert through_the_stages({"vectors": path, "sha256": None}) == expected
    assert "`vectors.parquet`, a file of vectors, SHA-256" in (paths.STUDENT / "README.md").read_text()


def test_held_out_texts_without_a_vector(here: Path) -> None:
    """They are not compared."""
    listed = texts_to_embed(TEXTS)
    through_the_stages(FUNCTION, share=0.2)
    apart = pq.read_table(paths.SENTENCES / "held_out.parquet")["text"].to_pylist()
    path = write_vectors([text for text in listed if text != apart[0]])
    through_the_stages({"vectors": path, "sha256": None}, share=0.2)
    reference = reference_of(LabelledCorpus(paths.SENTENCES, paths.SOFT_LABELS), 0.2, DOMAIN)
    assert isinstance(reference, Reference)
    assert list(reference.texts) == apart[1:]


def test_a_pin_that_does_not_fit(here: Path) -> None:
    """The message names the parameter."""
    path = write_vectors(SENTENCES)
    with pytest.raises(SystemExit, match=r"but 00 is pinned\..* params\.yaml has it as encoders\.mine\.sha256\."):
        through_the_stages({"vectors": path, "sha256": "00"})


def test_estimates() -> None:
    """Known rows stay; a word is near the sentences that have it, and a piece near the words that are cut into it."""
    listed = ["storm", "port", "gale", "##ale", "g", "##x"]
    vectors: Floats = np.zeros((6, 2), np.float32)
    vectors[1] = (0, 3)
    tokens = TokenIds.from_lists([[1], [1, 2], [3], [3]])
    targets = np.array([[4, 0], [4, 0], [0, 4], [0, 4]], dtype=np.float16)
    found = with_estimates(vectors, listed, tokens, targets)
    middle, centre, factor = np.array([2, 2]), np.array([0, 3]), 2 / (2 + 2)
    np.testing.assert_allclose(found[1], [0, 3])
    np.testing.assert_allclose(found[0], centre + factor * ([4, 0] - middle))
    np.testing.assert_allclose(found[2], centre + factor * ([0, 4] - middle))
    np.testing.assert_allclose(found[3], found[2], atol=1e-3)
    np.testing.assert_allclose(found[4], found[2], atol=1e-3)
    np.testing.assert_allclose(found[5], centre)
    complete = np.ones((2, 2), np.float32)
    assert with_estimates(complete, ["storm", "port"], tokens, targets) is complete


def test_words_are_listed_as_the_teacher_gets_them(here: Path) -> None:
    """Everything that the function is asked for is in the list, and nothing else."""
    asked: set[str] = set()

    def noting(texts: list[str]) -> NDArray[np.float64]:
        asked.update(texts)
        return embed(texts)

    distill(TEXTS, noting, **SMALL)
    assert asked - {PROBE} == set(texts_to_embed(TEXTS))
    assert set(words(" ".join(SENTENCES))) <= asked
