"""How good agents are: matches in which every move is graded by perfect play.

These games are decided from the first position, so a win rate alone says little. *Kept* is the share of moves, over
positions that are not lost for the mover, that preserve the solver's value (``grading``); exploitability is how often
an agent fails to do so against every line of its opponent (``exploitability``).
"""

from __future__ import annotations

from numduel_env.evaluation.evaluator import evaluate
from numduel_env.evaluation.results import Results

__all__ = ["Results", "evaluate"]
