"""Ray, started on this machine or joined where it runs."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import ray

# Ray speaks gRPC, which is HTTP/2: both sides begin with a frame of settings, of nine bytes if it is empty.
HTTP2_SETTINGS = b"\x04"
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + HTTP2_SETTINGS + b"\0\0\0\0\0"


class NoRay(RuntimeError):  # noqa: N818 - it says what is the matter
    """Ray cannot be joined, or cannot start what a run needs; the message says what was tried."""


def start_ray(address: str, env_runners: int) -> None:
    """Start Ray on this machine or join a cluster; raises ``NoRay`` if there is none at the address."""
    if address == "local":
        # More env runners than cores share them; Ray would wait for cores that never come.
        cores = max(os.cpu_count() or 1, env_runners)
        ray.init(address, include_dashboard=False, num_cpus=cores, log_to_driver=False, logging_level=logging.ERROR)
        return
    if address != "auto":
        _try_address(address)
    try:
        with hushed():
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as wrong:
        # Ray raises the same for a missing token as for a missing cluster.
        hint = "if it asks for a token, RAY_AUTH_MODE=token must be set here, too"
        raise NoRay(f"no Ray cluster lets us in at {address} ({hint}): {' '.join(str(wrong).split())}") from None
    cores = int(ray.cluster_resources().get("CPU", 0))
    if cores < env_runners:
        print(f"the cluster has {cores} cores for {env_runners} env runners; Ray waits for more", file=sys.stderr)


def _try_address(address: str) -> None:
    """Raise ``NoRay`` unless something like Ray answers: Ray itself would try for minutes, and log every attempt."""
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


@contextmanager
def hushed() -> Iterator[None]:
    """Discard what is written to standard error, by Ray's C++ code too."""
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
