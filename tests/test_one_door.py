"""The rules of the house, each shown to catch what it forbids."""

import ast
import re
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from sfumato.catalogue import METHODS
from sfumato.privacy.registry import resolve
from tests import guards

ROOT = Path(__file__).parent.parent


def test_only_the_noise_package_draws_randomness():
    found = {
        name: guards.randomness(tree)
        for name, tree in guards.sources()
        if not name.startswith("noise/") and guards.randomness(tree)
    }
    assert not found


@pytest.mark.parametrize(
    "planted",
    [
        "import random",
        "import secrets",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "from os import urandom",
        "import os\nx = os.urandom(8)",
        "import numpy as np\nx = np.random.laplace(size=3)",
        "import numpy as np\nx = np.random.default_rng()",
        "from random import random",
        "import uuid",
    ],
)
def test_planted_randomness_is_found(planted):
    assert guards.randomness(ast.parse(planted))


def test_only_the_door_opens_a_budget():
    found = {
        name: guards.budgets_opened(tree)
        for name, tree in guards.sources()
        if name not in guards.DOORS and guards.budgets_opened(tree)
    }
    assert not found


@pytest.mark.parametrize(
    "planted",
    [
        "from sfumato.privacy.budget import Budget\nBudget(limit=1)",
        "from sfumato.privacy import budget\nbudget.Budget(limit=1)",
        "from sfumato.privacy import budget\nkey = budget._KEY",
        "from sfumato.privacy.budget import _Account, _KEY\n_Account(None)",
    ],
)
def test_a_planted_back_door_is_found(planted):
    assert guards.budgets_opened(ast.parse(planted))


def test_only_the_door_lets_a_method_see_data():
    found = {
        name: guards.private_probes(tree)
        for name, tree in guards.sources()
        if guards.private_probes(tree)
    }
    outside = {name for name in found if not name.endswith("queries.py")}
    doors = {"privacy/door.py", "privacy/session.py", "privacy/program.py"}
    # What these return is private: the error that a count will have, for the custodian's eyes.
    custodian = {
        "evaluate/genotypes.py",
        "evaluate/graph.py",
        "graph/noisy_ls.py",
        "graph/recursive.py",
        "graph/subgraph_count.py",
    }
    # The statistics of formulas, which their query evaluates.
    statistics = {"graph/unit_statistics.py", "mechanisms/expression/fixed.py"}
    assert outside == doors | custodian | statistics


def test_what_queries_keep_is_kept_by_engines():
    homes = {name for name, tree in guards.sources() if guards.stores(tree)}
    assert homes == {"engines/recall.py"}, homes


def test_the_text_of_the_project_stands_on_its_own():
    pattern = re.compile(r"\.\./shared|shared/spec|shared/seeds|issue #?\d")
    files = [
        path
        for folder in ("src", "tests", "docs", "benchmarks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".toml", ".html"}
        and path != Path(__file__)
        # What is bad on purpose need not be text.
        and "corpus" not in path.parts
    ]
    files += [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    assert not [str(path) for path in files if pattern.search(path.read_text())]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_declares_its_parameters_and_has_no_default_epsilon(name):
    method = resolve(name)
    declared = {item.name: item for item in fields(method)}
    assert next(iter(declared)) == "epsilon"
    assert declared["epsilon"].default is MISSING
    assert all("constraint" in item.metadata for item in declared.values())
    assert method.__doc__ and "Privacy:" in method.__doc__


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_has_a_proof_whose_page_exists(name):
    page = ROOT / "docs" / "proofs" / resolve(name).proof
    assert page.is_file()


def test_importing_the_package_is_light():
    code = (
        "import sys, sfumato\n"
        "heavy = {'numba', 'polars', 'pandas', 'matplotlib', 'scipy', 'duckdb', 'sklearn'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_imported():
    import sfumato
    from sfumato.catalogue import PUBLIC_NAMES

    assert set(sfumato.__all__) == {*PUBLIC_NAMES, "__version__"}
    for name in sfumato.__all__:
        assert getattr(sfumato, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = sfumato.Nonsense


def test_packages_are_reached_by_their_names_and_loaded_when_they_are_used():
    code = (
        "import sys, sfumato as sf\n"
        "from sfumato.catalogue import LOCAL_METHODS, PACKAGES\n"
        "assert {*PACKAGES} <= {*dir(sf)} and not {*PACKAGES} - {'audit'} & {*sf.__all__}\n"
        "early = {f'sfumato.{name}' for name in PACKAGES if name != 'noise'} & {*sys.modules}\n"
        "assert not early, early\n"
        "for name in PACKAGES: assert getattr(sf, name) is not None\n"
        "for name in LOCAL_METHODS: assert getattr(sf.local, name).__name__ == name\n"
        "assert sf.evaluate.table.evaluate and not hasattr(sf.evaluate, 'nonsense')\n"
        "print(sf.noise.__name__, sf.local.UnaryEncoding.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["sfumato.noise", "sfumato.local.unary"]


def test_no_compiled_loop_lets_the_compiler_reorder_or_merge():
    """What a record becomes may not depend on where it stands (docs/proofs/regression-rows.md)."""
    for name, tree in guards.sources():
        words = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
        assert not words & {"fastmath", "error_model", "parallel"}, name


def test_files_are_read_with_a_limit():
    found = {name: guards.whole_reads(tree) for name, tree in guards.sources()}
    assert {name for name, places in found.items() if places} == set(guards.WHOLE_READERS)


@pytest.mark.parametrize(
    "planted",
    ["path.read_text()", "path.read_bytes()", "file.read()", "file.readline()", "open(p).read()"],
)
def test_a_file_that_is_read_without_a_limit_is_found(planted):
    assert guards.whole_reads(ast.parse(planted))
    assert not guards.whole_reads(ast.parse("file.read(2**20)"))
