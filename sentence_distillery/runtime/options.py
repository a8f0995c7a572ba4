"""Options of parallel work."""

from pydantic import Field

from sentence_distillery.io.options import Count, Section


class Shards(Section):
    """The place where shards are processed. No stage depends on these options: they change no byte of its outputs."""

    processes: Count | None = Field(
        default=None, title="number of processes; 1: only the stage's own, null: one per core"
    )
    dask: str | None = Field(
        default=None,
        pattern=r"^(tcp|tls)://\S+:\d+$",
        title="address of a Dask scheduler; its workers replace the processes",
    )


class Sections(Section):
    """What this room reads of params.yaml."""

    shards: Shards = Shards()
