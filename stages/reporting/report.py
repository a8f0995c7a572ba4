"""Stage `report`: reports/index.html, the page that a person reads; one file that needs nothing else."""

from sentence_distillery.io.artifacts import atomic_file
from sentence_distillery.reporting.page import REPORT, SECTIONS, context, render
from stages.stage import stage


def main() -> None:
    with stage("report", unit="sections") as (params, counters):
        values = context(params)
        sections = dict(SECTIONS)
        if not values["results"]["samples"]:
            del sections["samples"]
            counters.drop("no figures on the samples")
        page = render(values, sections)
        counters.keep(len(sections))
        with atomic_file(REPORT) as partial:
            partial.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
