"""The small systems that the papers' examples are scored with."""

from tests.sentence_distillery.evaluation.conftest import student as student
from tests.sentence_distillery.evaluation.conftest import words as words
