"""The built JavaScript file, for all tests of this folder."""

from pathlib import Path

import pytest

from tests.javascript.building import built


@pytest.fixture(scope="session")
def library() -> Path:
    return built()
