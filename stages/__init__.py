"""The stages of dvc.yaml, a module each; they import torch after this."""

import os

# Threads of OpenMP spin while they wait for one another: beside two busy loops a cell of component_focus took 73 s so,
# and 31 s if they sleep. No result depends on it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
