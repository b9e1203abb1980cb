"""Stamps of the proofs: which code each page proves, and whether it has changed since.

A page opens with a summary, a list of the files it proves and a stamp of their code (comments,
docstrings and layout do not count). `python docs/proofs/stamp.py --check` fails when code has
changed since its proof was last read, or when code on which privacy rests is on no page. A stamp is
renewed for one page at a time, by whoever has read that page against the code:
`python docs/proofs/stamp.py selection` (`make stamp PAGE=selection`). There is no way to renew all
of them at once.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

PROOFS = Path(__file__).parent
ROOT = PROOFS.parent.parent
HEAD = re.compile(r"\A---\nsummary: .+\nproves:\n((?:  - .+\n)+)stamp: (\S+)\n---\n")

#: Every file of these folders is on some page.
FOLDERS = ("noise", "privacy", "mechanisms", "engines", "data")
#: So is every file elsewhere that measures private data, defines a primitive, or reads data.
MEASURES = re.compile(
    r"^\s+def (program\(|answer\(self, data)|^class \w+\((Stateful)?Primitive\)",
    re.MULTILINE,
)
READERS = ("sklearn/arrays.py", "sklearn/naive_bayes.py")


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
        raise ValueError(
            f"{page.name} must open with 'summary:' (what it proves), 'proves:' (a list of files) "
            "and 'stamp:'"
        )
    files = [line.removeprefix("  - ") for line in match[1].splitlines()]
    missing = [name for name in files if not (ROOT / name).is_file()]
    if missing or len(set(files)) < len(files):
        raise ValueError(f"{page.name} lists a file twice, or one that is gone: {missing}")
    return files, match[2]


def pages() -> list[Path]:
    """Return all proof pages."""
    return sorted(page for page in PROOFS.glob("*.md") if page.name != "index.md")


def is_stale(page: Path) -> bool:
    """Tell whether the code of a page has changed since it was stamped."""
    files, stamp = read(page)
    return stamp_of(files) != stamp


def stale() -> list[str]:
    """Return the pages whose code has changed since they were stamped."""
    return [page.name for page in pages() if is_stale(page)]


def covered() -> set[str]:
    """Return every file that some page proves."""
    return {name for page in pages() for name in read(page)[0]}


def required(source: Path = ROOT / "src" / "sfumato") -> list[str]:
    """Return every file on which privacy rests: each must be on some page.

    A file without code (a package's docstring) needs none.
    """
    found = []
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        rests = name.partition("/")[0] in FOLDERS or name in READERS
        if code_of(path) and (rests or MEASURES.search(path.read_text())):
            found.append(f"src/sfumato/{name}")
    return found


def renew(page: Path) -> None:
    """Stamp one page with the code as it is now."""
    files, stamp = read(page)
    text = page.read_text()
    page.write_text(text.replace(f"stamp: {stamp}\n", f"stamp: {stamp_of(files)}\n", 1))


def main(arguments: list[str]) -> int:
    """Check all pages, or renew those that are named."""
    if arguments == ["--check"]:
        old = stale()
        for name in old:
            page = name.removesuffix(".md")
            print(
                f"docs/proofs/{name} is stale: read it against the code, "
                f"then run make stamp PAGE={page}"
            )
        return 1 if old else 0
    known = {page.stem: page for page in pages()}
    named = [name.removeprefix("docs/proofs/").removesuffix(".md") for name in arguments]
    unknown = [name for name in named if name not in known]
    if not named or unknown:
        for name in unknown:
            print(f"there is no page docs/proofs/{name}.md")
        print("name the page that you have read against the code: make stamp PAGE=selection")
        print("stale:", ", ".join(Path(name).stem for name in stale()) or "none")
        return 2
    for name in named:
        renew(known[name])
        print(f"docs/proofs/{name}.md is stamped:", *read(known[name])[0], sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
