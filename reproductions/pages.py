"""The pages on reproduced papers, and a page of dependency trees."""

from collections.abc import Sequence

from reproductions.paper3.syntax.drawing import Drawing
from sentence_distillery.reporting.page import Link, Section, rendered

PACKAGE = "reproductions"


def paper_page(title: str, citation: str, profile: str, sections: Sequence[Section], others: Sequence[Link]) -> str:
    """Compose the page of a reproduced paper as HTML.

    Args:
        title: Of the page.
        citation: Of the paper.
        profile: Of the run.
        sections: Its content.
        others: The pages that it links to.
    """
    values = {"title": title, "citation": citation, "profile": profile, "sections": sections, "others": others}
    return str(rendered("paper.html", values, PACKAGE))


def tree_page(drawings: Sequence[Drawing]) -> str:
    """Render dependency trees as a separate page."""
    return str(rendered("tree.html", {"trees": drawings}, PACKAGE))
