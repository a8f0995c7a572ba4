"""`explore --static`: a folder of files that a browser opens from the disk, without a server and without a network."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from sentence_distillery import load
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.serving import static_site
from sentence_distillery.serving.collection import Collection
from tests.javascript.building import built
from tests.look import WIDTHS, browser_needed, silent_page
from tests.sentence_distillery.distillation.conftest import deep_encoder

from .conftest import TEXTS

ROWS = [
    ("The storm closed the port.", {"topic": "weather", "link": "https://example.org/?a=1&b=<2>"}),
    ("the storm CLOSED the port!", {"topic": "weather", "link": "javascript:alert(1)"}),
    ("A gale shut the harbour.", {"topic": "weather", "link": "<b>x</b>"}),
    ("Shares fell in London.", {"topic": "money", "link": ""}),
    ("?!", {"topic": "money", "link": "</script><script>alert(1)</script>"}),
]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with silent_page(browser, offline=True) as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The released student with a table."""
    built()
    directory = tmp_path_factory.mktemp("static") / "site"
    static_site.write_site(Collection.of_rows(load(), ROWS), "released", directory)
    return directory


@pytest.mark.browser
@browser_needed
def test_a_persons_way(page: Page, folder: Path) -> None:
    """Search as one types; columns, links, a filter, what is nearly the same, the neighbours of a text, the map."""
    page.goto((folder / "index.html").as_uri())
    expect(page.locator("#facts")).to_contain_text("5 texts · 256 dimensions")
    expect(page.locator("#facts")).to_contain_text("nothing is sent")
    expect(page.locator("#points circle")).to_have_count(4)
    expect(page.locator("#loading")).to_be_hidden()
    page.get_by_label("Find similar texts").fill("a storm in the port, flabbergastingly 𓀀")
    page.keyboard.press("Enter")
    expect(page.locator("#words")).to_contain_text(
        "Unknown words: 𓀀. Not in the vocabulary, read as word pieces: flabbergastingly"
    )
    hits = page.locator("#lists > div > ol > li")
    expect(hits).to_have_count(4)
    expect(page.locator("#lists a")).to_have_count(1)
    expect(page.locator("#lists a")).to_have_attribute("href", "https://example.org/?a=1&b=<2>")
    expect(page.locator("#lists b, #lists script")).to_have_count(0)
    hits.first.get_by_text("1 nearly the same").click()
    expect(hits.first.locator("details li")).to_contain_text("the storm CLOSED the port!")
    page.get_by_label("Column").select_option("topic")
    page.get_by_label("Value", exact=True).select_option("money")
    expect(hits).to_have_count(2)
    page.get_by_label("Column").select_option("")
    page.get_by_role("button", name="A gale shut the harbour.").click()
    expect(page.locator("#asked")).to_have_text("Texts like “A gale shut the harbour.”")
    expect(hits.first).to_contain_text("The storm closed the port.")
    page.get_by_label("Find similar texts").press_sequentially("?!")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.browser
@browser_needed
def test_the_same_neighbours_as_the_server(page: Page, folder: Path) -> None:
    """The scores of int8 are those of the server within 0.003; a text without a known word finds nothing."""
    page.goto((folder / "index.html").as_uri())
    expect(page.locator("#facts")).to_contain_text("5 texts")
    collection = Collection.of_rows(load(), ROWS)
    for query in (*TEXTS, "a gale"):
        found = page.evaluate("(q) => answers('/api/search', { q })", query)["student"]
        expected = collection.groups(collection.search(query, 10), 10)
        scores = {group.first.index: group.first.score for group in expected}  # equal ones may swap their places
        assert {row["index"]: row["score"] for row in found} == pytest.approx(scores, abs=3e-3)
    assert page.evaluate("answers('/api/search', { q: '?!' })")["student"] == []


@pytest.mark.browser
@browser_needed
@pytest.mark.parametrize("width", WIDTHS)
def test_the_teachers_vectors(page: Page, working_directory: Path, tmp_path: Path, width: int) -> None:
    """The working directory of distill: the student's neighbours beside the teacher's; within the window."""
    built()
    static_site.write_site(Collection.labelled(load(), working_directory), "released", tmp_path / "site")
    page.set_viewport_size({"width": width, "height": 844})
    page.goto((tmp_path / "site/index.html").as_uri())
    page.locator("#examples").get_by_role("button", name=TEXTS[0]).click()
    page.get_by_role("button", name=TEXTS[2]).click()
    expect(page.locator("#lists h3")).to_have_text(["Student, 5 of 5 as the teacher", "Teacher"])
    expect(page.locator("#lists b")).to_have_count(0)  # a text is no HTML
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.browser
@browser_needed
def test_a_part_that_is_missing(browser: Browser, folder: Path, tmp_path: Path) -> None:
    """One line says so, and the texts are there all the same."""
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(folder), str(copy)], check=True)
    next(copy.glob("data-*/tokenizer.json.0.js")).unlink()
    page = browser.new_page()
    page.goto((copy / "index.html").as_uri())
    page.locator("#examples").get_by_role("button", name="The storm closed the port.").click()
    expect(page.locator("#problem")).to_contain_text("tokenizer.json.0.js cannot be loaded: copy the whole folder")
    page.close()


def test_the_command(text_file: Path, tmp_path: Path) -> None:
    """It writes the folder and ends; a second time it replaces it; options of the server are refused."""
    built()
    command = [sys.executable, "-m", "sentence_distillery.cli", "explore", "released", str(text_file)]
    target = tmp_path / "site"
    for _ in range(2):
        done = subprocess.run([*command, "--static", str(target)], capture_output=True, text=True, env=os.environ)
        assert done.returncode == 0, done.stderr
        assert f"6 texts in {target}, " in done.stderr
    assert len(list(target.glob("data-*"))) == 1
    named = re.findall(r'(?:src|href)="([\w-]+\.(?:js|css))"', (target / "index.html").read_text(encoding="utf-8"))
    assert len(named) > 3 and all((target / name).is_file() for name in named)
    done = subprocess.run([*command, "--static", str(target), "--port", "0"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "leave --port and --key out" in done.stderr


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another directory's content, a student with layers, and an installation without the encoder in JavaScript."""
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"holds 'thesis.txt', which is not part of a page"):
        static_site.check_directory(tmp_path)
    with pytest.raises(InputError, match="could not be written: File name too long"):
        static_site.check_directory(tmp_path / ("a" * 256))
    with pytest.raises(InputError, match="this one is of kind deep"):
        static_site.check_encoder(deep_encoder())
    monkeypatch.setattr(static_site, "ENCODER", "absent.js")
    with pytest.raises(InputError, match="run `make javascript`"):
        static_site.encoder_script()
