import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from numduel_env.games.sieve import Sieve
from numduel_env.solvers import cache
from numduel_env.solvers.sieve.solver import SieveSolver

ARRAYS = {
    "words": np.arange(5, dtype=np.uint64),
    "nimbers": np.arange(1_000, dtype=np.uint8).reshape(10, 100),
    "empty": np.zeros((0, 3), np.int32),
    "single": np.array(2.5),
    "flags": np.array([True, False]),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    place = tmp_path / "cache"
    monkeypatch.setenv("NUMDUEL_CACHE", str(place))
    return place


def stored_file():
    cache.store("game", 1, ARRAYS)
    return cache.folder() / "game.tables"


def sealed(content):
    """A file whose checksum is right, whatever its content."""
    return cache.MAGIC + hashlib.blake2b(content, digest_size=cache.DIGEST_SIZE).digest() + content


def with_header(text):
    return sealed(len(text).to_bytes(cache.LENGTH_SIZE, "little") + text)


def test_what_is_stored_is_loaded():
    cache.store("game", 1, ARRAYS)
    loaded = cache.load("game", 1)
    assert list(loaded) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert loaded[name].dtype == array.dtype
        assert loaded[name].shape == array.shape
        assert (loaded[name] == array).all()
        assert loaded[name].flags.aligned


def test_arrays_that_are_not_contiguous_keep_their_order():
    cache.store("game", 1, {"turned": ARRAYS["nimbers"].T})
    assert (cache.load("game", 1)["turned"] == ARRAYS["nimbers"].T).all()


def test_nothing_stored_is_nothing_loaded():
    assert cache.load("game", 1) is None


def test_another_version_or_key_is_not_trusted():
    file = stored_file()
    assert cache.load("game", 2) is None
    assert cache.load("another", 1) is None
    file.rename(cache.folder() / "another.tables")
    assert cache.load("another", 1) is None


def test_a_later_store_replaces_the_file_and_leaves_nothing_else(folder):
    cache.store("game", 1, ARRAYS)
    cache.store("game", 2, {"new": np.ones(3)})
    assert cache.load("game", 1) is None
    assert list(cache.load("game", 2)) == ["new"]
    assert [file.name for file in folder.iterdir()] == ["game.tables"]


def test_every_flipped_byte_is_noticed():
    file = stored_file()
    good = file.read_bytes()
    for place in range(0, len(good), 7):
        file.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        assert cache.load("game", 1) is None
    file.write_bytes(good)
    assert cache.load("game", 1) is not None


def test_every_truncation_or_extension_is_noticed():
    file = stored_file()
    good = file.read_bytes()
    for length in range(0, len(good), 13):
        file.write_bytes(good[:length])
        assert cache.load("game", 1) is None
    file.write_bytes(good + b"\0")
    assert cache.load("game", 1) is None


FOREIGN_HEADERS = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff",
    b"[" * 100_000,
    b'{"format": 2, "key": "game", "version": 1, "arrays": []}',
    b'{"format": 1, "key": "game", "version": 1, "arrays": 3}',
    b'{"format": 1, "key": "game", "version": 1, "arrays": [{}]}',
    b'{"format": 1, "key": "game", "version": 1, "arrays": [{"name": "a", "dtype": "O", "shape": [1]}]}',
    b'{"format": 1, "key": "game", "version": 1, "arrays": [{"name": "a", "dtype": "|u1", "shape": [-1]}]}',
    b'{"format": 1, "key": "game", "version": 1, "arrays": [{"name": "a", "dtype": "|u1", "shape": [1e30]}]}',
    b'{"format": 1, "key": "game", "version": 1, "arrays": [{"name": "a", "dtype": "what", "shape": [1]}]}',
    b'{"format": 1, "key": "game", "version": 1, "arrays": [{"name": "a", "dtype": "<i8", "shape": [99]}]}',
]


@pytest.mark.parametrize("header", FOREIGN_HEADERS, ids=range(len(FOREIGN_HEADERS)))
def test_foreign_content_with_a_right_checksum_is_ignored(header):
    file = stored_file()
    file.write_bytes(with_header(header))
    assert cache.load("game", 1) is None


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"PK\x03\x04", sealed(b""), sealed(b"\xff" * 8)])
def test_foreign_files_are_ignored_and_replaced(content):
    file = stored_file()
    file.write_bytes(content)
    assert cache.load("game", 1) is None
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1) is not None


