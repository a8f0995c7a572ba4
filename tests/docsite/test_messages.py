"""The check of the English of messages, docstrings and comments: by hand, and on the code."""

import pytest

from docsite.messages import files, offences, problems, strings

CODE = """
def f(x):
    \"\"\"Say whatever x is.

    A later line is no message.
    \"\"\"
    # a comment of
    # two lines
    name = "what it says"
    log.warning("%s is no file", x)
    parser.add_argument("--x", help=f"what it does {x}")
    y: int = Field(title="whoever", ge=1)
    raise InputError(f"{x} is wrong. " "Write it anew.")
"""


def test_messages_are_found_and_other_strings_are_not() -> None:
    assert sorted(strings(CODE)) == [
        (3, "Say whatever x is."),
        (7, "a comment of two lines"),
        (10, "%s is no file"),
        (11, "what it does _"),
        (12, "whoever"),
        (13, "_ is wrong. Write it anew."),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x is no file", "'is not a'"),
        ("There is no file", None),
        ("x is no longer a file", None),
        ("Keep whatever x has.", "whatever"),
        ("Stop where there are none", "'if there is'"),
        ("It prints what it has tried.", "a noun"),
        ("Install it anew.", "'again'"),
        ("word " * 26, "26 words, at most 25"),
        ("word " * 13 + "; " + "word " * 13, None),
    ],
)
def test_turns_and_long_sentences_are_named(text: str, expected: str | None) -> None:
    found = list(problems(text))
    assert len(found) == (expected is not None) and (expected or "") in "".join(found)


def test_every_message_follows_the_style() -> None:
    assert len(files()) > 300
    assert [offence for path in files() for offence in offences(path)] == []
