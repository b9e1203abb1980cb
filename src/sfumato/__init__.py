"""Turn private data of almost any shape into something safe to publish.

The public names are those of `sfumato.catalogue`, imported when they are first used; everything
else may change. Type checkers and editors read them in `__init__.pyi`, which `make derive` writes.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sfumato.catalogue import PACKAGES, PUBLIC_NAMES, load_name
from sfumato.privacy import forks as forks  # Notices forks from the first import on.

__version__ = "0.1.0"

# Packages are left out: one of them needs an extra, and `import *` loads all that is listed.
__all__ = sorted([*PUBLIC_NAMES, "__version__"])


def __getattr__(name: str) -> Any:
    """Import a public name or a package when it is first used."""
    # The package audit is callable: it stands for its function, too.
    if name in PACKAGES:
        return import_module(f"sfumato.{name}")
    return load_name("sfumato", PUBLIC_NAMES, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *PACKAGES})
