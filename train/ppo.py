"""Learn a game by masked PPO, in self-play unless told otherwise, and grade what was learned by perfect play.

    python train/ppo.py --game divider-duel
    python train/ppo.py --game prime-rumble --minutes 5 --out runs/rumble
    python train/ppo.py --resume runs/rumble

In self-play every step is one ply, and all that is seen and earned is the mover's own. Then gamma=-1 is all that PPO
needs to know about two players: what is good for the next mover is bad for this one. Training ends when the budget is
spent, or as soon as the solver finds nothing to improve. The folder that is written is an agent: ppo:FOLDER in
train/evaluate.py and agents/play.py.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from agents import make_agent
from agents.checkpoint import WANTED, BadCheckpoint, card_of_game, read_tensors
from agents.learned import LearnedAgent, card_of_network, read_network
from agents.networks import MoveNetwork
from numduel_env.commandline import OneLineParser, add_parameter_flags, chosen_game, flag, politely
from numduel_env.files import write_atomically
from numduel_env.games import GameSpec
from numduel_env.observation import MoveObserver
from numduel_env.solvers import Solver
from numduel_env.vector import NumduelVectorEnv
from train.grading import Grader, evaluate, judge_of, tables
from train.pool import Pool
from train.record import Record, history
from train.run import invitation, new_folder, occupied, restore, resumed_game, unfinished_card, versions

PROGRAM = "train/ppo.py"

# One preset for all games. The learning rate and the entropy bonus fall with the budget: see Watch.warmth.
BOARDS = 256
PRESET: dict[str, Any] = {
    "n_steps": 32,
    "batch_size": 512,
    "n_epochs": 4,
    "learning_rate": 1e-3,
    "gae_lambda": 0.7,
    "ent_coef": 0.03,
    "vf_coef": 1.0,
}
LAYERS = [64, 64]
RANDOM_OPENINGS = 0.5  # else a learner sees only the lines it prefers, and in Factor Chain nothing but the first move
DEFAULT_PLIES = 1_000_000
OPPONENTS = ("self", "pool", "random", "greedy", "solver")
PACKAGES = ("gymnasium", "numpy", "sb3-contrib", "stable-baselines3", "torch")  # their versions stand on the card
MOST_MINUTES = 1_000_000
LARGEST_SEED = 2**31  # what PyTorch and NumPy take leaves room for the plies of a run that goes on
CHANGEABLE = ("plies", "minutes", "device")  # when a run goes on


def option(text: str, default: Any = None, **more: Any) -> Any:
    """Return a field of the arguments; ``text`` ({} stands for the default) and ``more`` are for the command line."""
    return field(default=default, metadata={"help": text, **more})


@dataclass(frozen=True)
class Arguments:
    """What a run can be told, besides the game's own parameters."""

    game: str | None = option("the game's name: see python -m numduel_env games")
    opponent: str = option("whom to learn against ({}); pool: snapshots of itself", "self", choices=OPPONENTS)
    plies: int | None = option(
        f"learn from so many plies, in whole updates ({DEFAULT_PLIES:,}, or with --minutes no limit)", type=int
    )
    minutes: float | None = option("learn for so long, in all the sessions of a run (no limit)", type=float)
    seed: int = option("the same seed and number of plies learn the same ({})", 0, type=int)
    device: str = option("where the network learns, as torch names it ({})", "cpu")
    out: str | None = option("the folder to write, new or empty (runs/GAME-TIME)", metavar="FOLDER")
    resume: str | None = option("go on with the unfinished run in this folder", metavar="FOLDER")

    def __post_init__(self) -> None:
        """Refuse what no run can be told."""
        if self.plies is not None and self.plies < 1:
            raise ValueError(f"--plies must be at least 1, not {self.plies}")
        if not 0 <= self.seed <= LARGEST_SEED:
            raise ValueError(f"--seed must be from 0 to {LARGEST_SEED:,}, not {self.seed}")
        if self.minutes is not None and not 0 < self.minutes <= MOST_MINUTES:
            raise ValueError(f"--minutes must be positive and at most {MOST_MINUTES:,}, not {self.minutes}")
        if self.opponent not in OPPONENTS:
            raise ValueError(f"--opponent must be one of {', '.join(OPPONENTS)}, not {self.opponent}")

    @property
    def most_plies(self) -> float:
        """After so many plies the run ends."""
        if self.plies is not None:
            return self.plies
        return DEFAULT_PLIES if self.minutes is None else float("inf")

    @property
    def most_seconds(self) -> float:
        """After so many seconds the run ends."""
        return float("inf") if self.minutes is None else 60 * self.minutes


