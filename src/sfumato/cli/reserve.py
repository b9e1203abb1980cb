"""The folder of a release: made and tried before anything is spent.

A loss that is booked is never refunded, so whatever could keep a release from being saved must show
before: another release into the same folder, and a disk without room, too. A folder that was there
is left as it was; one that was made for nothing is unmade.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.privacy.durable import allocate, lock, make_folder

#: Told how many bytes are to come, raises if there is no room for them.
Room = Callable[[int], None]

#: What is tried where the size of the release is not known.
SOME = 2**20


@contextmanager
def reserve_folder(out: Path | None) -> Iterator[Room]:
    """Make the folder of a release before anything is spent, and unmake it where nothing comes.

    Nobody else can reserve it meanwhile. What is given tries whether so many bytes have room.

    Parameters
    ----------
    out
        A folder that does not exist yet, or is empty; `None` where nothing is saved.
    """
    if out is None:
        yield lambda size: None
        return
    place = _resolve(out)
    made = [] if place.exists() else make_folder(place)
    with _claim(place, out):
        try:
            _try_writing(place, SOME)
            yield lambda size: _try_writing(place, size)
        except BaseException:
            # Under the claim: whoever made the folder, another release may have claimed it since.
            _unmake(made)
            raise


@contextmanager
def _claim(place: Path, out: Path) -> Iterator[None]:
    """Keep other releases out of an empty folder; a claim ends with its process at the latest."""
    in_use = Refusal(ExitCode.USAGE, f"{out} exists and is not empty; choose another folder")
    if not place.is_dir():
        raise in_use
    descriptor = os.open(place, os.O_RDONLY) if os.name == "posix" else None
    try:
        # A folder that was unmade meanwhile can be claimed still, and holds nothing.
        if descriptor is not None and not (lock(descriptor) and _is_at(place, descriptor)):
            raise Refusal(
                ExitCode.USAGE,
                f"another release is being saved in {out}; nothing was spent. Choose another "
                "folder",
            )
        # Looked at under the claim: whoever held it before may have filled the folder.
        if any(place.iterdir()):
            raise in_use
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _is_at(place: Path, descriptor: int) -> bool:
    """Tell whether an open folder is still the one of that name."""
    try:
        return os.path.samestat(os.stat(place), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _resolve(out: Path) -> Path:
    """Return the folder that is meant, without links and dots."""
    try:
        return out.resolve()
    except RuntimeError:
        # What Python before 3.13 raises for a link that leads to itself.
        raise Refusal(ExitCode.USAGE, f"{out} is a link that leads nowhere") from None


def _try_writing(folder: Path, size: int) -> None:
    """Raise unless so many bytes can be written in a folder, and taken away again."""
    with tempfile.TemporaryDirectory(prefix=".sfumato-", dir=folder) as probe:
        path = Path(probe) / "probe"
        try:
            with path.open("wb") as file:
                allocate(file.fileno(), size)
        except OSError as error:
            raise Refusal(
                ExitCode.FILE,
                f"{folder}: {error.strerror}. About {size / 1e6:,.1f} MB must be free for the "
                "release; nothing was spent. Make room, or choose another folder",
            ) from error


def _unmake(folders: list[Path]) -> None:
    """Remove folders that were made one in the other, as far as they are there and empty."""
    for folder in reversed(folders):
        if not folder.exists():
            continue
        if any(folder.iterdir()):
            return
        folder.rmdir()
