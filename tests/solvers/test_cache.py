import io
import os
import pickle
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from numduel_env.games.sieve import Sieve
from numduel_env.solvers import cache
from numduel_env.solvers.sieve import SieveSolver

ARRAYS = {
    "words": np.arange(5, dtype=np.uint64),
    "nimbers": np.arange(1_000, dtype=np.uint8).reshape(10, 100),
    "empty": np.zeros((0, 3), np.int32),
    "single": np.array(2.5),
    "flags": np.array([True, False]),
}


def kinds(arrays):
    return {name: (array.dtype, array.shape) for name, array in arrays.items()}


KINDS = kinds(ARRAYS)
NEW = {"new": np.ones(3)}


@pytest.fixture(autouse=True)
def folder(own_cache):
    return own_cache


def stored_file():
    cache.store("game", 1, ARRAYS)
    return cache.folder() / "game.npz"


def sealed(content):
    """What ends like a file of ours, with a right digest, whatever its content."""
    return content + cache._digest(content)


def archive(members, **options):
    """An archive of the given members (name, content) whose digest is right."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as packed, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of two members of one name
        for name, content in members:
            packed.writestr(name, content)
        packed.comment = b"0" * cache.HEXADECIMAL
    return sealed(file.getvalue()[: -cache.HEXADECIMAL])


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def members(**changes):
    """What a good file of ``ARRAYS`` is made of, with some members changed or (None) left out."""
    made = {f"{name}.npy": saved(array) for name, array in {cache.STAMP: cache._stamp("game", 1), **ARRAYS}.items()}
    made |= {f"{name}.npy": content for name, content in changes.items()}
    return [(name, content) for name, content in made.items() if content is not None]


def header(text, magic=b"\x93NUMPY\x01\x00"):
    """A saved array that consists of a header."""
    return magic + len(text).to_bytes(2, "little") + text


def test_what_is_stored_is_loaded():
    cache.store("game", 1, ARRAYS)
    loaded = cache.load("game", 1, KINDS)
    assert list(loaded) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert loaded[name].dtype == array.dtype
        assert loaded[name].shape == array.shape
        assert (loaded[name] == array).all()
        assert loaded[name].flags.aligned


def test_arrays_that_are_not_contiguous_keep_their_order():
    cache.store("game", 1, {"turned": ARRAYS["nimbers"].T})
    loaded = cache.load("game", 1, {"turned": (np.uint8, (100, 10))})
    assert (loaded["turned"] == ARRAYS["nimbers"].T).all()


def test_nothing_stored_is_nothing_loaded():
    assert cache.load("game", 1, KINDS) is None


def test_another_version_or_key_is_not_trusted():
    file = stored_file()
    assert cache.load("game", 2, KINDS) is None
    assert cache.load("another", 1, KINDS) is None
    file.rename(cache.folder() / "another.npz")
    assert cache.load("another", 1, KINDS) is None


@pytest.mark.parametrize(
    "other",
    [
        {},
        {**KINDS, "more": (np.uint8, (3,))},
        {name: kind for name, kind in KINDS.items() if name != "flags"},
        {**KINDS, "words": (np.int64, (5,))},
        {**KINDS, "words": (">u8", (5,))},
        {**KINDS, "words": (np.uint64, (1, 5))},
        {**KINDS, "nimbers": (np.uint8, (100, 10))},
        {**KINDS, "empty": (np.int32, (3, 0))},
        {**KINDS, "single": (np.float64, (1,))},
    ],
    ids=range(9),
)
def test_other_arrays_than_expected_are_not_taken(other):
    stored_file()
    assert cache.load("game", 1, other) is None
    assert cache.load("game", 1, KINDS) is not None


def test_a_later_store_replaces_the_file_and_leaves_nothing_else(folder):
    cache.store("game", 1, ARRAYS)
    cache.store("game", 2, NEW)
    assert cache.load("game", 1, KINDS) is None
    assert cache.load("game", 1, kinds(NEW)) is None
    assert list(cache.load("game", 2, kinds(NEW))) == ["new"]
    assert [file.name for file in folder.iterdir()] == ["game.npz"]


def test_every_flipped_byte_is_noticed():
    file = stored_file()
    good = file.read_bytes()
    for place in range(len(good)):
        file.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        assert cache.load("game", 1, KINDS) is None
    file.write_bytes(good)
    assert cache.load("game", 1, KINDS) is not None


def test_every_truncation_or_extension_is_noticed():
    file = stored_file()
    good = file.read_bytes()
    for length in range(0, len(good), 13):
        file.write_bytes(good[:length])
        assert cache.load("game", 1, KINDS) is None
    file.write_bytes(good + b"\0")
    assert cache.load("game", 1, KINDS) is None


BOMB = bytes(10_000_000)
HUGE = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000000,)}"
PICKLED = b"{'descr': '|O', 'fortran_order': False, 'shape': (5,)}"

FOREIGN_ARCHIVES = {
    "nothing": archive([]),
    "no stamp": archive(members(stamp=None)),
    "another stamp": archive(members(stamp=saved(cache._stamp("gate", 1)))),
    "a stamp of another kind": archive(members(stamp=saved(np.arange(3)))),
    "one missing": archive(members(flags=None)),
    "one more": archive(members(more=b"")),
    "one twice": archive(members() + members()[-1:]),
    "one outside": archive([("../" + name if name == "words.npy" else name, content) for name, content in members()]),
    "no suffix": archive([(name.removesuffix(".npy"), content) for name, content in members()]),
    "compressed": archive(members(), compression=zipfile.ZIP_DEFLATED),
    "a bomb": archive(members(words=saved(ARRAYS["words"]) + BOMB), compression=zipfile.ZIP_DEFLATED),
    "no header": archive(members(words=b"")),
    "not an array": archive(members(words=b"something else")),
    "a pickle": archive(members(words=pickle.dumps([1, 2, 3]))),
    "a pickled array": archive(members(words=header(PICKLED) + pickle.dumps([1, 2, 3]))),
    "a claim of a huge size": archive(members(nimbers=header(HUGE) + bytes(1_000))),
    "a negative size": archive(members(words=header(HUGE.replace(b"1000000000000000", b"-1")))),
    "a broken header": archive(members(words=header(b"{'descr': "))),
    "no utf-8": archive(members(words=header(b"\xff\xfe"))),
    "deep brackets": archive(members(words=header(b"[" * 900))),
    "another version of headers": archive(members(words=header(HUGE, magic=b"\x93NUMPY\x09\x00"))),
    "too little data": archive(members(words=saved(ARRAYS["words"])[:-1])),
}


@pytest.mark.parametrize("name", FOREIGN_ARCHIVES)
def test_foreign_content_with_a_right_digest_is_ignored(name):
    stored_file().write_bytes(FOREIGN_ARCHIVES[name])
    assert cache.load("game", 1, KINDS) is None


def test_the_archives_of_these_tests_are_good_but_for_what_they_spoil():
    stored_file().write_bytes(archive(members()))
    loaded = cache.load("game", 1, KINDS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(loaded[name], array)


def test_nothing_is_read_that_claims_to_be_more_than_expected(monkeypatch):
    """Even where the whole file is small enough: what would be read is compared before it is."""
    reads = []
    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", lambda file, name: reads.append(name))
    for content in FOREIGN_ARCHIVES.values():
        stored_file().write_bytes(content)
        assert cache.load("game", 1, KINDS) is None
    # Only the one with another stamp has the right names, dtypes, shapes and sizes.
    assert reads.count("words") == 1


@pytest.mark.parametrize("offset", [20, 24], ids=["compressed size", "size"])
def test_a_directory_that_lies_about_sizes_is_ignored(offset):
    content = stored_file().read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        size = packed.getinfo("nimbers.npy").file_size
    at = content.rindex(b"PK\x01\x02", 0, content.rindex(b"nimbers.npy")) + offset
    assert content[at : at + 4] == size.to_bytes(4, "little")
    for claimed in (size + 1, 2**31):
        lying = content[:at] + claimed.to_bytes(4, "little") + content[at + 4 : -cache.HEXADECIMAL]
        stored_file().write_bytes(sealed(lying))
        assert cache.load("game", 1, KINDS) is None


FOREIGN_FILES = [
    b"",
    b"\x93NUMPY",
    b"PK\x03\x04",
    sealed(b""),
    sealed(b"\xff" * 8),
    sealed(pickle.dumps({"words": 1})),
    sealed(saved(ARRAYS["words"])),
]


@pytest.mark.parametrize("content", FOREIGN_FILES, ids=range(len(FOREIGN_FILES)))
def test_foreign_files_are_ignored_and_replaced(content):
    file = stored_file()
    file.write_bytes(content)
    assert cache.load("game", 1, KINDS) is None
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1, KINDS) is not None


def test_a_saved_array_in_the_place_of_an_archive_is_not_read(monkeypatch):
    stored_file().write_bytes(sealed(header(HUGE)))
    reads = []
    monkeypatch.setattr(np, "load", lambda *arguments, **options: reads.append(arguments))
    assert cache.load("game", 1, KINDS) is None
    assert reads == []


def test_a_file_that_is_far_too_large_is_not_read(monkeypatch):
    file = stored_file()
    good = file.read_bytes()
    slack = (1 + len(ARRAYS)) * cache.OVERHEAD
    file.write_bytes(good + bytes(slack))
    opened = []
    monkeypatch.setattr("pathlib.Path.open", lambda *arguments: opened.append(arguments))
    assert cache.load("game", 1, KINDS) is None
    assert opened == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(folder):
    folder.mkdir()
    os.mkfifo(folder / "game.npz")
    assert cache.load("game", 1, KINDS) is None
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1, KINDS) is not None


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
def test_a_device_in_the_place_of_the_file_is_not_read(folder):
    folder.mkdir()
    (folder / "game.npz").symlink_to("/dev/zero")
    assert cache.load("game", 1, KINDS) is None


def test_a_folder_in_the_place_of_the_file_is_no_error(folder):
    (cache.folder() / "game.npz").mkdir(parents=True)
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1, KINDS) is None
    assert [file.name for file in folder.iterdir()] == ["game.npz"]


@pytest.mark.parametrize("where", ["/dev/null/cache", "/proc/cache", "x" * 5_000])
def test_an_impossible_folder_is_no_error(where, monkeypatch):
    monkeypatch.setenv("NUMDUEL_CACHE", where)
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1, KINDS) is None
    assert SieveSolver(Sieve(2, 42)).rules.numbers[-1] == 42


def test_a_folder_that_may_not_be_written_is_no_error(folder, monkeypatch):
    folder.mkdir()

    def refuse(*arguments, **options):
        raise PermissionError("read-only")

    # Taking the permission from the folder itself would not stop root.
    monkeypatch.setattr("tempfile.mkstemp", refuse)
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1, KINDS) is None


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file_and_no_litter(error, folder, monkeypatch):
    cache.store("game", 1, ARRAYS)

    def fail(*arguments):
        raise error

    monkeypatch.setattr(os, "replace", fail)
    if isinstance(error, OSError):
        cache.store("game", 1, NEW)
    else:
        with pytest.raises(KeyboardInterrupt):
            cache.store("game", 1, NEW)
    assert list(cache.load("game", 1, KINDS)) == list(ARRAYS)
    assert [file.name for file in folder.iterdir()] == ["game.npz"]


def test_objects_are_never_stored():
    with pytest.raises(TypeError, match="cannot be stored"):
        cache.store("game", 1, {"things": np.array([{}])})


@pytest.mark.parametrize("key", ["", "..", ".hidden", "a/b", "a\\b", "a b"])
def test_a_key_stays_within_the_folder(key):
    with pytest.raises(ValueError, match="cache key"):
        cache.store(key, 1, ARRAYS)
    with pytest.raises(ValueError, match="cache key"):
        cache.load(key, 1, KINDS)


def test_the_folder_is_where_caches_belong(monkeypatch, tmp_path):
    assert cache.folder() == tmp_path / "cache"
    monkeypatch.delenv("NUMDUEL_CACHE")
    homes = {"linux": "XDG_CACHE_HOME", "win32": "WIN_PD_OVERRIDE_LOCAL_APPDATA"}
    if sys.platform in homes:
        monkeypatch.setenv(homes[sys.platform], str(tmp_path))
        assert cache.folder().is_relative_to(tmp_path / "numduel_env")
    assert cache.folder().is_absolute()
    assert "numduel_env" in cache.folder().parts


def homeless(name, appauthor):
    raise RuntimeError("could not determine the home directory")


# Some releases of platformdirs raise where there is no home, others answer with what they were asked.
@pytest.mark.parametrize("answer", [homeless, lambda name, appauthor: Path("~", ".cache", name)])
def test_a_user_without_a_home_can_play(answer, monkeypatch, tmp_path):
    monkeypatch.delenv("NUMDUEL_CACHE")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cache, "user_cache_path", answer)
    cache.store("game", 1, ARRAYS)
    assert cache.load("game", 1, KINDS) is None
    assert list(tmp_path.iterdir()) == []


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
from numduel_env.solvers.sieve import SieveSolver
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
    assert [file.suffix for file in folder.iterdir()] == [".npz"]


posix_only = pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no such users")


@posix_only
@pytest.mark.parametrize(("what", "mode"), [("file", 0o666), ("file", 0o620), ("folder", 0o777), ("folder", 0o770)])
def test_what_others_may_write_is_not_trusted(what, mode, folder, caplog):
    file = stored_file()
    (file if what == "file" else folder).chmod(mode)
    assert cache.load("game", 1, KINDS) is None
    (record,) = caplog.records
    assert "others may write to" in record.getMessage() and "\n" not in record.getMessage()
    (file if what == "file" else folder).chmod(0o700)
    assert cache.load("game", 1, KINDS) is not None


@posix_only
def test_a_folder_like_tmp_is_trusted_with_files_of_ours(folder):
    stored_file()
    folder.chmod(0o1777)
    assert cache.load("game", 1, KINDS) is not None


@posix_only
def test_the_file_of_somebody_else_is_not_trusted(monkeypatch, caplog):
    stored_file()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    if cache.folder().stat().st_uid == 0:
        assert cache.load("game", 1, KINDS) is not None  # root's files are as good as our own
        return
    assert cache.load("game", 1, KINDS) is None
    assert "belongs to somebody else" in caplog.text


def a_pipe(file):
    file.unlink()
    os.mkfifo(file)


def sparse(file):
    os.truncate(file, 8_000_000_000)


def a_folder(file):
    file.unlink()
    file.mkdir()


def a_link_to_nothing_that_ends(file):
    file.unlink()
    file.symlink_to("/dev/zero")


def a_link_to_itself(file):
    file.unlink()
    file.symlink_to(file)


BAD_PLACES = {
    "a pipe": (a_pipe, "is no ordinary file"),
    "a folder": (a_folder, "is no ordinary file"),
    "a device": (a_link_to_nothing_that_ends, "is no ordinary file"),
    "a loop": (a_link_to_itself, "is no ordinary file"),
    "a sparse file": (sparse, "it is larger than"),
    "others may write": (lambda file: file.chmod(0o666), "others may write to"),
    "half a file": (lambda file: os.truncate(file, 1_000), "its digest is wrong"),
    "an empty file": (lambda file: os.truncate(file, 0), "its digest is wrong"),
    "something else": (lambda file: file.write_bytes(sealed(b"PK something")), "it cannot be read: "),
    "another version": (lambda file: cache.store(file.stem, 0, {"nimbers": np.zeros(3, np.uint8)}), "something else"),
    "an escape": (lambda file: file.write_bytes(sealed(b"PK\x1b[31m")), "it cannot be read: "),
}


@posix_only
@pytest.mark.parametrize("bad", BAD_PLACES)
def test_what_is_no_table_is_made_anew_with_one_line_of_warning(bad, caplog):
    rules = Sieve(2, 42)
    nimber = SieveSolver(rules).nimber(rules.initial())
    (file,) = cache.folder().iterdir()
    assert not caplog.records
    spoil, why = BAD_PLACES[bad]
    spoil(file)
    assert SieveSolver(rules).nimber(rules.initial()) == nimber
    (record,) = caplog.records
    said = record.getMessage()
    assert "is made anew" in said and why in said and said.isprintable()
    caplog.clear()
    if bad != "a folder":
        assert SieveSolver(rules).nimber(rules.initial()) == nimber
        assert not caplog.records


def consistent_lie(component, table, row):
    """Make one row lie and all rows after it follow from the lie, so that only this row contradicts the recurrence."""
    table[row, :-1] ^= 1
    for after in range(row + 1, len(table)):
        table[after] = component._solved_row(table, after)


def test_a_lie_that_is_spread_consistently_is_found_by_some_of_the_loads(caplog):
    """Only one row contradicts the others: each load that looks at it, one in a few, finds it."""
    rules = Sieve(2, 42)
    component = max((part for part, _ in SieveSolver(rules).components), key=lambda part: part.plan.bytes)
    table = component._flat.reshape(component.plan.rows, component.plan.columns).copy()
    consistent_lie(component, table, len(table) // 2)
    wrong = [row for row in range(len(table)) if not np.array_equal(component._solved_row(table, row), table[row])]
    assert wrong == [len(table) // 2]
    found = sum(not component._looks_right(table) for _ in range(40))
    assert found > 0


def tampered(highest, change):
    """Put a table with a right digest but other values into the cache, and return the true nimber of the start."""
    rules = Sieve(2, highest)
    right = SieveSolver(rules).nimber(rules.initial())
    (file,) = cache.folder().glob("sieve-*.npz")
    with np.load(file) as archive:
        arrays = {name: archive[name].copy() for name in archive.files}
    change(arrays["nimbers"])
    stamp = arrays.pop(cache.STAMP).tobytes().decode()
    key, version = file.name.removesuffix(".npz"), int(stamp.rpartition(" ")[2])
    cache.store(key, version, arrays)
    return rules, right


def first_is_lost(nimbers):
    nimbers[-1, -2] = 0  # the full pool: the last row, and the last column before that of illegal moves


def all_zero(nimbers):
    nimbers[...] = 0


def noise(nimbers):
    nimbers[::3] ^= 1


def impossible(nimbers):
    nimbers[...] = 63


@pytest.mark.parametrize("change", [first_is_lost, all_zero, noise, impossible])
def test_a_table_that_lies_is_noticed_and_made_anew(change, caplog):
    rules, right = tampered(50, change)
    assert SieveSolver(rules).nimber(rules.initial()) == right
    (record,) = caplog.records
    assert "is made anew: its values contradict each other" in record.getMessage()
    caplog.clear()
    assert SieveSolver(rules).nimber(rules.initial()) == right
    assert not caplog.records


def test_leftovers_of_killed_writers_go(folder):
    stored_file()
    old, young, other = (folder / name for name in ("game-abc.part", "game-def.part", "other-abc.part"))
    for file in (old, young, other):
        file.write_bytes(b"half")
    for file in (old, other):
        os.utime(file, (0, 0))
    cache.store("game", 1, ARRAYS)
    assert not old.exists() and young.exists() and other.exists()