class Task(NamedTuple):
    """What a command line asks for; ``card`` is that of the run which is to go on, if one is."""

    arguments: Arguments
    game: GameSpec
    params: dict[str, Any]
    card: dict[str, Any] | None


def make_parser() -> OneLineParser:
    """Return the command line's parser; what was not typed stays out of its answer, but for the game's parameters."""
    parser = OneLineParser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for told in fields(Arguments):
        metadata = dict(told.metadata)
        text = metadata.pop("help").format(told.default)
        parser.add_argument(flag(told.name), default=argparse.SUPPRESS, help=text, **metadata)
    add_parameter_flags(parser)
    return parser


def asked_task(parser: argparse.ArgumentParser) -> Task:
    """Return what the command line asks for; wrong input ends the program."""
    typed = parser.parse_args()
    known = {told.name for told in fields(Arguments)}
    chosen = {name: value for name, value in vars(typed).items() if name in known}
    try:
        if "resume" in chosen:
            return resumed_task(parser, typed, chosen)
        if "game" not in chosen:
            raise ValueError("--game or --resume is required")
        game, params = chosen_game(parser, typed)
        return Task(Arguments(**chosen | {"game": game.name}), game, params, None)
    except ValueError as wrong:
        parser.error(str(wrong))


def resumed_task(parser: argparse.ArgumentParser, typed: argparse.Namespace, chosen: dict[str, Any]) -> Task:
    """Return the task of a run that goes on; only its budget and device may change."""
    place = chosen["resume"]
    card = unfinished_card(Path(place), PROGRAM)
    game, params = resumed_game(parser, typed, card)
    try:
        saved = Arguments(**card["arguments"])
    except (TypeError, ValueError) as wrong:
        raise BadCheckpoint(f"the card in {place} does not say how it was trained: {wrong}") from None
    for name in sorted(chosen.keys() - {"game", "resume", *CHANGEABLE}):
        if chosen[name] != getattr(saved, name):
            raise ValueError(f"{place} has {flag(name)} {getattr(saved, name)}, which cannot change now")
    changes = {name: chosen[name] for name in ("resume", *CHANGEABLE) if name in chosen}
    return Task(replace(saved, **changes), game, params, card)


def main() -> int:
    """Learn and report."""
    parser = make_parser()
    task = asked_task(parser)
    try:
        # All that is needed on the way, so that nothing is missing in the end.
        for module in ("matplotlib.figure", "safetensors.numpy", "sb3_contrib", "torch.utils.tensorboard"):
            importlib.import_module(module)
    except ImportError as missing:
        print(f"training needs {missing.name or missing}, which is not installed: {WANTED}", file=sys.stderr)
        return 1
    import torch

    args, game = task.arguments, task.game
    try:
        torch.zeros(1, device=args.device).cpu()
    except (RuntimeError, AssertionError, TypeError) as wrong:
        parser.error(f"--device {args.device} cannot be used: {str(wrong).splitlines()[0]}")
    judge = judge_of(game.make_rules(**task.params))
    if judge is None and args.opponent == "solver":
        parser.error("--opponent solver needs a game that can be solved")
    try:
        folder = Path(args.resume) if args.resume else new_folder(args.out, game.name)
        with occupied(folder):
            try:
                return train(task, folder, judge)
            except KeyboardInterrupt:
                print(f"stopped; to go on: python {PROGRAM} --resume {shlex.quote(str(folder))}", file=sys.stderr)
                return 130
    except BadCheckpoint as wrong:
        parser.error(str(wrong))


