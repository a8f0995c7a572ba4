"""Normalisation, boilerplate, sentences and words: answers known by hand, and any Unicode."""

import re
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.normalizers import NFKC

from sentence_distillery.corpus.boilerplate import boilerplate_rules, without_boilerplate
from sentence_distillery.corpus.documents import FAULTS, Findings, examine, read_lines
from sentence_distillery.corpus.markup import without_markup
from sentence_distillery.corpus.sentences import split_sentences
from sentence_distillery.corpus.text import STOP_WORDS, content_tokens, normalise, paragraphs, tokenize
from sentence_distillery.corpus.words import encoded, find_words, without_stop_words
from sentence_distillery.encoder.tokenizer import NORMALIZER
from sentence_distillery.io.unicode import compatible

# Surrogates and control characters included.
ANY_TEXT = st.text(st.characters(codec=None), max_size=200)
APOSTROPHES = st.text(st.sampled_from(list("ab's’ Σ1_")), max_size=20)
LIMITS: dict[str, Any] = {"language": "en", "minimum_tokens": 4, "maximum_tokens": 50}
LONG = "word " * 30 + "end."
MARKUP = st.text(st.sampled_from(list("<>&;/!bpra#x1 \n\t\r.'\"^M@-\u2028\u0301e")), max_size=200)


@given(st.one_of(ANY_TEXT, MARKUP))
@pytest.mark.fault(19)
def test_normalise_is_idempotent_and_writable(text: str) -> None:
    """Any Unicode, lone surrogates included, becomes text that UTF-8 can hold."""
    once = normalise(text)
    assert normalise(once) == once
    assert once.encode("utf-8").decode("utf-8") == once
    assert not re.search(r"[\x00-\x09\x0b-\x1f]|  |\n\n\n|\A\s|\s\Z", once)


@given(st.one_of(ANY_TEXT, MARKUP))
def test_markup_and_boilerplate_leave_what_is_plain(text: str) -> None:
    """Whatever comes out is stable: taking out more changes nothing."""
    for paragraph in paragraphs(normalise(without_markup(text))):
        once = without_boilerplate(paragraph, Counter())
        assert without_boilerplate(once, Counter()) == once == " ".join(once.split())


@given(st.lists(st.one_of(ANY_TEXT, MARKUP), max_size=4))
def test_documents_of_any_text_are_examined(texts: list[str]) -> None:
    found = examine((7, texts), **LIMITS)
    lines = [read_lines(text, "en", Counter()) for text in texts]
    sentences = [sentence for document in lines for line in document for sentence in line]
    assert found.table["text"].to_pylist() == sentences
    assert found.table["tokens"].to_pylist() == [tokenize(sentence) for sentence in sentences]
    assert found.documents.sentences.tolist() == [sum(map(len, document)) for document in lines]
    assert found.documents.signature.shape == (len(texts), 128)
    assert found.sentences.opens.sum() <= sum(map(len, lines))


@given(ANY_TEXT | st.text(st.sampled_from(list("aB. !?'\"…()“”1")), max_size=100), st.sampled_from(["en", "de"]))
def test_splitting_loses_nothing_and_is_stable(text: str, language: str) -> None:
    paragraph = " ".join(normalise(text).split())
    sentences = split_sentences(paragraph, language)
    assert all(sentence == sentence.strip() != "" for sentence in sentences)
    assert re.sub(r"\s", "", "".join(sentences)) == re.sub(r"\s", "", paragraph)


@given(st.lists(ANY_TEXT.map(lambda text: text.replace("\n", " ")) | APOSTROPHES, max_size=5))
def test_words_of_many_sentences_are_those_of_each(sentences: list[str]) -> None:
    sentences = [normalise(sentence) for sentence in sentences]
    found = find_words([sentence.replace("\n", " ") for sentence in sentences])
    assert found.lists.to_pylist() == [tokenize(sentence) for sentence in sentences]
    assert without_stop_words(encoded(found.lists), "en").to_pylist() == [
        content_tokens(tokenize(sentence)) for sentence in sentences
    ]


