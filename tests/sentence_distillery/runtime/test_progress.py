"""Bars in a terminal, lines in a log, or nothing."""

import logging
import sys

import pytest
from tqdm import tqdm

from sentence_distillery.runtime import progress


def test_the_bar_of_another_library_becomes_lines_of_a_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """regression: each redrawing of model2vec's bar was a line; other output is handed on."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
    with progress.others_logged():
        for _ in tqdm(range(3), desc="tokens", mininterval=0.0):
            pass
        sys.stderr.write("a warning")
    assert any("tokens" in line and "2/3" in line for line in caplog.messages)
    assert "a warning" in capsys.readouterr().err


def test_what_is_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a block says, and after it as before."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
    for shown, bars, lines in ((True, True, []), (False, False, []), (None, False, ["work: 8 of 8 (100%)"])):
        caplog.clear()
        with progress.progress(shown):
            assert list(progress.track(iter("ab"), 8, "work", done=6)) == ["a", "b"]
        assert ("work" in capsys.readouterr().err) is bars
        assert caplog.messages[-1:] == lines
    list(progress.track(iter("a"), 1, "afterwards"))
    assert caplog.messages[-1] == "afterwards: 1 of 1 (100%)"
