"""The small systems that the papers' examples are scored with."""

from tests.evaluation.conftest import student as student
from tests.evaluation.conftest import words as words
