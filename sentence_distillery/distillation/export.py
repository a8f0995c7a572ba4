"""A student with its model card: the files that `encoder.persistence.writing` writes, and a README.md."""

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from sentence_distillery.encoder.persistence.writing import refuse_other_content
from sentence_distillery.encoder.persistence.writing import write_model as write_model
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import atomic_directory


def export(encoder: StaticEncoder, card: Mapping[str, object], directory: Path, **values: object) -> None:
    """Write a student and its origin, for config.json and README.md, as a directory that other libraries load.

    `values` are further ones for the template of README.md.
    """
    with atomic_directory(directory) as partial:
        config = write_model(encoder, card, partial)
        write_card("model_card.md", config | values, partial)


def save_with_card(encoder: StaticEncoder, directory: Path) -> None:
    """Save a student that `distill` made, with the model card of its own run, in place of a model that is there.

    Raises InputError if the directory holds something other than a model, or cannot be written.
    """
    refuse_other_content(directory)
    export(encoder, encoder.made_from, directory, path=directory)


def write_card(template: str, values: Mapping[str, object], directory: Path) -> None:
    """Write README.md from a template in distillation/templates."""
    templates = Environment(
        loader=PackageLoader("sentence_distillery.distillation"),
        undefined=StrictUndefined,
        trim_blocks=True,
        autoescape=False,
    )
    text = templates.get_template(template).render(values)
    (directory / "README.md").write_text(text, encoding="utf-8")
