"""Small learners, and cards of runs that have just begun, for the tests of training."""

from __future__ import annotations

import json

import numpy as np
from sb3_contrib import MaskablePPO

from agents.cards import Card, GameCard, TrainingCard, TrainingProgress
from agents.learned import Architecture
from agents.networks import AfterstateNetwork
from numduel_env import GAMES
from numduel_env.envs.sb3 import SB3VectorEnv
from numduel_env.envs.vector import NumduelVectorEnv
from numduel_env.observation import AfterstateObserver
from train.sb3_ppo.buffer import LegalMovesBuffer
from train.sb3_ppo.envs import AfterstateVectorEnv
from train.sb3_ppo.network import AfterstatePolicy

PROGRAM = "train/ppo.py"


def games(game, count=8, kind=NumduelVectorEnv, **options):
    """Return games side by side, as the adapter wants them."""
    return kind(game, count, autoreset_mode="SameStep", **options)


def afterstate_games(game, count=8, seed=0, **options):
    """Return games that show the afterstates, as Stable-Baselines3 sees them."""
    return SB3VectorEnv(games(game, count, AfterstateVectorEnv, **options), seed=seed)


def dense(observed):
    """Return the flat observations of which the legal moves are given."""
    legal, features = observed["legal"], observed["features"]
    moves = np.zeros((*legal.shape, 1 + features.shape[1]), np.float32)
    moves[legal, 0] = 1
    moves[legal, 1:] = features
    return moves.reshape(len(legal), -1)


def learner(adapted, seed=0, layers=(8,), **options):
    """Return MaskablePPO on games that show the afterstates."""
    policy = {"features": adapted.environment.afterstates.size, "layers": layers}
    options = {"n_steps": 16, "batch_size": 64, "gamma": -1.0, **options}
    options = {"rollout_buffer_class": LegalMovesBuffer, **options}
    return MaskablePPO(AfterstatePolicy, adapted, policy_kwargs=policy, seed=seed, device="cpu", **options)


def small_learner(seed=0, layers=(8,)):
    """Return a learner of Divider Duel."""
    return learner(afterstate_games("divider-duel", 16, seed, opponent="self"), seed, layers)


def constant_weights(observer, action):
    """Return weights of a network without hidden layers that prefers the move to where one number is missing."""
    weights = {name: np.zeros(shape, np.float32) for name, shape in AfterstateNetwork.shapes(observer, []).items()}
    weights["move.0.weight"][0, action] = -100
    return weights


def new_card(plies=0, curve=()):
    """Return the card of a run of Divider Duel that has learned from ``plies`` so far."""
    spec = GAMES["divider-duel"]
    architecture = Architecture.of(AfterstateNetwork.kind, AfterstateObserver(spec.make_rules()), [8])
    training = TrainingCard(PROGRAM, {}, {}, TrainingProgress(plies, 0.0, finished=False), curve, None, ())
    return Card(GameCard.of(spec, {}), *architecture, training)


def rewrite_card(folder, change):
    """Change the card on disk, which ``change`` gets as plain JSON."""
    card = json.loads((folder / "card.json").read_text())
    change(card)
    (folder / "card.json").write_text(json.dumps(card))


def reopen(folder):
    """Let a finished run look as if it had been killed just before its end."""
    rewrite_card(folder, lambda card: card["training"]["progress"].update(finished=False))