def train(task: Task, folder: Path, judge: Solver | None) -> int:
    """Learn in ``folder``, and report; raises ``BadCheckpoint`` if the run that is to go on cannot."""
    import torch
    from sb3_contrib import MaskablePPO

    from train.curve import draw_curve
    from train.network import MovePolicy
    from train.sb3 import MoveVectorEnv
    from train.watch import Budget, Watch

    # Networks as small as these learn no faster on more threads.
    torch.set_num_threads(1)
    args, game, params, before = task
    rules = game.make_rules(**params)
    observer = MoveObserver(rules)
    pool = Pool(rules, observer) if args.opponent == "pool" else None
    boards = NumduelVectorEnv(
        game,
        BOARDS,
        opponent=pool or (make_agent("greedy", rules) if args.opponent == "greedy" else args.opponent),
        autoreset_mode="SameStep",
        random_openings=RANDOM_OPENINGS,
        **params,
    )
    # Against an opponent its answer is part of the step; in self-play the next step is the opponent's.
    gamma = -1.0 if args.opponent == "self" else 1.0
    preset = PRESET | {"boards": BOARDS, "random_openings": RANDOM_OPENINGS, "gamma": gamma}
    card = {
        "game": card_of_game(game, params),
        **card_of_network(MoveNetwork.kind, observer, LAYERS),
        "program": PROGRAM,
        "arguments": asdict(args),
        "preset": preset,
        "versions": versions(PACKAGES),
        **history(before),
    }
    record = Record(card, Grader(judge) if judge else None)
    watch = Watch(folder, record, observer, pool, Budget(args.most_plies, args.most_seconds))
    # A run that goes on throws other dice than those that it has thrown already.
    seed = args.seed + watch.plies
    model = MaskablePPO(
        MovePolicy,
        MoveVectorEnv(boards, seed),
        gamma=gamma,
        policy_kwargs={"facts": observer.size, "layers": LAYERS},
        seed=seed,
        device=args.device,
        tensorboard_log=str(folder / "tensorboard"),
        **PRESET | {"learning_rate": lambda _: PRESET["learning_rate"] * watch.warmth},
    )
    if before:
        if before.get("preset") != preset:
            raise BadCheckpoint(f"{folder} was trained with another preset: {before.get('preset')}")
        *_, record.best = read_network(folder, before, rules)
        restore(model.policy, folder, before)
        if pool:
            pool.restore(read_tensors(folder, before, "pool"), LAYERS)
        model.num_timesteps = watch.plies
    left = min(args.most_plies - watch.plies, sys.maxsize // 2)
    try:
        model.learn(int(left), callback=watch, tb_log_name="ppo", reset_num_timesteps=False)
    finally:
        watch.close()

    assert record.best is not None
    card["evaluation"] = evaluate(LearnedAgent(rules, MoveNetwork(observer, record.best)), judge)
    title = f"{game.name}, {args.opponent}, seed {args.seed}"
    write_atomically(folder / "curve.png", draw_curve(card["curve"], title))
    watch.save(finished=True)
    print(f"\n{game.name}: {watch.plies:,} plies in {watch.seconds:.0f} s, against {args.opponent}")
    if judge:
        print("The weights are the best of the run, chosen by the solver's grade.")
    print(f"\n{tables(card['evaluation'])}\n")
    print(f"{folder}: card.json, weights, curve.png, tensorboard")
    print(invitation(game.name, params, f"ppo:{folder}"))
    return 0


if __name__ == "__main__":
    raise SystemExit(politely(main))
