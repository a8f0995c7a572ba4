"""Prefect over dvc.yaml, one module for each command."""

from prefect_dvc.system.process import open_streams

open_streams()  # before anything keeps one of them
