"""Perfect play recorded as a Minari dataset, from which the environment is recovered with its opponent.

    pip install -c constraints.txt -e '.[pictures]' 'minari[hdf5,create]'
    python docs/examples/minari_recording.py            # into ~/.minari, or where MINARI_DATASETS_PATH says

The opponent is named as ``module:attribute``: a name stands in the environment's spec, and so in the dataset. With an
agent made before as the opponent there is no spec to write, and nothing to recover.
"""

from __future__ import annotations

import argparse

import gymnasium
import minari
import numpy as np

from numduel_env import make_agent
from numduel_env.batch import batch_of_one

DATASET = "numduel/divider-duel/perfect-v0"

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--duels", type=int, default=100, help="record this many duels (%(default)s)")
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

env = gymnasium.make("numduel_env:numduel/DividerDuel-v0", opponent="numduel_env:RandomAgent", seat="random")
recorder = minari.DataCollector(env, record_infos=True)  # the infos hold the masks
player, generator = make_agent("solver", env.unwrapped.rules), np.random.default_rng(args.seed)
for number in range(args.duels):
    recorder.reset(seed=args.seed + number)
    finished = False
    while not finished:
        duel = env.unwrapped.duel
        (action,) = player.choose(batch_of_one(duel.position), duel.legal[None], generator)
        *_, terminated, truncated, _ = recorder.step(action)
        finished = terminated or truncated

if DATASET in minari.list_local_datasets():
    minari.delete_dataset(DATASET)
# Reference scores of one's own: Minari would estimate the lower one by playing illegal moves.
recorder.create_dataset(DATASET, algorithm_name="solver", ref_min_score=-1, ref_max_score=1)

dataset = minari.load_dataset(DATASET)
recovered = dataset.recover_environment()
returns = [episode.rewards.sum() for episode in dataset.iterate_episodes()]
opponent = recovered.spec.kwargs["opponent"]
print(f"{dataset.total_episodes} duels, {dataset.total_steps} moves, mean return {np.mean(returns):+.2f}")
print(f"recovered with the opponent {opponent}")
