"""Options of the benchmark sets."""

from pydantic import Field

from sentence_distillery.io.options import Section


class Benchmarks(Section):
    sets: list[str] = Field(title="benchmark sets to read; absent ones are reported")
