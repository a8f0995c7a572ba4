"""A retraining with its gates and its promotion: `python -m flows.retrain`, and the flow `retrain` of prefect.yaml."""

if __name__ == "__main__":
    from prefect_dvc.retrain import main

    main()
else:
    from prefect_dvc.retrain_flow import retrain

    __all__ = ["retrain"]
