"""Fixtures of ablations: those of the students that distillation makes."""

from tests.sentence_distillery.distillation.conftest import both_ways, static_student, student, workspace

__all__ = ["both_ways", "static_student", "student", "workspace"]
