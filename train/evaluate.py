"""Evaluate agents head to head, every move graded by perfect play: `numduel evaluate` with the agents of agents/ added.

python train/evaluate.py --game prime-rumble random greedy solver mcts:200
python train/evaluate.py --game divider-duel random solver --exploit --json results.json --report report.html
"""

import agents  # noqa: F401 - its import lets its agents be named
from numduel_env.cli import run_program
from numduel_env.evaluation.program import main

if __name__ == "__main__":
    raise SystemExit(run_program(main))
