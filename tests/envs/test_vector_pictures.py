"""Pictures of many games: what Gymnasium's vector wrappers record is what each single game looks like."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordVideo

from numduel_env import Duel, find_game, random_legal
from numduel_env.picture import draw
from tests.support.variants import each_game


@pytest.mark.parametrize(
    "options", [{}, {"opponent": "self"}, {"random_openings": 0.5}, {"autoreset_mode": "SameStep"}]
)
@each_game
def test_every_picture_is_that_of_its_game(game, params, options):
    spec = find_game(game)
    environment = gymnasium.make_vec(spec.gymnasium_id, num_envs=3, render_mode="rgb_array", **options)
    _, infos = environment.reset(seed=0)
    games = environment.unwrapped
    generator = np.random.default_rng(0)
    for _ in range(25):
        for row, board in enumerate(games._boards):
            replayed = Duel(games.rules, board.actions)
            np.testing.assert_array_equal(replayed.legal, games.duels.legal[row])
            assert len(replayed.actions) == games.duels.plies[row]
        *_, infos = environment.step(random_legal(infos["action_mask"], generator))
    frames = environment.render()
    assert len(frames) == 3
    for frame, board in zip(frames, games._boards):
        np.testing.assert_array_equal(frame, draw(spec, board))


def test_the_wrapper_records_all_games():
    environment = gymnasium.make_vec("numduel/DividerDuel-v0", num_envs=4, render_mode="rgb_array")
    height, width, _ = (environment.reset(seed=0), environment.render()[0].shape)[1]
    recorder = RecordVideo.__new__(RecordVideo)  # writing the file needs moviepy, which the frames do not
    recorder.env, recorder.recording, recorder.recorded_frames = environment, True, []
    recorder.record_first_only, recorder.frame_cols, recorder.frame_rows, recorder.video_aspect_ratio = (
        False,
        -1,
        -1,
        (1, 1),
    )
    recorder._capture_frame()
    rows, columns = recorder.frame_rows, recorder.frame_cols
    assert rows * columns >= 4
    frames, recorder.recorded_frames, recorder.recording = recorder.recorded_frames, [], False
    assert frames[0].shape == (rows * height, columns * width, 3)


def test_nothing_is_drawn_unless_asked_for():
    environment = gymnasium.make_vec("numduel/DividerDuel-v0", num_envs=2)
    environment.reset(seed=0)
    assert environment.render() is None
