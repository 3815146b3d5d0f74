"""Evaluate agents head to head, every move graded by perfect play: `numduel evaluate` with the agents of agents/ added.

python train/evaluate.py --game prime-rumble random greedy solver mcts:200
python train/evaluate.py --game divider-duel random solver --exploit --json results.json --report report.html
python train/evaluate.py --game divider-duel llm:MODEL random --duels 100 --json results.json --transcripts said.jsonl
"""

import sys

from agents import llm, model_options
from numduel_env.cli import OneLineParser, run_program
from numduel_env.evaluation import program


def main() -> int:
    """Evaluate and report what the command line asks for."""
    parser = OneLineParser(description=program.__doc__)
    program.add_arguments(parser)
    model_options.add_arguments(parser)
    args = parser.parse_args()
    llm.register_as_asked(parser, args)
    return program.run(parser, args, sys.argv)


if __name__ == "__main__":
    raise SystemExit(run_program(main))
