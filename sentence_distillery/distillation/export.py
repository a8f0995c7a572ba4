"""A student with its model card: what `sentence_distillery.encoder.writing` writes, and a README.md beside it."""

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from sentence_distillery.encoder.static_encoder import STUDENT, StaticEncoder
from sentence_distillery.encoder.writing import write_model as write_model
from sentence_distillery.io.artifacts import atomic_directory


def export(encoder: StaticEncoder, card: Mapping[str, object], directory: Path = STUDENT) -> None:
    """Replace `directory` by `encoder`; `card`, what it was made from, goes to config.json and README.md."""
    with atomic_directory(directory) as partial:
        config = write_model(encoder, card, partial)
        write_card("model_card.md", config, partial)


def write_card(template: str, values: Mapping[str, object], directory: Path) -> None:
    """README.md from a template of sentence_distillery/distillation/templates."""
    templates = Environment(
        loader=PackageLoader("sentence_distillery.distillation"),
        undefined=StrictUndefined,
        trim_blocks=True,
        autoescape=False,
    )
    text = templates.get_template(template).render(values)
    (directory / "README.md").write_text(text, encoding="utf-8")
