"""RLlib's PPO, set up to learn a game by self-play."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from agents.checkpoint import Tensors
from numduel_env.envs.base import Info
from numduel_env.envs.rllib import MODULE, DuelEnv, DuelRunner, MaskedModule, module_of
from numduel_env.games import GameSpec, Params
from train.rllib_ppo.cluster import NoRay, hushed
from train.rllib_ppo.preset import LAYERS, PRESET


def base_config(env: Any, env_config: Info, **model_config: Any) -> PPOConfig:
    """Return a config of RLlib's PPO in which one masked network plays both seats of an environment."""
    network = RLModuleSpec(module_class=MaskedModule, model_config={"layers": LAYERS, **model_config})
    return (
        PPOConfig()
        .environment(env, env_config=env_config)
        .multi_agent(policies={MODULE}, policy_mapping_fn=module_of)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={MODULE: network}))
    )


def ppo_config(spec: GameSpec, params: Params, env_runners: int, seed: int) -> PPOConfig:
    """Return the config of RLlib's PPO with our environment, env runner, network and preset."""
    env_config = {
        "game": spec,
        "params": params,
        "random_openings": PRESET.random_openings,
        "duels": PRESET.duels_per_env_runner(env_runners),
    }
    return (
        base_config(DuelEnv, env_config)
        .env_runners(env_runner_cls=DuelRunner, num_env_runners=env_runners)
        .learners(num_learners=0)
        .training(
            train_batch_size_per_learner=PRESET.train_batch_size_per_learner,
            minibatch_size=PRESET.minibatch_size,
            num_epochs=PRESET.num_epochs,
            lr=PRESET.lr,
            gamma=PRESET.gamma,
            lambda_=PRESET.lambda_,
            entropy_coeff=PRESET.entropy_coeff,
            vf_loss_coeff=PRESET.vf_loss_coeff,
            clip_param=PRESET.clip_param,
            grad_clip=PRESET.grad_clip,
            use_kl_loss=False,
            vf_clip_param=float("inf"),
        )
        .fault_tolerance(restart_failed_env_runners=True)
        .debugging(seed=seed, log_level="ERROR")
    )


def make_algorithm(spec: GameSpec, params: Params, env_runners: int, seed: int) -> Any:
    """Return RLlib's PPO, ready to learn; raises ``NoRay`` if no env runner can be started."""
    config = ppo_config(spec, params, env_runners, seed)
    try:
        # Ray warns, past all levels of logging, of what RLlib does on purpose to start env runners again.
        with hushed():
            algorithm = config.build_algo()
    except (IndexError, ray.exceptions.RayError) as wrong:
        # RLlib passes over env runners that cannot start, and stumbles when none is left.
        hint = "each machine of a cluster needs this project; Ray's logs, in /tmp/ray/session_latest/logs, say more"
        raise NoRay(f"no env runner could be started ({hint}): {' '.join(str(wrong).split())}") from None
    # Not before, for that has set the level. A lost env runner is reported elsewhere, in one line.
    logging.getLogger("ray.rllib").setLevel(logging.CRITICAL)
    return algorithm


def network_tensors(algorithm: Any) -> Tensors:
    """Return copies of the network's weights, which are named as ``agents.networks.FlatNetwork`` has them."""
    return {name: np.array(tensor) for name, tensor in algorithm.learner_group.get_weights()[MODULE].items()}
