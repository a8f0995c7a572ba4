"""All reproduced papers, found in the folders of `papers`, in the order of their keys."""

import reproductions as papers
from reproductions.paper import Paper
from sentence_distillery.io.plugins import entries

PAPERS: list[Paper] = entries(papers, "PAPER", below="paper")
