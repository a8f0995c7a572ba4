"""A worker for stages with a GPU: `python -m flows.gpu_stage`, and the flow `gpu-stage` that it runs."""

import sys

from prefect_dvc.cli import main
from prefect_dvc.gpu_stage import gpu_stage

__all__ = ["gpu_stage"]

if __name__ == "__main__":
    main(["worker", *sys.argv[1:]])
