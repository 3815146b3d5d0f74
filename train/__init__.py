"""Programs: training, evaluation, benchmarks."""
