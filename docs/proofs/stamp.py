"""Stamps of the proofs: which code each page proves, and whether it has changed since.

A page opens with a list of the files it proves and a stamp of their code (comments, docstrings and
layout do not count). `python docs/proofs/stamp.py --check` fails when code has changed since its
proof was last read; after re-reading the proof, `python docs/proofs/stamp.py` renews the stamps.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

PROOFS = Path(__file__).parent
ROOT = PROOFS.parent.parent
HEAD = re.compile(r"\A---\nproves:\n((?:  - .+\n)+)stamp: (\S+)\n---\n")


def code_of(path: Path) -> str:
    """Return a file's code without docstrings, comment lines and blank lines."""
    text = path.read_text()
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = (
        line.rstrip()
        for number, line in enumerate(text.splitlines(), 1)
        if number not in docstrings
    )
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))


def stamp_of(files: list[str]) -> str:
    """Return the stamp of the code a page proves."""
    code = "\n".join(f"{name}\n{code_of(ROOT / name)}" for name in files)
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def read(page: Path) -> tuple[list[str], str]:
    """Return the files a page proves, and its stamp."""
    match = HEAD.match(page.read_text())
    if match is None:
        raise ValueError(f"{page.name} must open with 'proves:' (a list of files) and 'stamp:'")
    return [line.removeprefix("  - ") for line in match[1].splitlines()], match[2]


def pages() -> list[Path]:
    """Return all proof pages."""
    return sorted(page for page in PROOFS.glob("*.md") if page.name != "index.md")


def stale() -> list[str]:
    """Return the pages whose code has changed since they were stamped."""
    found = []
    for page in pages():
        files, stamp = read(page)
        if stamp_of(files) != stamp:
            found.append(page.name)
    return found


def renew() -> None:
    """Stamp every page with the code as it is now."""
    for page in pages():
        files, stamp = read(page)
        text = page.read_text()
        page.write_text(text.replace(f"stamp: {stamp}\n", f"stamp: {stamp_of(files)}\n", 1))


if __name__ == "__main__":
    if "--check" in sys.argv:
        old = stale()
        for name in old:
            print(f"docs/proofs/{name} is stale: re-read it against the code, then run make stamp")
        sys.exit(1 if old else 0)
    renew()
