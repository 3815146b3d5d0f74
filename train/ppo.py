"""Learn a game by masked PPO, in self-play unless told otherwise, and grade what was learned by perfect play.

    python train/ppo.py --game divider-duel
    python train/ppo.py --game prime-duel-sum --when-empty refill --plies 2000000

In self-play every step is one ply, and all that is seen and earned is the mover's own. Then ``gamma=-1`` is all that
PPO needs to know about two players: what is good for the next mover is bad for this one.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import make_agent
from agents.exploit import exploitability, random_positions
from agents.match import Player, play_match
from numduel_env.commandline import add_parameter_flags, chosen_game
from numduel_env.observation import Observer
from numduel_env.rules import Position, Rules
from numduel_env.solvers import Solver, TooLargeToSolve, solver_for
from numduel_env.vector import NumduelVectorEnv

BOARDS, PLIES_PER_UPDATE = 256, 32
# One preset for all games.
PRESET: dict[str, Any] = {
    "n_steps": PLIES_PER_UPDATE,
    "batch_size": 512,
    "n_epochs": 4,
    "learning_rate": 1e-3,
    "gae_lambda": 0.95,
    "ent_coef": 0.1,
}
LAYERS = [128, 128]
RANDOM_OPENINGS = 0.5  # else a learner sees only the lines it prefers, and in Factor Chain nothing but the first move
CHECKS = 20  # so often, on the way, the learner is graded
GRADED_POSITIONS = 10_000
DUELS = 1_000


class LearnedPolicy:
    """What a model has learned, as an agent: always its likeliest legal move."""

    def __init__(self, model: Any, rules: Rules, observer: Observer) -> None:
        self.model, self.rules, self.observer = model, rules, observer

    def choose(self, position: Position, generator: np.random.Generator) -> NDArray[np.int64]:
        legal = self.rules.legal(position)
        shape = legal.shape[:-1]
        seen = self.observer(position, legal, shape).reshape(-1, self.observer.size)
        masks = legal.reshape(-1, legal.shape[-1])
        actions, _ = self.model.predict(seen, action_masks=masks, deterministic=True)
        return np.asarray(actions, np.int64).reshape(shape)


class Grader:
    """Grades an agent on positions at random plies of random games; the same ones every time."""

    def __init__(self, rules: Rules, solver: Solver, seed: int) -> None:
        position = random_positions(rules, GRADED_POSITIONS, seed)
        values = solver.action_values(position)
        self.value = values.max(-1)
        self.position, self.best = position, values == self.value[:, None]

    def kept(self, agent: LearnedPolicy) -> float:
        """Return the share of moves, where the position is not lost, that keep its value."""
        chosen = agent.choose(self.position, np.random.default_rng(0))
        keeps = self.best[np.arange(len(chosen)), chosen]
        return float(keeps[self.value >= 0].mean())


def parse_arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Return the command line, parsed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", required=True, help="a game's name: see python -m numduel_env games")
    against = ["self", "random", "greedy", "solver"]
    parser.add_argument("--opponent", default="self", choices=against, help="whom to learn against (%(default)s)")
    parser.add_argument("--plies", type=int, default=300_000, help="learn from about so many plies (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed learns the same (%(default)s)")
    parser.add_argument("--device", default="cpu", help="where the network lives, as torch names it (%(default)s)")
    add_parameter_flags(parser)
    args = parser.parse_args()
    for name, least in (("plies", 1), ("seed", 0)):
        if getattr(args, name) < least:
            parser.error(f"--{name} must be at least {least}, not {getattr(args, name)}")
    return parser, args


def judge_of(rules: Rules) -> Solver | None:
    """Return a solver to grade with, or say why there is none."""
    try:
        return solver_for(rules)
    except TooLargeToSolve as refusal:
        print(f"no grading: {refusal}", file=sys.stderr)
        return None


def report(rules: Rules, agent: LearnedPolicy, judge: Solver | None, seed: int) -> None:
    """Print the score by seat against the baselines, and how much of perfect play was learned."""
    print("\n| opponent | score as first player | as second player |\n|---|---:|---:|")
    for name in ["random", "greedy", *(["solver"] if judge else [])]:
        pair = (Player("learned", agent), Player(name, make_agent(name, rules, seed)))
        match = play_match(rules, pair, DUELS, openings=0, seed=seed)
        first, second = (match.scores(0)[match.opener == opener].mean() for opener in (0, 1))
        print(f"| {name} | {first:.1%} | {second:.1%} |")
    if judge is None:
        return
    print()
    for grades in exploitability(agent, judge, seed=seed):
        walked = grades.refusal or f"every opponent line, {grades.positions:,} positions"
        print(f"{grades.where}: throws {grades.thrown:,} of {grades.won:,} won positions ({walked})")


def main() -> int:
    """Learn and report."""
    parser, args = parse_arguments()
    game, params = chosen_game(parser, args)
    try:
        import torch
        from sb3_contrib import MaskablePPO
        from stable_baselines3.common.callbacks import BaseCallback
        from tqdm import tqdm

        from train.sb3 import SB3VectorEnv
    except ImportError as missing:
        wanted = "pip install -c constraints.txt -e '.[train]'"
        print(f"training needs {missing.name}, which is not installed: {wanted}", file=sys.stderr)
        return 1

    rules = game.make_rules(**params)
    opponent = args.opponent if args.opponent != "greedy" else make_agent("greedy", rules)
    boards = NumduelVectorEnv(
        game,
        BOARDS,
        opponent=opponent,
        autoreset_mode="SameStep",
        random_openings=RANDOM_OPENINGS,
        lookahead=True,
        **params,
    )
    model = MaskablePPO(
        "MlpPolicy",
        SB3VectorEnv(boards, args.seed),
        # Against an opponent its answer is part of the step; in self-play the next step is the opponent's.
        gamma=-1.0 if args.opponent == "self" else 1.0,
        policy_kwargs={"net_arch": LAYERS, "activation_fn": torch.nn.ReLU},
        seed=args.seed,
        device=args.device,
        **PRESET,
    )
    agent = LearnedPolicy(model, rules, boards.observer)
    judge = judge_of(rules)
    grader = Grader(rules, judge, args.seed) if judge else None
    best: dict[str, Any] = {"kept": -1.0, "weights": None}

    class Watch(BaseCallback):
        """Shows progress, and remembers the weights that kept the most: training on may lose them again."""

        def _on_step(self) -> bool:
            return True

        def _on_rollout_end(self) -> None:
            before, now = bar.n, min(self.num_timesteps, args.plies)
            bar.update(now - before)
            if grader and now * CHECKS // args.plies > before * CHECKS // args.plies:
                kept = grader.kept(agent)
                bar.set_postfix(kept=f"{kept:.1%}")
                if kept >= best["kept"]:
                    best.update(kept=kept, weights=copy.deepcopy(model.policy.state_dict()))

    start = time.perf_counter()
    with tqdm(total=args.plies, unit=" plies", unit_scale=True) as bar:
        model.learn(args.plies, callback=Watch())
    seconds = time.perf_counter() - start
    print(f"{game.name}: {model.num_timesteps:,} plies in {seconds:.0f} s, against {args.opponent}")
    if grader and best["weights"] is not None:
        model.policy.load_state_dict(best["weights"])
        kept, count = grader.kept(agent), len(grader.value)
        print(f"kept {kept:.2%} on {count:,} random positions (seed {args.seed}), with weights that the solver chose")
    report(rules, agent, judge, args.seed)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
