"""What is kept of a rollout: of each position its legal moves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

NO_OBSERVATION = Box(0, 1, (0,))


class LegalMovesBuffer(MaskableRolloutBuffer):
    """``MaskableRolloutBuffer`` of observations as ``AfterstateVectorEnv`` returns them."""

    def __init__(self, buffer_size: int, observation_space: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(buffer_size, NO_OBSERVATION, *args, **kwargs)

    def reset(self) -> None:
        super().reset()
        self._features_by_step: list[NDArray[np.float32]] = []

    def add(self, *args: Any, action_masks: Any = None, **kwargs: Any) -> None:
        obs, *rest = args
        self._features_by_step.append(obs["features"])
        super().add(obs["legal"][:, :0], *rest, action_masks=obs["legal"], **kwargs)

    def get(self, batch_size: int | None = None) -> Any:
        if not self.generator_ready:
            self._features = np.concatenate(self._features_by_step)
            # The features are in the order of play, the rest will be game by game.
            counts = self.action_masks.sum(-1).astype(np.int64)
            starts = (counts.cumsum() - counts.ravel()).reshape(counts.shape)
            self._counts, self._starts = counts.T.ravel(), starts.T.ravel()
        yield from super().get(batch_size)

    def _get_samples(self, batch_inds: NDArray[np.int64], env: Any = None) -> Any:
        samples: Any = super()._get_samples(batch_inds, env)
        counts = self._counts[batch_inds]
        first = counts.cumsum() - counts
        rows = np.arange(counts.sum()) + (self._starts[batch_inds] - first).repeat(counts)
        features = torch.from_numpy(self._features.take(rows, axis=0)).to(self.device)
        return samples._replace(observations={"legal": samples.action_masks > 0, "features": features})
