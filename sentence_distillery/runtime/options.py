"""Options of parallel work."""

from pydantic import Field

from sentence_distillery.io.options import Count, Section


class Shards(Section):
    """Where shards are worked on. No stage lists these, since the same bytes come out whatever they say."""

    processes: Count | None = Field(title="how many processes; 1 works in the stage's own, null takes all cores")
    dask: str | None = Field(
        pattern=r"^(tcp|tls)://\S+:\d+$", title="address of a Dask scheduler, whose workers take the processes' place"
    )
