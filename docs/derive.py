"""Everything that follows from the classes of the package and from the heads of proof pages.

A method is declared by its class and proved by its page. `make derive` writes the rest:

- src/sfumato/places.py: where each method, and the public part of each kind of data, lives;
- src/sfumato/__init__.pyi and src/sfumato/local/__init__.pyi: the public names, for type checkers
  and editors;
- the methods of docs/reference.md, by folder;
- the pages of docs/proofs/index.md and of the site's navigation (mkdocs.yml).

`python docs/derive.py --check` writes nothing and fails where one of them is out of date. In pages,
what is derived stands between two comments; the words around it are written by hand.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NOTICE = "Derived by `make derive`; changes by hand are lost."
BEGIN, END = "<!-- derived: make derive -->", "<!-- end of what is derived -->"
#: The longest line of a Python file.
LONGEST = 100
#: Parameters of a method that the reference shows; of more, the first ones.
SHOWN = 6

Texts = dict[Path, str]


@cache
def import_package() -> None:
    """Import all modules of the package."""
    import sfumato

    for module in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
        importlib.import_module(module.name)


def find_below(kind: Any) -> set[Any]:
    """Return a class and all of its subclasses."""
    return {kind, *(found for child in kind.__subclasses__() for found in find_below(child))}


def find_concrete(*bases: Any, package: str = "sfumato.") -> list[Any]:
    """Return all concrete subclasses that the modules of a package define, by their names."""
    import_package()
    found = {kind for base in bases for kind in find_below(base)}
    own = [kind for kind in found if kind.__module__.startswith(package)]
    return sorted((kind for kind in own if not inspect.isabstract(kind)), key=str)


def find_methods() -> list[Any]:
    """Return every concrete method."""
    from sfumato.privacy.method import Method

    return find_concrete(Method)


def find_public_parts() -> dict[str, Any]:
    """Return the public part of each kind of data: the class that states the kind."""
    import_package()
    found: dict[str, Any] = {}
    for name, module in sorted(sys.modules.items()):
        things: list[Any] = [*vars(module).values()] if name.startswith("sfumato.") else []
        for kind in things:
            if inspect.isclass(kind) and kind.__module__ == name and _is_public_part(kind):
                assert found.setdefault(kind.kind, kind) is kind, f"two public parts: {kind.kind}"
    return dict(sorted(found.items()))


def _is_public_part(kind: Any) -> bool:
    return "kind" in vars(kind) and hasattr(kind, "assumptions") and hasattr(kind, "from_json")


def place_of(thing: Any) -> str:
    """Return where a class or function lives."""
    return f"{thing.__module__}:{thing.__qualname__}"


def first_sentence(thing: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def folder_of(method: Any) -> str:
    """Return the folder of the package that a method lives in."""
    return str(method.__module__.split(".")[1])


def list_folders() -> list[str]:
    """Return the folders of the package from the lowest layer up, as import-linter has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    layers = [layer.split(" | ") for layer in reversed(contract["layers"])]
    return [folder for layer in layers for folder in layer]


def title_of(folder: str) -> tuple[str, str]:
    """Return what a folder is called and what it holds: the two parts of its first sentence."""
    title, _, rest = first_sentence(importlib.import_module(f"sfumato.{folder}")).partition(": ")
    return title, rest[:1].upper() + rest[1:]


# The package


def write_entry(name: str, place: str) -> str:
    """Return a line of a dictionary, which cannot be broken."""
    line = f'    "{name}": "{place}",'
    return line if len(line) <= LONGEST else f"{line}  # noqa: E501"


def write_places(methods: Iterable[Any], parts: Mapping[str, Any]) -> str:
    """Return the module that tells where methods and public parts live."""
    named = {f"{method.kind}.{method.__name__}": place_of(method) for method in methods}
    return "\n".join(
        [
            f'"""Where methods and public parts live. {NOTICE}"""',
            "",
            "#: Method name in certificates and ledgers → where it lives.",
            "METHODS = {",
            *(write_entry(name, place) for name, place in sorted(named.items())),
            "}",
            "",
            "#: The public part of each kind of data → where it lives.",
            "PUBLIC_PARTS = {",
            *(write_entry(kind, place_of(part)) for kind, part in parts.items()),
            "}",
            "",
        ]
    )


def by_type(name: str) -> tuple[int, str]:
    """Return what names are sorted by: constants, classes, others."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def write_stub(
    names: Mapping[str, str], packages: Iterable[str] = (), version: bool = False
) -> str:
    """Return a stub that imports public names.

    Parameters
    ----------
    names
        The names, and where they live.
    packages
        Packages of sfumato that are reached as attributes.
    version
        Whether the package states its version.
    """
    modules: dict[str, list[str]] = {}
    for name, place in names.items():
        if name not in packages:
            modules.setdefault(place.partition(":")[0], []).append(name)
    lines = [f"# {NOTICE}"]
    lines += [f"from sfumato import {name} as {name}" for name in sorted(packages)]
    for module, found in sorted(modules.items()):
        found.sort(key=by_type)
        line = f"from {module} import {', '.join(found)}"
        if len(line) > LONGEST:
            line = "\n".join([f"from {module} import (", *(f"    {name}," for name in found), ")"])
        lines.append(line)
    listed = sorted([*names, *(["__version__"] if version else [])], key=by_type)
    lines += ["", "__version__: str"] if version else []
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in listed), "]", ""]
    return "\n".join(lines)


def derive_package() -> Texts:
    """Return the files of the package that are derived."""
    from sfumato import catalogue, local

    methods = find_methods()
    # A local method is public in its own package.
    own = {kind.__name__: place_of(kind) for kind in methods if folder_of(kind) == "local"}
    top = {kind.__name__: place_of(kind) for kind in methods if folder_of(kind) != "local"}
    others = {
        name: place_of(getattr(local, name))
        for name in vars(local)["__all__"]
        if name not in catalogue.LOCAL_METHODS
    }
    package = ROOT / "src" / "sfumato"
    return {
        package / "places.py": write_places(methods, find_public_parts()),
        package / "__init__.pyi": write_stub(
            catalogue.OTHER_NAMES | top, catalogue.PACKAGES, version=True
        ),
        package / "local" / "__init__.pyi": write_stub(others | own),
    }


# The pages


def replace_derived(page: Path, lines: Iterable[str]) -> str:
    """Return a page with other lines between its two comments."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page.name} must hold the two comments {BEGIN} and {END}")
    return "\n".join([before + BEGIN, "", *lines, "", END + after])


