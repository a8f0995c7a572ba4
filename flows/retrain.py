"""A retraining with its gates and its promotion: `python -m flows.retrain`, and the flow `retrain` of prefect.yaml."""

if __name__ == "__main__":
    import sys

    from prefect_dvc.cli import main

    main(["retrain", *sys.argv[1:]])
else:
    from prefect_dvc.retrain_flow import retrain

    __all__ = ["retrain"]
