"""The hand-off of a stage to a GPU worker: the order, both sides' steps, the worker pool."""
