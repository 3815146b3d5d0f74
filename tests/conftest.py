"""One thread for each process: tests run side by side, and the games are too small to gain by more."""

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
