"""The stage `crawl`: collect articles in one schema, with url, source, published, title and text.

Section `crawl` of params.yaml names the source: the corpus of gensim's package, files below a folder, or the news
sites of section `web`, whose pages are stored in data/checkpoints/crawl. Writes data/corpus/articles.
"""

from pathlib import Path

from news_crawler.collect import collect
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("crawl", unit="articles", largest="web.extraction_megabytes") as (params, counters):
        folder = Path(params.crawl.folder)
        collect(params.crawl, params.web, paths.ARTICLES, folder, paths.CRAWL_STATE, counters)


if __name__ == "__main__":
    main()
