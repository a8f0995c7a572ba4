"""How one run of the graph works: its settings, the stages of dvc.yaml, DVC as a process for each, DVC's cache."""
