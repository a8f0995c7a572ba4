"""The Prefect flows of this project; the package prefect_dvc, which runs any dvc.yaml, does the work."""
