"""The hand-off of a stage to a GPU worker: the request, both sides' steps, the worker pool."""
