"""Articles from where `crawl.source` says into one schema: url, source, published, title, text."""

from sentence_distillery.corpus.schema import ARTICLES_DIRECTORY
from sentence_distillery.crawl.collect import _NOTHING, articles_of, write_articles
from sentence_distillery.io.artifacts import InputError, atomic_directory
from stages.stage import stage


def main() -> None:
    with stage("crawl", unit="articles") as (params, counters), atomic_directory(ARTICLES_DIRECTORY) as directory:
        write_articles(directory, articles_of(params.crawl, params.web, directory, counters))
        if not counters.kept:
            raise InputError(_NOTHING[params.crawl.source].format(dict(counters.dropped) or "none"))


if __name__ == "__main__":
    main()
