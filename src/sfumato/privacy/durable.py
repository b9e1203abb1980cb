"""Files that are still there after a power cut.

A file is durable once its content and the folder that names it are synced; a name alone, or a
content alone, may be lost.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has other locks
    fcntl = None  # type: ignore[assignment]


def write_synced(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a new file and sync its content; its name is durable once its folder is synced."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_synced(path: Path, content: bytes) -> None:
    """Put a file in the place of another, for its owner alone: whole, or not at all."""
    descriptor, draft = tempfile.mkstemp(prefix=".sfumato-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def sync_folder(folder: Path) -> None:
    """Make durable which names a folder holds."""
    # Only POSIX opens folders; elsewhere names are durable with their files.
    if os.name != "posix":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        # Drives that cannot sync a folder say so, and one that may not be read cannot be synced.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM):
            raise


def make_folder(folder: Path) -> list[Path]:
    """Make a folder and those above it, durably or not at all; return those that were missing."""
    made: list[Path] = []
    try:
        for place in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
            # Another process may make the same ones now.
            with contextlib.suppress(FileExistsError):
                place.mkdir()
                made.append(place)
                sync_folder(place.parent)
    except BaseException:
        for place in reversed(made):
            with contextlib.suppress(OSError):
                place.rmdir()
        raise
    return made


def allocate(descriptor: int, size: int) -> None:
    """Give a file room on the disk, so that so many bytes can be written later."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:  # pragma: no cover - macOS and Windows
        os.write(descriptor, bytes(size))
        os.lseek(descriptor, 0, os.SEEK_SET)
    os.fsync(descriptor)


def lock(descriptor: int) -> bool:
    """Lock a file or a folder until it is closed; tell whether nobody else had.

    Where the drive or the system has no such locks, everybody is told so.
    """
    if fcntl is None:  # pragma: no cover
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
