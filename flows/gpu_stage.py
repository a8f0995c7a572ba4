"""A worker for stages with a GPU: `python -m flows.gpu_stage`, and the flow `gpu-stage` that it runs."""

from prefect_dvc.gpu_stage import gpu_stage, main

__all__ = ["gpu_stage"]

if __name__ == "__main__":
    main()