def test_hashes_of_words_do_not_depend_on_their_place() -> None:
    alone, later = find_words(["The storm hit."]), find_words(["A naïve man.", "The storm hit.", "the STORM, hit it"])
    here, _ = alone.shingles(np.array([0, 3]), 3)
    there, offsets = later.shingles(np.array([0, 3, 6, 10]), 3)
    assert offsets.tolist() == [0, 1, 2, 4]
    assert here[0] == there[1] == there[2] and len(set(there.tolist())) == 3
    assert alone.identities(np.array([0, 3])) == later.identities(np.array([0, 3, 6]))[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The firm's profit didn't fall.", ["the", "firm", "profit", "didn't", "fall"]),
        ("It’s five o’clock, he'll say", ["it", "five", "o'clock", "he'll", "say"]),
        ("'Quoted' boys' 3.5 mln x_y", ["quoted", "boys", "3", "5", "mln", "x", "y"]),
        ("ÉTÉ naïve 中文", ["été", "naïve", "中文"]),
        ("... !?", []),
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),
        ("தமிழ் மொழி's", ["தமிழ்", "மொழி"]),
        ("ภาษาไทย ❤️", ["ภาษาไทย"]),
    ],
)
def test_tokenize(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


def test_content_tokens_keep_negations() -> None:
    assert content_tokens(tokenize("The bank did not cut its rates, and I don't know why.")) == [
        *("bank", "not", "cut", "rates", "don't", "know")
    ]
    assert content_tokens(["la", "banque"], "fr") == ["la", "banque"]
    assert all(tokenize(word) == [word] for word in STOP_WORDS["en"])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Good.<br /><br />Bad.", "Good.\n\n\n\nBad."),
        ("AT&amp;amp;T &lt;b&gt;rose&lt;/b&gt; 3 &lt; 4", "AT&T rose 3 < 4"),
        ("U.S. BANCORP <USBC.O> HAS IT", "U.S. BANCORP  HAS IT"),
        ("if x < y and y > z", "if x < y and y > z"),
        ("if a<b and c>d, or <b and=3 c>", "if a<b and c>d, or <b and=3 c>"),
        ("I <3 it, 1<2>3, a <- b -> c", "I <3 it, 1<2>3, a <- b -> c"),
        ("Write to <jo@example.org> now", "Write to <jo@example.org> now"),
        ("List<String> and vector<int>", "List<String> and vector<int>"),
        ("the tag <script> and <b>this</b>", "the tag  and this"),
        ("<!-- note > old -->Open<!-- open", "Open<!-- open"),
        ("<style>p{color:red}</style>Ships<script>if (a < 6) { b('</b>'); }</script> wait", "Ships wait"),
        ("<SVG><text>42</text></SVG>x<noscript>Switch it on</noscript>", "x"),
        ("H<sub>2</sub>O <a title='a > b'>is</a> <b>wet</b> <i>too</i>", "H2O is wet too"),
        ("<![CDATA[Rain]]> <?xml version='1.0'?><!DOCTYPE html>fell", "Rain fell"),
        ("\ud800<b>half</b>", "\ufffdhalf"),
    ],
)
def test_without_markup(raw: str, expected: str) -> None:
    assert without_markup(raw) == expected


@pytest.mark.parametrize("tag", ["p", "div", "li", "td", "th", "dd", "h2", "figcaption", "option", "TD class='x y'"])
@pytest.mark.parametrize(
    "raw", ["<{0}>Forty ships</{1}><{0}>two piers</{1}>", "Forty ships<{0}>two piers", "Forty ships</{1}>two piers"]
)
@pytest.mark.fault(47)
def test_blocks_and_cells_part_words(raw: str, tag: str) -> None:
    """Whether or not a tag is closed, or was opened in this piece of a page."""
    parts = without_markup(raw.format(tag, tag.split()[0])).split("\n\n")
    assert list(filter(None, parts)) == ["Forty ships", "two piers"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\x00b \u200bc\u00add\ufeff", "a b cd"),
        ("e\u0301te\u0301", "été"),
        ("lost \ud800 half", "lost half"),
        ("\ud83d\ude00 whole", "😀 whole"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("one\n    two\n\n\n\nthree\u00a0 \t four ", "one\n\ntwo\n\nthree four"),
        ("The ﬁrm’s ｆｕｌｌ ５½ km²", "The firm’s full 5 1/2 km2"),
        ("don´t", "don't"),
        ("", ""),
    ],
)
def test_normalise(raw: str, expected: str) -> None:
    assert normalise(raw) == expected


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (
            "The storm closed the harbour on Monday.\nWhat we know so far\n- Two piers are badly damaged\n"
            "- Forty ships are still waiting\nNobody was hurt, the port authority said.",
            [
                *("The storm closed the harbour on Monday.", "What we know so far", "- Two piers are badly damaged"),
                *("- Forty ships are still waiting", "Nobody was hurt, the port authority said."),
            ],
        ),
        (  # numbered and hanging
            "Bring these things to the camp in the north of the country, where it is cold:\n"
            "  1. a warm coat, since the nights are cold and wet in spring and in\n     autumn\n  2. a lamp\n"
            "We meet at noon in the square, by the old oak that has stood there for\nages.",
            [
                "Bring these things to the camp in the north of the country, where it is cold:",
                "1. a warm coat, since the nights are cold and wet in spring and in autumn",
                "2. a lamp",
                "We meet at noon in the square, by the old oak that has stood there for ages.",
            ],
        ),
        (  # numbers and dashes in a sentence
            "Storm damage\nThe gale, which was the strongest since the harbour was built in the year\n"
            "12. or 13. of the old queen, tore down two piers and – as the captain of the\n"
            "– by now empty – ferry said – much of the mole, which had stood for so many\nyears.",
            [
                "Storm damage",
                "The gale, which was the strongest since the harbour was built in the year 12. or 13. of the old "
                "queen, tore down two piers and – as the captain of the – by now empty – ferry said – much of the "
                "mole, which had stood for so many years.",
            ],
        ),
        ("The bank said\nit would pay.\n\nShares\nrose.", ["The bank said it would pay.", "Shares rose."]),
        (f"{LONG}\nHeading\n\n{LONG}", [LONG, "Heading", LONG]),  # longer than any wrap
        ("一艘船在港口外等了两天才进港\n第二天风停了", ["一艘船在港口外等了两天才进港", "第二天风停了"]),  # no case
    ],
)
@pytest.mark.fault(46)
def test_lists_and_headings_are_blocks(text: str, blocks: list[str]) -> None:
    """A line that had room for the next word ends a block, and a list mark begins one."""
    assert paragraphs(normalise(text)) == blocks


