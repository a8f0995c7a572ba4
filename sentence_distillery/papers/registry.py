"""All reproduced papers, found in the folders of `papers`, in the order of their keys."""

from sentence_distillery import papers
from sentence_distillery.io.plugins import entries
from sentence_distillery.papers.paper import Paper

PAPERS: list[Paper] = entries(papers, "PAPER", below="paper")
