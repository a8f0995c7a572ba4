"""The graph of dvc.yaml: `python -m flows.pipeline`, and the flow `pipeline` of prefect.yaml."""

if __name__ == "__main__":
    import sys

    from prefect_dvc.cli import main  # without a server, Prefect is not imported, which takes 2 s

    main(["run", *sys.argv[1:]])
else:
    from prefect_dvc.pipeline_flow import pipeline

    __all__ = ["pipeline"]