def test_the_corpus_and_the_tokenizer_have_one_rule() -> None:
    """What NFKC replaces is replaced alike: the tokenizer makes the same of a character and of what the corpus has."""
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    changed = [each for each in characters if each != "´" and NFKC().normalize_str(each) != each]
    assert len(changed) > 4000
    tokenized = NORMALIZER.normalize_str
    assert [each for each in changed if tokenized(compatible(each)) != tokenized(each)] == []


@pytest.mark.parametrize(
    ("paragraph", "expected", "rule"),
    [
        ("LONDON, March 3 (Reuters) - Shares fell.", "Shares fell.", "dateline"),
        ("New York (AP) — Shares fell.", "Shares fell.", "dateline"),
        ("BEIJING, Jan. 5 (Xinhua) -- Shares fell.", "Shares fell.", "dateline"),
        ("WASHINGTON, Feb 26 - Shares fell.", "Shares fell.", "dateline"),
        ("Shares fell. reuter", "Shares fell.", "sign-off"),
        ("Shares fell. REUTER^M", "Shares fell.", "sign-off"),
        ("See https://example.org/a?b=1, he said.", "See , he said.", "url"),
        ("Write to jo.doe@example.co.uk.", "Write to .", "e-mail"),
        ("*Shares* fell ====", "Shares fell", "symbol"),
        ("Shares --- fell", "Shares fell", "symbol"),
        ("The world 's poor didn 't eat.", "The world's poor didn't eat.", "space before an apostrophe"),
        ("# Shares of #metoo in C# #", "Shares of #metoo in C#", "symbol"),
        ("_Shares_ of my_var # fell", "Shares of my_var fell", "symbol"),
        ("Thomson (Reuters) said shares fell - again.", None, None),
        ("Analysts told Reuters", None, None),
        ("The bank - the largest - fell.", None, None),
        ("He wants more. More of it was sold than ever before", None, None),
    ],
)
def test_boilerplate_in_a_paragraph(paragraph: str, expected: str | None, rule: str | None) -> None:
    """An ordinary paragraph stays as it is."""
    removed: Counter[str] = Counter()
    assert without_boilerplate(paragraph, removed) == (expected or paragraph)
    assert rule in removed if rule else not removed


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("(Reporting by Jane Doe in Paris and Jo Roe; Editing by A. B. Smith)", "credits"),
        ("Additional reporting by Jane Doe.", "credits"),
        ("Reporting by the BBC showed that the minister had lied.", None),
        ("Copyright 2019 The Associated Press.", "rights"),
        ("© BBC 2005", "rights"),
        ("All rights reserved.", "rights"),
        ("Copyright law is changing in Britain.", None),
        ("Share this article on Facebook", "share"),
        ("Subscribe to our newsletter", "share"),
        ("Read more: Shares fell in London", "share"),
        ("Advertisement", "share"),
        ("Advertisement revenue fell by a third.", None),
        ("Share prices fell by a third.", None),
        ("We use cookies to improve your experience.", "cookies"),
        ("Cookies are baked for twelve minutes.", None),
        ("Contact the writers at", "contact"),
    ],
)
def test_boilerplate_sentences(sentence: str, rule: str | None) -> None:
    assert dict(boilerplate_rules([sentence])).get(0) == rule


