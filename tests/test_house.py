"""Who may import whom, and what importing the package costs."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.support import ROOT

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in ("numduel_env", "agents", "train")
    for path in sorted((ROOT / folder).rglob("*.py"))
}

# From the rules outwards: a module may import from its own layer and from earlier ones.
LAYERS = [
    ["numduel_env.rules", "numduel_env.games.primes"],
    ["numduel_env.games.sieve", "numduel_env.games.factor_chain"],
    ["numduel_env.games.prime_duel_product", "numduel_env.games.prime_duel_sum"],
    ["numduel_env.duels", "numduel_env.observation", "numduel_env.batch"],
    ["numduel_env.text"],
    ["numduel_env.games"],
    ["numduel_env.solvers"],
    ["numduel_env.opponents", "numduel_env.picture", "numduel_env.cli", "numduel_env.storage"],
    ["numduel_env.envs.base"],
    ["numduel_env.envs.aec", "numduel_env.envs.single", "numduel_env.envs.vector", "numduel_env.envs.openspiel"],
    ["numduel_env.registration"],
    ["numduel_env", "numduel_env.__main__"],
    ["agents"],
    ["train"],
]

ALLOWED_PACKAGES = {
    "numduel_env": {"numpy"},
    "numduel_env.envs.base": {"numpy", "gymnasium"},
    "numduel_env.envs.aec": {"numpy", "gymnasium", "pettingzoo"},
    "numduel_env.envs.single": {"numpy", "gymnasium"},
    "numduel_env.envs.vector": {"numpy", "gymnasium"},
    "numduel_env.envs.openspiel": {"numpy", "pyspiel", "open_spiel"},
    "numduel_env.registration": {"gymnasium", "pettingzoo"},
    "numduel_env.picture": {"numpy", "PIL"},
}


def imports_of(path, lazy):
    """Return the modules a file imports: not those under TYPE_CHECKING, those in functions only if ``lazy``."""
    tree = ast.parse(path.read_text())
    found = set()
    pending = list(tree.body)
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


def layer_of(module):
    """Return the layer that names the module itself, or else the package it is in."""
    while module:
        for number, layer in enumerate(LAYERS):
            if module in layer:
                return number
        module = module.rpartition(".")[0]
    return None


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_inwards(module):
    for imported in imports_of(MODULES[module], lazy=False):
        if layer_of(imported) is not None:
            assert layer_of(imported) <= layer_of(module), f"{module} may not import {imported}"


@pytest.mark.parametrize("module", [module for module in MODULES if module.startswith("numduel_env")])
def test_frameworks_stay_in_the_faces(module):
    standard = sys.stdlib_module_names | {"numduel_env"}
    allowed = ALLOWED_PACKAGES.get(module, ALLOWED_PACKAGES["numduel_env"])
    packages = {imported.partition(".")[0] for imported in imports_of(MODULES[module], lazy=True)}
    assert packages - standard <= allowed


def test_nobody_imports_train():
    for module, path in MODULES.items():
        if not module.startswith("train"):
            assert not any(imported.partition(".")[0] == "train" for imported in imports_of(path, lazy=True)), module


def test_importing_is_light():
    program = "import sys, numduel_env; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"torch", "stable_baselines3", "matplotlib", "PIL", "pygame"}
    assert not heavy & set(loaded)
    assert not {"numduel_env.solvers", "numduel_env.envs.aec", "numduel_env.envs.vector"} & set(loaded)
