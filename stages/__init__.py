"""The stages of dvc.yaml, a module each; they import torch after this."""

import os

# Threads of OpenMP spin while they wait for one another. Beside two busy processes a training took 73 s so, and 31 s if
# they sleep; alone it takes as long. No result depends on it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
