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

import importlib
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agents import make_agent
from agents.checkpoint import WANTED, BadCheckpoint, card_of_game, read_tensors
from agents.learned import LearnedAgent, card_of_network, read_network
from agents.networks import MoveNetwork
from numduel_env.cli import politely
from numduel_env.envs.vector import NumduelVectorEnv
from numduel_env.observation import MoveObserver
from numduel_env.rules import Rules
from numduel_env.solvers import Solver
from numduel_env.storage import write_atomically
from train.runs.folder import LOGS, begun, new_folder, restore, run_in, summary, unfinished_card
from train.runs.grading import Grader, evaluate, judge_of
from train.runs.record import Record
from train.runs.task import RunArguments, Task, asked_task, make_parser, option
from train.sb3_ppo.pool import Pool

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
NEEDED = ("matplotlib.figure", "safetensors.numpy", "sb3_contrib", "threadpoolctl", "torch.utils.tensorboard", "tqdm")
PACKAGES = ("gymnasium", "numpy", "sb3-contrib", "stable-baselines3", "torch")  # their versions stand on the card


@dataclass(frozen=True)
class Arguments(RunArguments):
    """What a run can be told, besides the game's own parameters."""

    plies: int | None = option(
        f"learn from so many plies, in whole updates ({DEFAULT_PLIES:,}, or with --minutes no limit)",
        changeable=True,
        type=int,
    )
    seed: int = option("the same seed and number of plies learn the same ({})", 0, type=int)
    opponent: str = option("whom to learn against ({}); pool: snapshots of itself", "self", choices=OPPONENTS)
    device: str = option("where the network learns, as torch names it ({})", "cpu", changeable=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plies is not None and self.plies < 1:
            raise ValueError(f"--plies must be at least 1, not {self.plies}")
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


def main() -> int:
    """Learn and report."""
    parser = make_parser(PROGRAM, __doc__, Arguments)
    task = asked_task(parser, parser.parse_args(), Arguments, lambda place: unfinished_card(Path(place), PROGRAM))
    try:
        # All that is needed on the way, so that nothing is missing in the end.
        for module in NEEDED:
            importlib.import_module(module)
    except ImportError as missing:
        print(f"training needs {missing.name or missing}, which is not installed: {WANTED}", file=sys.stderr)
        return 1
    import torch
    from threadpoolctl import threadpool_limits

    args, game = task.arguments, task.game
    try:
        torch.zeros(1, device=args.device).cpu()
    except (RuntimeError, AssertionError, TypeError, ImportError) as wrong:
        parser.error(f"--device {args.device} cannot be used: {str(wrong).splitlines()[0]}")
    rules = game.make_rules(**task.params)
    judge = judge_of(rules)
    if judge is None and args.opponent == "solver":
        parser.error("--opponent solver needs a game that can be solved")
    if (needed := bytes_of_update(rules)) > (memory := os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")):
        parser.error(f"a game of this size needs {needed / 1e9:.0f} GB of memory, and there are {memory / 1e9:.0f}")
    try:
        folder = Path(args.resume) if args.resume else new_folder(args.out, game.name)
        # Networks and games as small as these are no faster on more threads, and much slower where cores are busy.
        with threadpool_limits(1):
            return run_in(folder, PROGRAM, lambda: train(task, folder, judge))
    except BadCheckpoint as wrong:
        parser.error(str(wrong))


def bytes_of_update(rules: Rules) -> int:
    """Return how much memory the plies of one update take: all moves of all positions, twice in Stable-Baselines3."""
    of_position = len(rules.numbers) * (1 + MoveObserver(rules).size) * 4
    return 2 * BOARDS * int(PRESET["n_steps"]) * of_position


def train(task: Task, folder: Path, judge: Solver | None) -> str:
    """Learn in ``folder``, and return what to say; raises ``BadCheckpoint`` if the run that is to go on cannot."""
    from sb3_contrib import MaskablePPO

    from train.runs.curve import draw_curve
    from train.sb3_ppo.envs import MoveVectorEnv
    from train.sb3_ppo.network import MovePolicy
    from train.sb3_ppo.watch import Budget, Watch

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
        **begun(before, args.seed, args.device, PACKAGES),
    }
    record = Record(card, Grader(judge) if judge else None)
    watch = Watch(folder, record, observer, pool, Budget(args.most_plies, args.most_seconds))
    seed = card["sessions"][-1]["seed"]
    model = MaskablePPO(
        MovePolicy,
        MoveVectorEnv(boards, seed),
        gamma=gamma,
        policy_kwargs={"facts": observer.size, "layers": LAYERS},
        seed=seed,
        device=args.device,
        tensorboard_log=str(folder / LOGS),
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
    return summary(card, params, f"{folder}: card.json, weights, curve.png, {LOGS}", f"ppo:{folder}")


if __name__ == "__main__":
    raise SystemExit(politely(main))
