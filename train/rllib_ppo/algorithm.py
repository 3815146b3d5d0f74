"""Ray started or joined, and RLlib's PPO set up to learn a game by self-play."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from agents.checkpoint import Tensors
from numduel_env.games import GameSpec
from train.rllib_ppo.duels import MODULE, DuelEnv, DuelRunner, module_of
from train.rllib_ppo.module import MaskedModule

# One preset for all games.
BOARDS = 256  # duels that all env runners together play side by side
FEWEST_BOARDS = 8  # of one env runner
RANDOM_OPENINGS = 0.5  # else a learner sees only the lines it prefers
LAYERS = [128, 128]
PRESET: dict[str, Any] = {
    "train_batch_size_per_learner": 4096,
    "minibatch_size": 512,
    "num_epochs": 4,
    "lr": 1e-3,
    "gamma": 1.0,  # each seat has a trajectory of its own, rewarded at its end
    "lambda_": 0.95,
    "entropy_coeff": 0.1,
    "vf_loss_coeff": 0.5,
    "clip_param": 0.2,
    "use_kl_loss": False,
    "grad_clip": 0.5,
}

# Ray speaks gRPC, which is HTTP/2: both sides begin with a frame of settings, of nine bytes if it is empty.
HTTP2_SETTINGS = b"\x04"
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + HTTP2_SETTINGS + b"\0\0\0\0\0"


class NoRay(RuntimeError):  # noqa: N818 - it says what is the matter
    """Ray cannot be joined, or cannot start what a run needs; the message says what was tried."""


def start_ray(address: str, env_runners: int) -> None:
    """Start Ray on this machine or join a cluster; raises ``NoRay`` if there is none at the address."""
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        # More env runners than cores share them; Ray would wait for cores that never come.
        cores = max(os.cpu_count() or 1, env_runners)
        ray.init(address, include_dashboard=False, num_cpus=cores, **quiet)
        return
    if address != "auto":
        _try_address(address)
    try:
        with hushed():
            ray.init(address, **quiet)
    except Exception as wrong:
        # Ray does not tell a missing token from a missing cluster.
        hint = "if it asks for a token, RAY_AUTH_MODE=token must be set here, too"
        raise NoRay(f"no Ray cluster lets us in at {address} ({hint}): {' '.join(str(wrong).split())}") from None
    cores = int(ray.cluster_resources().get("CPU", 0))
    if cores < env_runners:
        print(f"the cluster has {cores} cores for {env_runners} env runners; Ray waits for more", file=sys.stderr)


def _try_address(address: str) -> None:
    """Raise ``NoRay`` unless something like Ray answers: Ray itself would try for minutes, and say much."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=5) as line:
            if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
                return  # what answers there is for Ray to decipher
            line.sendall(HTTP2_GREETING)
            if line.recv(9)[3:4] != HTTP2_SETTINGS:
                raise OSError("something else is listening there")
    except OSError as wrong:
        raise NoRay(f"no Ray cluster answers at {address}: {wrong}") from None


def base_config(env: Any, env_config: dict[str, Any], **model_config: Any) -> PPOConfig:
    """Return a setup of RLlib's PPO in which one masked network plays both seats of an environment."""
    network = RLModuleSpec(module_class=MaskedModule, model_config={"layers": LAYERS, **model_config})
    return (
        PPOConfig()
        .environment(env, env_config=env_config)
        .multi_agent(policies={MODULE}, policy_mapping_fn=module_of)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={MODULE: network}))
    )


def make_algorithm(game: GameSpec, params: dict[str, Any], env_runners: int, seed: int) -> Any:
    """Return RLlib's PPO with our environment, env runner and network.

    Raises ``NoRay`` if no env runner can be started.
    """
    # However many share the work, an update learns from about as much: whole rounds of all their duels.
    duels = max(BOARDS // max(env_runners, 1), FEWEST_BOARDS)
    options = {"game": game, "params": params, "random_openings": RANDOM_OPENINGS, "duels": duels}
    config = (
        base_config(DuelEnv, options)
        .env_runners(env_runner_cls=DuelRunner, num_env_runners=env_runners)
        .learners(num_learners=0)
        .training(**PRESET, vf_clip_param=float("inf"))
        .fault_tolerance(restart_failed_env_runners=True)
        .debugging(seed=seed, log_level="ERROR")
    )
    try:
        # Ray warns, past all levels of logging, of what RLlib does on purpose to start env runners again.
        with hushed():
            algorithm = config.build_algo()
    except (IndexError, ray.exceptions.RayError) as wrong:
        # RLlib passes over env runners that cannot start, and stumbles when none is left.
        hint = "each machine of a cluster needs this project; Ray's logs, in /tmp/ray/session_latest/logs, tell more"
        raise NoRay(f"no env runner could be started ({hint}): {' '.join(str(wrong).split())}") from None
    # Not before, for that has set the level. What it would say of a lost env runner is said elsewhere, in one line.
    logging.getLogger("ray.rllib").setLevel(logging.CRITICAL)
    return algorithm


def network_tensors(algorithm: Any) -> Tensors:
    """Return copies of the network's weights, which are named as ``agents.networks.FlatNetwork`` has them."""
    return {name: np.array(tensor) for name, tensor in algorithm.learner_group.get_weights()[MODULE].items()}


@contextmanager
def hushed() -> Iterator[None]:
    """Keep what is written to standard error, even past Python, from being seen."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
