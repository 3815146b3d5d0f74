"""A training run, whoever learns: its task, its folder, its record, its grades and its final evaluation."""
