"""The engine compared with `dvc repro` on public DVC projects, whose commands are replaced by a deterministic stub.

    python -m measurements.graphs build --names FILE --mirror DIR --work DIR
    python -m measurements.graphs run --names FILE --work DIR [--command "python -m flows.pipeline --apply"] [--jobs N]
    python -m measurements.graphs table --work DIR

`build` makes WORK/NAME/t: a small git and DVC repository with the dvc.yaml, the parameters and the ignore rules of a
public project. Each command is a call of `stub.py`, and all data are made up. `run` copies it to `a` and `b`, runs
`dvc repro -P` in `a` and the command in `b`, three times each: first, again, and after one change. `table` prints what
was equal. Nothing of a project is executed, and no network is needed: every address leads to a closed port.

MIRROR holds a git repository `owner+name` for each project, bare or not, itself or in a folder `repo`. A file of names
(`names.txt` and `further.txt`: our own choice; `reviewed.txt`: those of an earlier review) has a project a line:

    owner/name[@VARIANT[+VARIANT]][::DIRECTORY]

DIRECTORY is the DVC repository in the git repository, and becomes the top of the built one. Variants:

    plain    imports are data like others
    moved    the repository that an import comes from has a newer version
    gone     the repository that an import comes from can't be reached any more
    force    git tracks the made-up inputs, even those that it should ignore
    lock     the project's dvc.lock stays; its hashes are those of other data
    config   the project's .dvc/config stays
    inside   DIRECTORY stays where it is, a part of the git repository
"""
