"""What tests of several rooms share: oracles, variants of the games, toy games, scripted agents."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
