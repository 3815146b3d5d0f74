"""The sections of the benchmark, and how they are timed and printed."""
