"""Learn a game with Ray RLlib: masked PPO in self-play, on one machine or on a Ray cluster.

    python train/rllib.py --game divider-duel
    python train/rllib.py --game prime-rumble --env-runners 8 --minutes 30 --out runs/rumble
    python train/rllib.py --resume runs/rumble
    python train/rllib.py --game prime-rumble --env-runners 64 --address auto --out s3://bucket/rumble

One network plays both seats. Env runners, processes of their own, play duels; this process learns from them. An env
runner that dies is started again. Training ends when the time is spent, or as soon as the solver finds nothing to
improve. The folder that is written is an agent: rllib:FOLDER in train/evaluate.py and agents/play.py. --resume reads
what RLlib has pickled, so go on only with runs of your own. docs/scaling.md tells more.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.checkpoint import BadCheckpoint, Tensors, card_of_game, rules_of
from agents.learned import LearnedAgent, card_of_network
from agents.networks import FlatNetwork
from numduel_env.commandline import OneLineParser, add_parameter_flags, chosen_game, flag, politely
from numduel_env.games import GameSpec
from numduel_env.observation import Observer
from numduel_env.solvers import Solver
from train.grading import Grader, evaluate, judge_of, tables
from train.record import Record, history
from train.run import invitation, resumed_game, versions

if TYPE_CHECKING:
    from train.rllib_run import Run

PROGRAM = "train/rllib.py"
WANTED = "pip install -c constraints-rllib.txt -e '.[rllib]'"

DEFAULTS: dict[str, Any] = {"minutes": 3.0, "env_runners": 1, "address": None, "seed": 0, "out": None}
CHANGEABLE = ("minutes", "env_runners", "address")  # when a run goes on

SAVE_SECONDS = 5.0
"""So often, about, the learner is graded and saved: a run that is killed loses no more than this."""


def make_parser() -> OneLineParser:
    """Return the command line's parser; what was not typed is None."""
    parser = OneLineParser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", help="the game's name: see python -m numduel_env games")
    parser.add_argument("--minutes", type=float, help="learn for so long, in all the sessions of a run (3)")
    parser.add_argument("--env-runners", type=int, metavar="N", help="so many processes play; 0: this one does (1)")
    parser.add_argument("--address", help="HOST:PORT of a running Ray cluster, or auto (start Ray on this machine)")
    parser.add_argument("--seed", type=int, help="of everything that is random (0)")
    parser.add_argument("--out", metavar="PLACE", help="the folder or URI to write, new or empty (runs/GAME-TIME)")
    parser.add_argument("--resume", metavar="PLACE", help="go on with the unfinished run in this folder or at this URI")
    add_parameter_flags(parser)
    return parser