def test_a_folder_in_the_place_of_the_file_is_no_error(folder):
    (cache.folder() / "game.tables").mkdir(parents=True)
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1) is None
    assert [file.name for file in folder.iterdir()] == ["game.tables"]


@pytest.mark.parametrize("where", ["/dev/null/cache", "/proc/cache", "x" * 5_000])
def test_an_impossible_folder_is_no_error(where, monkeypatch):
    monkeypatch.setenv("NUMDUEL_CACHE", where)
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1) is None
    assert SieveSolver(Sieve(2, 42)).rules.numbers[-1] == 42


def test_a_folder_that_may_not_be_written_is_no_error(folder, monkeypatch):
    folder.mkdir()

    def refuse(*arguments, **options):
        raise PermissionError("read-only")

    # Taking the permission from the folder itself would not stop root.
    monkeypatch.setattr("tempfile.mkstemp", refuse)
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1) is None


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file_and_no_litter(error, folder, monkeypatch):
    cache.store("game", 1, ARRAYS)

    def fail(*arguments):
        raise error

    monkeypatch.setattr(os, "replace", fail)
    if isinstance(error, OSError):
        cache.store("game", 1, {"new": np.ones(3)})
    else:
        with pytest.raises(KeyboardInterrupt):
            cache.store("game", 1, {"new": np.ones(3)})
    assert list(cache.load("game", 1)) == list(ARRAYS)
    assert [file.name for file in folder.iterdir()] == ["game.tables"]


def test_objects_are_never_stored():
    with pytest.raises(TypeError, match="cannot be stored"):
        cache.store("game", 1, {"things": np.array([{}])})


@pytest.mark.parametrize("key", ["", "..", ".hidden", "a/b", "a\\b", "a b"])
def test_a_key_stays_within_the_folder(key):
    with pytest.raises(ValueError, match="cache key"):
        cache.store(key, 1, ARRAYS)
    with pytest.raises(ValueError, match="cache key"):
        cache.load(key, 1)


def test_the_folder_is_where_caches_belong(monkeypatch, tmp_path):
    assert cache.folder() == tmp_path / "cache"
    monkeypatch.delenv("NUMDUEL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "numduel_env"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for platform, caches in {"linux": ".cache", "darwin": "Library/Caches", "win32": ".cache"}.items():
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.delenv("LOCALAPPDATA", raising=False)
        assert cache.folder() == tmp_path / caches / "numduel_env"
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache.folder() == tmp_path / "local" / "numduel_env"


def test_a_user_without_a_home_can_play(monkeypatch):
    def homeless():
        raise RuntimeError("could not determine home directory")

    monkeypatch.delenv("NUMDUEL_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1) is None


def test_a_corrupt_file_of_a_game_is_made_anew():
    rules = Sieve(2, 42)
    nimber = SieveSolver(rules).nimber(rules.initial())
    (file,) = cache.folder().iterdir()
    good = file.read_bytes()
    for bad in (good[: len(good) // 2], good[:-1] + bytes([good[-100] ^ 255]), b"something else"):
        file.write_bytes(bad)
        assert SieveSolver(rules).nimber(rules.initial()) == nimber
        assert file.read_bytes() == good


SOLVE = """
from numduel_env.games.sieve import Sieve
from numduel_env.solvers.sieve.solver import SieveSolver
rules = Sieve(2, 44)
print(SieveSolver(rules).nimber(rules.initial()))
"""


def test_two_processes_that_solve_at_once_do_no_harm(folder):
    processes = [
        subprocess.Popen([sys.executable, "-c", SOLVE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=60) for process in processes]
    rules = Sieve(2, 44)
    expected = f"{SieveSolver(rules).nimber(rules.initial())}\n"
    # A pipe is no terminal: nothing is said on stderr.
    assert outputs == [(expected, ""), (expected, "")]
    assert [file.suffix for file in folder.iterdir()] == [".tables"]
