"""The stages of dvc.yaml, a module each; they import torch after this."""

import os

# Threads of OpenMP spin while they wait for one another: beside two busy loops a cell of component_focus took 73 s so,
# and 31 s if they sleep. No result depends on it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# MKL multiplies a matrix and a vector in another order if an array is not aligned to 64 bytes, as NumPy's arrays are by
# chance: two runs of one stage could differ in their last bits. In this mode they do not, and it costs no time.
os.environ.setdefault("MKL_CBWR", "AUTO")
