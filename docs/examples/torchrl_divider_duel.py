"""Divider Duel learned by TorchRL: masked PPO in self-play, one network in both seats.

    pip install -c constraints.txt -e '.[interop]'
    python docs/examples/torchrl_divider_duel.py

TorchRL's own wrapper takes the PettingZoo environment as it is. Every frame is one ply and shows both seats, in one
group: ``("agents", "mask")`` says which of them is to move, ``("agents", "action_mask")`` what is legal.
"""

from __future__ import annotations

import warnings

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import MarlGroupMapType
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE
from tqdm import tqdm

import numduel_env
from scoring import DUELS, parsed_arguments, score_against_random

FRAMES_PER_BATCH = 1_024
EPOCHS = 8
MINIBATCH = 128
LEARNING_RATE = 2e-3
ENTROPY = 0.02

args = parsed_arguments(__doc__, FRAMES_PER_BATCH)

torch.manual_seed(args.seed)
torch.set_num_threads(1)  # the network is small
# TorchRL warns of every PettingZoo but 1.24.3.
warnings.filterwarnings("ignore", "PettingZoo in TorchRL is tested using version")

# An illegal move would end the training with an error.
game = numduel_env.env("divider-duel", lookahead=True, illegal="raise")
env = PettingZooWrapper(game, use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP)

observed = ("agents", "observation", "observation")
policy = MLP(in_features=game.observer.size, out_features=game.action_count, num_cells=[64, 64])
untrained = score_against_random(game, policy, args.seed)
actor = ProbabilisticActor(
    TensorDictModule(policy, in_keys=[observed], out_keys=[("agents", "logits")]),
    in_keys={"logits": ("agents", "logits"), "mask": ("agents", "action_mask")},
    out_keys=[("agents", "action")],
    distribution_class=MaskedCategorical,
    return_log_prob=True,
    log_prob_key=("agents", "log_prob"),
)
# The waiting seat's outlook is all zero: by it the critic distinguishes its positions from those of the mover.
critic = ValueOperator(
    MLP(in_features=game.observer.size, out_features=1, num_cells=[64, 64]),
    in_keys=[observed],
    out_keys=[("agents", "state_value")],
)
keys = {
    "value": ("agents", "state_value"),
    "advantage": ("agents", "advantage"),
    "value_target": ("agents", "value_target"),
    "reward": ("agents", "reward"),
    "done": ("agents", "done"),
    "terminated": ("agents", "terminated"),
}
advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
advantage.set_keys(**keys)
loss = ClipPPOLoss(actor, critic, entropy_coeff=ENTROPY, normalize_advantage=True)
loss.set_keys(action=("agents", "action"), sample_log_prob=("agents", "log_prob"), **keys)
optimizer = torch.optim.Adam(loss.parameters(), lr=LEARNING_RATE)

collector = Collector(
    env,
    actor,
    frames_per_batch=FRAMES_PER_BATCH,
    total_frames=args.steps,
    auto_register_policy_transforms=False,  # they are for recurrent policies
)
trained = 0
with tqdm(total=args.steps, unit=" frames") as bar:
    for batch in collector:
        with torch.no_grad():
            advantage(batch)
        # The waiting seat's action was never played: learn from the movers' only.
        moves = batch["agents"][batch["agents", "mask"]]
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(moves)).split(MINIBATCH):
                losses = loss(TensorDict({"agents": moves[rows]}, [len(rows)]))
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                optimizer.step()
        trained += batch.numel()
        bar.update(batch.numel())
collector.shutdown()

score = score_against_random(game, policy, args.seed)
duels = f"{DUELS:,} duels against random, seats swapped"
print(f"TorchRL, {trained:,} steps: {score:.1%} of {duels} (untrained {untrained:.1%})")
