"""The order of the house: who may import whom, who is a program, and what importing the package costs."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys

import pytest

from tests.support import ROOT

SOURCES = ("numduel_env", "agents", "train")

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in SOURCES
    for path in sorted((ROOT / folder).rglob("*.py"))
}

PROGRAMS = {module for module, path in MODULES.items() if '\nif __name__ == "__main__":' in path.read_text()}

# From the rules outwards: a module may import from its own layer and from earlier ones.
LAYERS = [
    [
        "numduel_env.rules",
        "numduel_env.batch",
        "numduel_env.transitions",
        "numduel_env.progress",
        "numduel_env.outside",
        "numduel_env.stopping",
        "numduel_env.games.primes",
    ],
    ["numduel_env.games.sieve", "numduel_env.games.factor_chain"],
    ["numduel_env.games.prime_duel_product", "numduel_env.games.prime_duel_sum"],
    ["numduel_env.duel", "numduel_env.text", "numduel_env.storage"],
    ["numduel_env.games"],
    ["numduel_env.duels", "numduel_env.observation", "numduel_env.checks", "numduel_env.dialogue", "numduel_env.parts"],
    ["numduel_env.solvers", "numduel_env.cli", "numduel_env.picture"],
    ["numduel_env.agent"],
    ["numduel_env.writing"],
    ["numduel_env.evaluation"],
    ["numduel_env.envs.base"],
    ["numduel_env.envs.aec", "numduel_env.envs.single", "numduel_env.envs.vector"],
    ["numduel_env.envs"],
    ["numduel_env.registration"],
    ["numduel_env"],
    ["agents"],
    ["train.runs"],
    ["train"],
]

EVERYWHERE = {"numpy"}
ALLOWED_PACKAGES = {
    "numduel_env.cli": {"tqdm"},
    "numduel_env.evaluation.report": {"jinja2"},
    "numduel_env.storage": {"msgspec"},
    "numduel_env.solvers.cache": {"platformdirs"},
    "numduel_env.envs": {"gymnasium"},
    "numduel_env.envs.aec": {"gymnasium", "pettingzoo"},
    "numduel_env.envs.sb3": {"gymnasium", "stable_baselines3", "torch"},
    "numduel_env.envs.rllib": {"gymnasium", "ray", "torch"},
    "numduel_env.envs.openspiel": {"pyspiel", "open_spiel"},
    "numduel_env.envs.openenv": {"openenv"},
    "numduel_env.serving": {"uvicorn"},
    "numduel_env.registration": {"gymnasium", "pettingzoo"},
    "numduel_env.picture": {"PIL"},
}

POSIX_ONLY = ("crypt", "fcntl", "grp", "nis", "posix", "pty", "pwd", "resource", "spwd", "syslog", "termios", "tty")

HEAVY = {"torch", "stable_baselines3", "sb3_contrib", "matplotlib", "PIL", "jinja2", "pygame", "ray", "tqdm"}


def imports_of(path, lazy):
    """Return the modules a file imports: not those under TYPE_CHECKING, those in functions only if ``lazy``."""
    found = set()
    pending = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.FunctionDef) and not lazy:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {
                f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in MODULES else node.module
                for alias in node.names
            }
        pending += list(ast.iter_child_nodes(node))
    return found - {"__future__"}


def nearest(module, table):
    """Return the entry of a table for a module, or for the package it is in."""
    while module:
        if module in table:
            return table[module]
        module = module.rpartition(".")[0]
    return None


LAYER = {module: number for number, layer in enumerate(LAYERS) for module in layer}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_inwards(module):
    for imported in imports_of(MODULES[module], lazy=False):
        if nearest(imported, LAYER) is not None:
            assert nearest(imported, LAYER) <= nearest(module, LAYER), f"{module} may not import {imported}"


@pytest.mark.parametrize("module", [module for module in MODULES if module.startswith("numduel_env")])
def test_other_packages_stay_in_their_rooms(module):
    known = sys.stdlib_module_names | {"numduel_env"} | EVERYWHERE
    packages = {imported.partition(".")[0] for imported in imports_of(MODULES[module], lazy=True)}
    assert packages - known <= (nearest(module, ALLOWED_PACKAGES) or set())


def test_evaluation_sees_no_environment():
    for module, path in MODULES.items():
        if module.startswith("numduel_env.evaluation"):
            assert not any(imported.startswith("numduel_env.envs") for imported in imports_of(path, lazy=True)), module


def test_programs_are_where_one_looks_for_them():
    top_level = {module for module in MODULES if re.fullmatch(r"train\.\w+", module) and module in PROGRAMS}
    files = {f"train.{path.stem}" for path in (ROOT / "train").glob("*.py")} - {"train.__init__"}
    assert files == top_level
    assert {module for module in PROGRAMS if not module.startswith("train.")} == {
        "numduel_env.__main__",
        "agents.board",
        "agents.play",
    }
    assert not any(module.startswith(f"train.{room}.") for module in PROGRAMS for room in ("runs", "sb3_ppo"))


def test_nothing_beside_a_program_hides_a_package():
    """``python agents/board.py`` finds what stands in ``agents/`` before any package of that name."""
    beside = {path.stem for room in ("agents", "train") for path in (ROOT / room).iterdir()}
    packages = sys.stdlib_module_names | set(importlib.metadata.packages_distributions())
    assert not (beside - {"__init__", "__pycache__"}) & packages


def test_nobody_imports_a_program():
    tests = {str(path.relative_to(ROOT)): path for path in (ROOT / "tests").rglob("*.py")}
    for name, path in {**MODULES, **tests}.items():
        # `python -m numduel_env` is a program, whose functions its tests may call.
        programs = PROGRAMS - {"numduel_env.__main__"}
        assert not imports_of(path, lazy=True) & programs, name


def test_nobody_imports_train():
    for module, path in MODULES.items():
        if not module.startswith("train"):
            assert not any(imported.partition(".")[0] == "train" for imported in imports_of(path, lazy=True)), module


def test_no_room_reads_the_files_of_another_by_path():
    """A path that begins at ``__file__`` stays in its own folder; only train/benchmarks runs programs by path."""
    for module, path in MODULES.items():
        for line in path.read_text().splitlines():
            if "__file__" in line and not module.startswith("train.benchmarks"):
                assert ".parent.parent" not in line and "parents[" not in line, f"{module}: {line}"


def test_nothing_of_posix_alone_is_needed():
    """Every module of the sources is imported where such modules do not exist, as on Windows."""
    program = f"""