def examined_megabyte(piece: str) -> tuple[float, Findings]:
    """Return the CPU seconds of this process, which exclude other programs, and the result."""
    started = time.process_time()
    found = examine((0, [piece * (1_000_000 // len(piece))]), **LIMITS)
    return time.process_time() - started, found


@pytest.fixture(scope="module")
def news_cost() -> float:
    """Of a megabyte of plain sentences, once everything is loaded."""
    news = "The council of the north town met in its hall. It spoke about the north bridge. "
    return min(examined_megabyte(news)[0] for _ in range(2))


@pytest.mark.parametrize(
    "piece", ["a", "word ", "“Hi. There ", "<a ", "&amp;", "a@", "\n", "Reporting by A", "www.", "'s", "B. ", "x?"]
)
@pytest.mark.fault(19)
def test_a_megabyte_costs_no_more_than_news_by_far(piece: str, news_cost: float) -> None:
    """At most 6 times as much was measured; a quadratic cost would be thousands of times as much."""
    cost, found = examined_megabyte(piece)
    sizes = pc.utf8_length(found.table["text"]).to_numpy()
    assert all(found.sentences.fault[sizes > 900])
    assert cost < 100 * news_cost


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. Smith of U.S. Bancorp paid $3.5 mln on Jan. 5.", '"Why?" she asked.', "He left!"],
        ["Col. Oliver North told the court on Tuesday that nobody had asked him.", "The rest follows."],
        [
            "Lt. Col. Smith and Brig. Gen. Lee met Amb. Jones, Atty. Gen. Brown, Cllr. White and Fr. Green inside.",
            "The rest follows.",
        ],
        ["See Eq. 5 and Fig. A for what the model of Sec. IV does on pp. 3-4 of vol. 2.", "The rest follows."],
        ["As in Roe v. Wade, Yahoo! News said, J. K. Rowling (Smith et al. 2003) won [3].", "The rest follows."],
    ],
)
@pytest.mark.fault(48)
def test_titles_and_references_end_no_sentence(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences), "en") == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        # abbreviations before a number in brackets, and numbers that begin a sentence
        ["He learnt to be content (Phil. 4:8).", "The rest follows."],
        ["They agree (Phil. 4:8; Rom. 12:2, and others) on this.", "The rest follows."],
        ["The clause [Const. 14] is older (cap. 3, fol. 12b) than that.", "It was lost (Matt. 5:3-12) and found."],
        ["He went to Rome.", "45 others followed."],
        ["(He went to Rome.", "45 others followed.)"],
        ["It ended (in Rome).", "45 came."],
        # a citation belongs to the sentence that it follows, in a list of references to the one that it begins
        ["He left in 1805.[6]", "The rest follows."],
        ["He left in 1805. [6]", "The rest follows."],
        ["Why?[1][2]", "The rest follows."],
        ["He asked why?[3] and left the room.", "It rained all day.[6] the rest follows."],
        ['She wrote "no." [3, 5-7]', "The rest follows."],
        ["He left.[citation needed]", "The rest follows."],
        ["He left [6].", "The rest follows."],
        ["He left.", "[Applause] The rest follows."],
        ["[1] The port.", "[2] The sea."],
    ],
)
@pytest.mark.fault(48)
def test_numbers_and_citations(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences), "en") == sentences


@pytest.mark.parametrize(
    ("language", "text", "heading"),
    [
        ("zh", "政府星期二宣布了一项新的农业计划。", "农业。"),
        ("ja", "政府は火曜日に農家のための新しい計画を発表した。", "農家のため。"),
        ("th", "รัฐบาลประกาศโครงการใหม่สำหรับเกษตรกรเมื่อวันอังคาร", "รัฐบาล"),
    ],
)
def test_sentences_without_spaces(language: str, text: str, heading: str) -> None:
    """regression: a sentence of Chinese, Japanese or Thai was one word, and so dropped as short."""
    found = examine((0, [text, heading]), language, 4, 50).sentences
    assert [FAULTS[fault] for fault in found.fault] == ["", "short"]
