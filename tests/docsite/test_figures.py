"""Tables, figures and the chart of the documentation: what the kept figures say, and the pages as they stand."""

import re

import pytest

from docsite import figures
from docsite.figures import FIGURES, TABLES, changed, pages, with_figures
from docsite.saved import published, size, table
from reproductions.docs.tables.rows import only, source
from sentence_distillery.io.artifacts import InputError
from tests.workspace import ROOT


def test_the_pages_and_the_chart_show_the_kept_figures() -> None:
    assert [path.relative_to(ROOT).as_posix() for path, _ in changed()] == [], "run `make figures`"


def test_a_page_that_differs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert with_figures(text) == text
    other = text.replace("| WordLlama", "| WordIlama")
    assert other != text
    assert with_figures(other) == text
    monkeypatch.setattr("sys.argv", ["figures", "--check"])
    monkeypatch.setattr(figures, "changed", lambda: iter([(ROOT / "README.md", text)]))
    with pytest.raises(SystemExit, match=r"README\.md differ from what `make figures` writes; run it"):
        figures.main()


def test_marks_ask_for_tables_and_figures() -> None:
    """Those of two tables are not taken for one, and an unknown mark is refused."""
    tables = (f"<!-- figures: {name} -->\nold\n<!-- end of figures -->" for name in ("medical", "probes"))
    text = "\nb\n".join(["a", *tables, "of <!-- figure: teacher speed -->1<!-- end --> c"])
    new = with_figures(text)
    assert new.startswith("a\nb\n<!-- figures: medical -->\n| encoder | recall@1 |")
    assert "\nb\n<!-- figures: probes -->\n| what differs" in new and "old" not in new
    assert new.endswith("<!-- figure: teacher speed -->300<!-- end --> c")
    with pytest.raises(InputError, match="figures 'medcal'; known ones are comparison, comparison of all"):
        with_figures(text.replace("medical", "medcal"))


def test_a_mark_never_begins_a_line() -> None:
    """Markdown would end the paragraph there."""
    assert [page.name for page in pages() if re.search(r"^<!-- figure: ", page.read_text("utf-8"), re.M)] == []


def test_every_table_and_figure_is_on_a_page() -> None:
    """What no page asks for is not checked against anything."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages())
    assert {name for name in TABLES if f"<!-- figures: {name} -->" not in text} == set()
    assert {name for name in FIGURES if f"<!-- figure: {name} -->" not in text} == set()


BY_HAND = {
    ("papers_2_and_3.md", "| claim | verdict |"): "verdicts in words",
    ("papers_2_and_3.md", "| not run, or not everywhere | what is missing |"): "weights W_cf, no figures",
    ("tutorial.md", "| figure | in the output | your encoder | the included one |"): "what the reader's command prints",
    ("operations.md", "| before a promotion | parameter of the flow | option | default |"): "defaults of tolerances",
    ("on-your-own-graph.md", "| key | meaning | default |"): "defaults of a configuration",
}


def by_hand(text: str) -> set[str]:
    """The first lines of the tables with decimals that stand outside marks."""
    tables = re.findall(r"(?:^\|.*\n)+", figures.TABLE.sub("", text), re.M)
    return {table.splitlines()[0] for table in tables if re.search(r"\d\.\d", table)}


def test_no_table_of_figures_is_written_by_hand() -> None:
    shown = [page for page in figures.pages() if "docs" in page.parts]
    found = {(page.name, head) for page in shown for head in by_hand(page.read_text(encoding="utf-8"))}
    assert found == set(BY_HAND)


def test_every_saved_table_of_the_ablations_is_named() -> None:
    page = (ROOT / "reproductions/docs/levers.md").read_text(encoding="utf-8")
    for path in (ROOT / "reports/runs/levers").glob("*.csv"):
        assert path.name in page


def test_a_table_says_where_its_figures_come_from() -> None:
    command = "python -m stages.params use paper1; dvc repro evaluate repulsion paper1_results"
    date = r"2026-\d\d-\d\d; 2 cores, 24 GiB, x86_64\.$"
    assert re.match(rf"`reports/runs/paper1/china-daily.csv`: {command}; {date}", source("paper1/china-daily"))
    assert re.search(rf"csv`, whose first line .*; 2026-\d\d-\d\d to {date}", source("paraphrase/mrpc"))
    assert all(row["source"].endswith(".json") and len(row["revision"]) == 8 for row in table("published"))


def test_what_is_not_kept_is_refused() -> None:
    with pytest.raises(InputError, match="no own float64 256"):
        size("own", "float64", 256)
    with pytest.raises(InputError, match="no potion-base-1G; add its rows"):
        published("potion-base-1G")
    with pytest.raises(InputError, match=r"paper1/china-daily\.csv has 0 rows of .*'system': 'BERTA'.*, not one"):
        only("paper1/china-daily", system="BERTA", metric="mae")
    with pytest.raises(InputError, match=r"has \d+ rows of .*'system': 'GloVe'"):
        only("paper1/china-daily", system="GloVe", metric="mae")