import sys
for name in {POSIX_ONLY!r}:
    sys.modules[name] = None
import importlib
for module in {sorted(importable())!r}:
    importlib.import_module(module)
"""
    # Third parties may use such modules where they exist: they are imported before.
    first = (
        "import ctypes, logging, multiprocessing, subprocess, tempfile, uuid, torch, sb3_contrib, matplotlib.figure, "
        "uvicorn, starlette.testclient\n"
    )
    subprocess.run([sys.executable, "-c", first + program], check=True, cwd=ROOT)
    for module, path in MODULES.items():
        assert not imports_of(path, lazy=True) & set(POSIX_ONLY), module
    # Imported by a name, they do not show up above: the terminal does so, and goes on without (see test_play.py).
    by_name = re.compile(r'import_module\("(\w+)"\)')
    found = {(module, name) for module, path in MODULES.items() for name in by_name.findall(path.read_text())}
    assert {(module, name) for module, name in found if name in POSIX_ONLY} == {("agents.terminal", "termios")}


def importable():
    """Return the modules that need no framework which has an environment of its own."""
    elsewhere = ("openspiel", "openenv", "rllib", "__main__", "benchmark")
    return {module for module in MODULES if not any(word in module for word in elsewhere)}


def test_importing_is_light():
    program = "import sys, numduel_env; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & set(loaded)
    assert not any(name.startswith("numduel_env.envs") for name in loaded)


def test_records_are_dataclasses():
    """A dict of anything is for what others define: Gymnasium's options and infos, keyword arguments."""
    found = sum(path.read_text().count("dict[str, Any]") for path in MODULES.values())
    assert found < 15
