"""Prefect's page with the deployments of prefect.yaml and two workers, on this machine alone: `make ui`."""

import sys

from prefect_dvc.cli import main

if __name__ == "__main__":
    main(["ui", *sys.argv[1:]])
