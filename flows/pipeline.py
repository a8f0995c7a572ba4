"""The graph of dvc.yaml: `python -m flows.pipeline`, and the flow `pipeline` of prefect.yaml."""

if __name__ == "__main__":
    from prefect_dvc.pipeline import main  # without a server, Prefect is not imported, which takes 2 s

    main()
else:
    from prefect_dvc.pipeline_flow import pipeline

    __all__ = ["pipeline"]