def write_method(method: Any) -> str:
    """Return the line of a method in the reference."""
    package = "sf.local" if folder_of(method) == "local" else "sf"
    own = inspect.get_annotations(method)
    names = [
        item.name
        for item in sorted(
            fields(method),
            # Epsilon, what has no default, what the class itself declares, what it inherits.
            key=lambda item: (
                item.name != "epsilon",
                item.default is not MISSING,
                item.name not in own,
            ),
        )
    ]
    shown = [f"{name}=…" for name in names[:SHOWN]] + ["…"] * (len(names) > SHOWN)
    summary = first_sentence(method).replace("|", r"\|")
    return f"| `{package}.{method.__name__}({', '.join(shown)})` | {summary} |"


def write_reference(methods: Iterable[Any]) -> list[str]:
    """Return the tables of all methods, one for each folder."""
    found = list(methods)
    lines: list[str] = []
    for folder in list_folders():
        own = sorted(
            (method for method in found if folder_of(method) == folder),
            key=lambda method: str(method.__name__.lower()),
        )
        if own:
            title, holds = title_of(folder)
            head = ["| method | what it is or does |", "|---|---|"]
            lines += ["", f"### {title}", "", holds, "", *head, *map(write_method, own)]
    return lines[1:]


@dataclass(frozen=True)
class ProofPage:
    """A proof page, as its head describes it.

    Parameters
    ----------
    name
        The name of its file.
    title, summary
        Its heading, and what it proves.
    folder
        The folder of the methods that it proves, or else the one that most of its code is in.
    """

    name: str
    title: str
    summary: str
    folder: str

    @classmethod
    def read(cls, path: Path, methods: Iterable[Any]) -> ProofPage:
        """Return a page; `docs/proofs/stamp.py` refuses another head."""
        _, head, text = path.read_text(encoding="utf-8").split("---\n", 2)
        (summary,) = re.findall(r"^summary: (.+)$", head, re.MULTILINE)
        (title, *_) = re.findall(r"^# (.+)$", text, re.MULTILINE)
        files = Counter(re.findall(r"^  - src/sfumato/(\w+)/", head, re.MULTILINE))
        proved = {folder_of(method) for method in methods if method.proof == path.name}
        folder = proved.pop() if len(proved) == 1 else files.most_common(1)[0][0]
        return cls(path.name, title, summary, folder)


@cache
def read_proofs() -> dict[str, list[ProofPage]]:
    """Return the proof pages of each folder, from the lowest layer up, by their titles."""
    methods = find_methods()
    pages = [
        ProofPage.read(path, methods)
        for path in (ROOT / "docs" / "proofs").glob("*.md")
        if path.name != "index.md"
    ]
    pages.sort(key=lambda page: page.title.lower())
    grouped = {name: [page for page in pages if page.folder == name] for name in list_folders()}
    return {name: found for name, found in grouped.items() if found}


def write_index(methods: Iterable[Any]) -> list[str]:
    """Return the tables of all proof pages, with the methods that name them."""
    found = list(methods)
    lines: list[str] = []
    for folder, pages in read_proofs().items():
        title, holds = title_of(folder)
        lines += ["", f"## {title}", "", holds, "", "| page | what it proves | methods |"]
        lines.append("|---|---|---|")
        for page in pages:
            names = sorted(f"`{kind.__name__}`" for kind in found if kind.proof == page.name)
            lines.append(f"| [{page.title}]({page.name}) | {page.summary} | {', '.join(names)} |")
    return lines[1:]


def write_navigation() -> str:
    """Return the site's settings with all proof pages, which come last."""
    before, begin, _ = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("  - Proofs:\n")
    lines = ["      - Overview: proofs/index.md"]
    for folder, pages in read_proofs().items():
        lines.append(f"      - {title_of(folder)[0]}:")
        # Between quotation marks a title may hold a colon.
        lines += [f'          - "{page.title}": proofs/{page.name}' for page in pages]
    return before + begin + "\n".join(lines) + "\n"


def derive_pages() -> Texts:
    """Return the pages of which a part is derived."""
    methods = find_methods()
    reference, index = ROOT / "docs" / "reference.md", ROOT / "docs" / "proofs" / "index.md"
    return {
        reference: replace_derived(reference, write_reference(methods)),
        index: replace_derived(index, write_index(methods)),
        ROOT / "mkdocs.yml": write_navigation(),
    }


def find_stale() -> Texts:
    """Return the files that differ from what is derived, as they should be."""
    texts = derive_package() | derive_pages()
    return {
        path: text
        for path, text in texts.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }


def main(arguments: list[str]) -> int:
    """Write what is out of date, or only name it."""
    from sfumato.privacy import registry

    # A class that has moved is no longer where the old places say.
    registry._places.clear()
    stale = find_stale()
    for path, text in stale.items():
        if arguments == ["--check"]:
            print(f"{path.relative_to(ROOT)} is out of date: run make derive")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)} is written")
    return 1 if stale and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
