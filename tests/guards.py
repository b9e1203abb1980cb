"""Rules that hold for every source file, as functions that can be shown to fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "sfumato"

RANDOM_MODULES = {"random", "secrets", "uuid"}
RANDOM_ATTRIBUTES = {
    "urandom",
    "getrandom",
    "default_rng",
    "RandomState",
    "SystemRandom",
    "SeedSequence",
    "PCG64",
}
#: Who may name the parts of which a budget is made.
DOOR_PARTS = {"Budget", "_Account", "_KEY"}
DOORS = {"privacy/budget.py", "privacy/door.py"}

#: Who may read a file whole and without a limit, and why.
WHOLE_READERS = {
    "data/graph_reading.py": "the data",
    "data/sequences.py": "the data",
    "engines/files.py": "the data",
    "privacy/certificate.py": "the source code of the package",
    "privacy/door.py": "what is kept beside a ledger, which has its own limit",
    "privacy/forks.py": "what the system tells of a process",
    "privacy/former_words.py": "a file of the package",
    "report/page.py": "a certificate that was checked before",
}


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def _annotations(tree: ast.Module) -> set[int]:
    """Return the identities of all nodes inside annotations: naming a type there opens nothing."""
    found: set[int] = set()
    for node in ast.walk(tree):
        places = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            places.append(node.annotation)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            places.append(node.returns)
        for place in places:
            if place is not None:
                found |= {id(inner) for inner in ast.walk(place)}
    return found


def randomness(tree: ast.Module) -> list[str]:
    """Return every place where a file reaches for randomness of its own."""
    skip = _annotations(tree)
    found = []
    for node in ast.walk(tree):
        if id(node) in skip:
            continue
        if isinstance(node, ast.Import):
            names = [item.name for item in node.names]
            found += [f"{node.lineno}: import {name}" for name in names if _is_random(name)]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{item.name}" for item in node.names)]
            found += [f"{node.lineno}: from {name}" for name in names if _is_random(name)]
        elif isinstance(node, ast.Attribute):
            if node.attr in RANDOM_ATTRIBUTES:
                found.append(f"{node.lineno}: .{node.attr}")
            if node.attr == "random" and getattr(node.value, "id", "") in {"np", "numpy"}:
                found.append(f"{node.lineno}: np.random")
    return found


def _is_random(name: str) -> bool:
    parts = name.split(".")
    return parts[0] in RANDOM_MODULES or parts[-1] in RANDOM_ATTRIBUTES or name == "numpy.random"


def budgets_opened(tree: ast.Module) -> list[str]:
    """Return every place where a file makes a budget, or touches what one is made of."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in DOOR_PARTS:
                found.append(f"{node.lineno}: {name}(…)")
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name == "_KEY":
                found.append(f"{node.lineno}: _KEY")
    return found


def private_probes(tree: ast.Module) -> list[str]:
    """Return every place where a program is run on data, or a query is answered."""
    names = {"run_on_data", "answer_together", "answer_all", "_run"}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            # A session's program has a method `answer` too, which is given what is public.
            given = [getattr(one, "id", getattr(one, "attr", "")) for one in node.args]
            if name in names or (name == "answer" and given in (["data"], ["graph"], ["table"])):
                found.append(f"{node.lineno}: {name}(…)")
    return found


def stores(tree: ast.Module) -> list[str]:
    """Return every dictionary with weak keys, where private values could be kept for later."""
    return [
        f"{node.lineno}: {node.func.id}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.startswith("Weak")
    ]


def whole_reads(tree: ast.Module) -> list[str]:
    """Return every place where a file is read to its end, however large it is."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            bare = name in ("read", "readline") and not node.args and not node.keywords
            if bare or name in ("read_text", "read_bytes", "readlines"):
                found.append(f"{node.lineno}: {name}")
    return found