def checked(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a run, or raise a ``ValueError`` for what no run can be told."""
    if not 0 < arguments["minutes"] < float("inf"):
        raise ValueError(f"--minutes must be positive, not {arguments['minutes']}")
    for name in ("env_runners", "seed"):
        if arguments[name] < 0:
            raise ValueError(f"{flag(name)} must be at least 0, not {arguments[name]}")
    return arguments


def resumed_arguments(
    parser: argparse.ArgumentParser, typed: argparse.Namespace, card: dict[str, Any]
) -> tuple[dict[str, Any], GameSpec, dict[str, Any]]:
    """Return the arguments, game and parameters of a run that goes on; only time and machines may change."""
    game, params = resumed_game(parser, typed, card)
    arguments = {name: card["arguments"].get(name, default) for name, default in DEFAULTS.items()}
    for name, saved in arguments.items():
        value = getattr(typed, name)
        if value not in (None, saved) and name not in CHANGEABLE:
            raise BadCheckpoint(f"{typed.resume} has {flag(name)} {saved}, which cannot change now")
        arguments[name] = saved if value is None else value
    return checked(arguments), game, params


class Training:
    """Trains until the time is spent or nothing is left to learn; the ``card`` is brought up to date."""

    def __init__(self, algorithm: Any, run: Run, card: dict[str, Any], judge: Solver | None, best: Tensors | None):
        self.algorithm, self.run, self.card = algorithm, run, card
        self.observer = Observer(rules_of(card), lookahead=True)
        self.record = Record(card, Grader(judge) if judge else None, best)

    def learn(self, most_seconds: float) -> None:
        """Learn for so long, in all sessions together; grade and save every few seconds."""
        from tqdm import tqdm

        plies, before = self.card["progress"]["plies"], self.card["progress"]["seconds"]
        began = saved = time.perf_counter()
        restarts = 0
        enough = False
        with tqdm(initial=plies, unit=" plies", unit_scale=True) as bar:
            while not enough:
                result = self.algorithm.train()
                # Not a number, if all env runners have died and nothing was played.
                plies += int(np.nan_to_num(result["env_runners"].get("num_env_steps_sampled", 0)))
                if (lost := self.algorithm.env_runner_group.num_remote_worker_restarts()) > restarts:
                    bar.write("an env runner was lost; Ray has started another")
                    restarts = lost
                now = time.perf_counter()
                seconds = before + now - began
                spent = min(seconds / most_seconds, 1)
                if now - saved >= SAVE_SECONDS or spent == 1 or self.record.best is None:
                    self.card["progress"] = {"plies": plies, "seconds": round(seconds, 2), "finished": False}
                    bar.set_postfix_str(self.check(), refresh=False)
                    saved = time.perf_counter()
                bar.n, bar.total = plies, int(plies / spent)
                bar.refresh()
                enough = spent == 1 or self.record.perfect

    def check(self) -> str:
        """Grade the learner, keep its weights if they are the best, save everything, and return how it goes."""
        from train.rllib_algorithm import network_tensors

        weights = network_tensors(self.algorithm)
        agent = LearnedAgent(self.observer.rules, FlatNetwork(self.observer, weights))
        progress = self.card["progress"]
        shown = self.record.add(weights, agent, progress["plies"], progress["seconds"])
        self.save()
        return ", ".join(f"{name} {share:.1%}" for name, share in shown.items())

    def save(self) -> None:
        """Write everything as it is now."""
        assert self.record.best is not None
        self.run.save(self.algorithm, self.card, self.record.best)


def main() -> int:
    """Learn and report."""
    parser = make_parser()
    typed = parser.parse_args()
    # Before Ray is imported: it counts its users unless told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    warnings.simplefilter("ignore")
    try:
        import ray
        import torch

        from train.rllib_algorithm import BOARDS, LAYERS, PRESET, RANDOM_OPENINGS, make_algorithm, start_ray
        from train.rllib_run import PACKAGES, Run
    except ImportError as missing:
        print(f"training with RLlib needs {missing.name}, which is not installed: {WANTED}", file=sys.stderr)
        return 1
    card: dict[str, Any] | None = None
    best: Tensors | None = None
    try:
        if typed.resume is not None:
            run, card = Run.resume(typed.resume, PROGRAM)
            arguments, game, params = resumed_arguments(parser, typed, card)
        elif typed.game is None:
            raise ValueError("--game or --resume is required")
        else:
            game, params = chosen_game(parser, typed)
            told = {name: getattr(typed, name) for name in DEFAULTS}
            arguments = checked({name: DEFAULTS[name] if told[name] is None else told[name] for name in DEFAULTS})
        start_ray(arguments["address"], arguments["env_runners"])
        if card is None:
            run = Run.begin(arguments["out"], game.name)
        so_far = history(card)
        # A run that goes on would else repeat the openings it began with.
        seed = arguments["seed"] + so_far["progress"]["plies"]
        algorithm = make_algorithm(game, params, arguments["env_runners"], seed)
        if card:
            best = run.restore(algorithm, card)
    except (ValueError, ConnectionError) as wrong:
        parser.error(str(wrong))
    # Networks as small as these learn no faster on more threads.
    torch.set_num_threads(1)

    rules = game.make_rules(**params)
    card = {
        "game": card_of_game(game, params),
        **card_of_network(FlatNetwork.kind, Observer(rules, lookahead=True), LAYERS),
        "program": PROGRAM,
        "arguments": arguments,
        "preset": {"boards": BOARDS, "random_openings": RANDOM_OPENINGS, **PRESET},
        "versions": versions(PACKAGES),
        **so_far,
        "rllib": card["rllib"] if card else None,
    }
    judge = judge_of(rules)
    training = Training(algorithm, run, card, judge, best)
    training.learn(60 * arguments["minutes"])
    assert training.record.best is not None
    best_network = FlatNetwork(training.observer, training.record.best)
    card["evaluation"] = evaluate(LearnedAgent(rules, best_network), judge)
    card["progress"]["finished"] = True
    training.save()
    algorithm.stop()
    ray.shutdown()
    progress = card["progress"]
    print(f"\n{game.name}: {progress['plies']:,} plies in {progress['seconds']:.0f} s of learning")
    print(f"\n{tables(card['evaluation'])}\n\n{run}: card.json, weights, {card['rllib']}")
    print(invitation(game.name, params, f"rllib:{run.folder}"))
    return 0


if __name__ == "__main__":
    raise SystemExit(politely(main))
