"""Prefect's page with the deployments of prefect.yaml and two workers, on this machine alone: `make ui`."""

from prefect_dvc.server.ui import main

if __name__ == "__main__":
    main()
