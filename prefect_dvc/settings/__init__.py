"""What a repository and a run say: flows.yaml, parameters, the resources of a stage."""
