"""The folder of a release: made and tried before anything is spent.

A loss that is booked is never refunded, so whatever could keep a release from being saved must show
before. A folder that was there is left as it was; one that was made for nothing is unmade.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.cli.exits import ExitCode, Refusal


@contextmanager
def reserved(out: Path | None) -> Iterator[None]:
    """Make the folder of a release before anything is spent, and unmake it where nothing comes.

    Parameters
    ----------
    out
        A folder that does not exist yet, or is empty; `None` where nothing is saved.
    """
    if out is None:
        yield
        return
    place = _resolved(out)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Refusal(ExitCode.USAGE, f"{out} exists and is not empty; choose another folder")
    missing = [folder for folder in (place, *place.parents) if not folder.exists()]
    made: list[Path] = []
    try:
        for folder in reversed(missing):
            folder.mkdir()
            made.append(folder)
        _try_writing(place)
        yield
    except BaseException:
        _unmake(made)
        raise


def _resolved(out: Path) -> Path:
    """Return the folder that is meant, without links and dots."""
    try:
        return out.resolve()
    except RuntimeError:
        # What Python before 3.13 raises for a link that leads to itself.
        raise Refusal(ExitCode.USAGE, f"{out} is a link that leads nowhere") from None


def _try_writing(folder: Path) -> None:
    """Raise unless folders and files can be made in a folder, and taken away again."""
    with tempfile.TemporaryDirectory(prefix=".sfumato-", dir=folder) as probe:
        (Path(probe) / "probe").write_bytes(b"probe")


def _unmake(folders: list[Path]) -> None:
    """Remove folders that were made one in the other, as far as they are there and empty."""
    for folder in reversed(folders):
        if not folder.exists():
            continue
        if any(folder.iterdir()):
            return
        folder.rmdir()
