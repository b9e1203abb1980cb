"""What holds for all tests."""

import os

# Tests run side by side, one process for each core, and their matrices are small. Threads of the
# linear algebra would wait for one another most of the time: audits then take ten times as long.
# They are counted when NumPy is imported, and workers inherit the environment.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
