"""The small systems that the papers' examples are scored with."""

from tests.reproductions.systems.conftest import student as student
from tests.reproductions.systems.conftest import words as words
