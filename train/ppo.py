"""Train a masked PPO agent against a random opponent, and show what it learned.

python train/ppo.py --game divider-duel
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import gymnasium

from numduel_env.commandline import add_parameter_flags, chosen_game

EVALUATION_GAMES = 500
EVALUATION_SEED = 10**6  # far from the seeds of training


def parse_arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Return the command line, parsed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", required=True, help="a game's name: see python -m numduel_env games")
    parser.add_argument(
        "--steps", type=int, default=40_000, help="environment steps to train for (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="the same seed trains the same agent (default: %(default)s)"
    )
    add_parameter_flags(parser)
    return parser, parser.parse_args()


def win_rate(model: Any, environment: gymnasium.Env, seed: int) -> float:
    """Return the share of games that a model wins, always choosing its likeliest legal move."""
    wins = 0
    for game in range(EVALUATION_GAMES):
        observation, info = environment.reset(seed=EVALUATION_SEED + seed + game)
        ended = False
        while not ended:
            mask = info["action_mask"].astype(bool)
            # In a game that was over before the first move there is nothing to choose, and any action will do.
            action = int(model.predict(observation, action_masks=mask, deterministic=True)[0]) if mask.any() else 0
            observation, reward, terminated, truncated, info = environment.step(action)
            ended = terminated or truncated
        wins += float(reward) > 0
    return wins / EVALUATION_GAMES


def main() -> int:
    """Train and report."""
    parser, args = parse_arguments()
    spec, params = chosen_game(parser, args)
    if args.steps < 1:
        parser.error(f"--steps must be at least 1, not {args.steps}")
    if args.seed < 0:
        parser.error(f"--seed must not be negative, not {args.seed}")
    try:
        from sb3_contrib import MaskablePPO
        from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
        from stable_baselines3.common.env_util import make_vec_env
        from tqdm import tqdm
    except ImportError as missing:
        print(
            f"training needs more packages ({missing.name}): pip install -c constraints.txt -e '.[train]'",
            file=sys.stderr,
        )
        return 1

    def make() -> gymnasium.Env:
        return gymnasium.make(spec.gymnasium_id, opponent="random", seat="random", disable_env_checker=True, **params)

    learners = make_vec_env(make, n_envs=8, seed=args.seed)
    model = MaskablePPO(MaskableActorCriticPolicy, learners, n_steps=128, batch_size=256, seed=args.seed, device="cpu")
    before = win_rate(model, make(), args.seed)
    print(f"{spec.name}: wins {before:.1%} of {EVALUATION_GAMES} games against random before training")
    start = time.perf_counter()
    with tqdm(total=args.steps, unit="step") as bar:

        def show_progress(local: dict[str, Any], _: dict[str, Any]) -> bool:
            bar.update(model.num_timesteps - bar.n)
            return True  # go on

        model.learn(args.steps, callback=show_progress)
    seconds = time.perf_counter() - start
    after = win_rate(model, make(), args.seed)
    print(f"{spec.name}: wins {after:.1%} after {model.num_timesteps:,} steps in {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
