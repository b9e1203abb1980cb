"""What a disk may hold after a power cut.

A change is on the disk for certain only once it is synced: the content of a file when the file is,
a name when the folder is that holds it. Of everything later the disk may hold any part, in any
order, and of a write the first sectors alone. This is harsher than file systems in use, which write
names in their order.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512


@dataclass(frozen=True)
class Change:
    """One change that a program made, as the shim wrote it down in `length` bytes."""

    what: str
    inode: int
    offset: int
    first: str
    second: str
    data: bytes
    length: int


def read_trace(content: bytes) -> list[Change]:
    """Return all changes of a trace."""
    changes, place = [], 0
    while place < len(content):
        end = content.index(b"\n", place)
        what, *numbers = content[place:end].split()
        inode, offset, *sizes = map(int, numbers)
        start, place = place, end + 1
        parts = []
        for size in sizes:
            parts.append(content[place : place + size])
            place += size
        first, second = os.fsdecode(parts[0]), os.fsdecode(parts[1])
        changes.append(Change(what.decode(), inode, offset, first, second, parts[2], place - start))
    return changes


@dataclass
class _File:
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Change] = field(default_factory=list)


@dataclass
class _Naming:
    """One change of names: in one folder or, for a move, in two, as one."""

    sets: dict[tuple[int, str], int]
    removes: list[tuple[int, str]]


@dataclass
class _Folder:
    durable: dict[str, int] = field(default_factory=dict)


class Disk:
    """A disk that may lose what was not synced.

    Parameters
    ----------
    root
        The folder to begin with: all that is in it is on the disk for certain.
    """

    def __init__(self, root: Path) -> None:
        self._files: dict[int, _File] = {}
        self._folders: dict[int, _Folder] = {}
        self._namings: list[_Naming] = []
        # What the running program sees: names to inodes, by the path of the folder.
        self._seen: dict[str, int] = {}
        self._root = self._load(root)

    def _load(self, path: Path) -> int:
        inode = path.lstat().st_ino
        self._seen[str(path)] = inode
        if path.is_dir():
            self._folders[inode] = _Folder({item.name: self._load(item) for item in path.iterdir()})
        else:
            self._files[inode] = _File(bytearray(path.read_bytes()))
        return inode

    def _place(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        return self._seen[folder], name

    def apply(self, change: Change) -> None:
        """Have the program make one change."""
        getattr(self, f"_{change.what}")(change)

    def _create(self, change: Change) -> None:
        self._files[change.inode] = _File()
        self._name(change.first, change.inode)

    def _mkdir(self, change: Change) -> None:
        self._folders[change.inode] = _Folder()
        self._name(change.first, change.inode)

    def _name(self, path: str, inode: int) -> None:
        self._namings.append(_Naming({self._place(path): inode}, []))
        self._seen[path] = inode

    def _link(self, change: Change) -> None:
        self._name(change.second, self._seen[change.first])

    def _unlink(self, change: Change) -> None:
        self._namings.append(_Naming({}, [self._place(change.first)]))
        del self._seen[change.first]

    def _rename(self, change: Change) -> None:
        inode = self._seen[change.first]
        places = self._place(change.first), self._place(change.second)
        self._namings.append(_Naming({places[1]: inode}, [places[0]]))
        for path in [path for path in self._seen if (path + "/").startswith(change.first + "/")]:
            self._seen[change.second + path[len(change.first) :]] = self._seen.pop(path)

    def _write(self, change: Change) -> None:
        self._files[change.inode].pending.append(change)

    _truncate = _write

    def _sync(self, change: Change) -> None:
        if change.inode in self._files:
            file = self._files[change.inode]
            for pending in file.pending:
                _change(file.durable, pending)
            file.pending.clear()
            return
        rest = []
        for naming in self._namings:
            places = [*naming.sets, *naming.removes]
            if any(folder == change.inode for folder, _ in places):
                _rename(self._folders, naming)
            else:
                rest.append(naming)
        self._namings = rest

    def after_a_cut(self, home: Path, choice: random.Random, share: float) -> None:
        """Write what the disk may hold after the power was cut now.

        Parameters
        ----------
        home
            A new folder.
        choice, share
            Which part of what was not synced is there, and about how much of it.
        """
        folders = {inode: _Folder(dict(item.durable)) for inode, item in self._folders.items()}
        for naming in self._namings:
            if choice.random() < share:
                _rename(folders, naming)
        self._put(home, self._root, folders, choice, share)

    def _put(
        self,
        place: Path,
        inode: int,
        folders: dict[int, _Folder],
        choice: random.Random,
        share: float,
    ) -> None:
        if inode in folders:
            place.mkdir()
            for name, item in folders[inode].durable.items():
                self._put(place / name, item, folders, choice, share)
            return
        content = bytearray(self._files[inode].durable)
        for pending in self._files[inode].pending:
            if choice.random() < share:
                _change(content, pending)
            elif pending.what == "write" and choice.random() < 0.25:
                sectors = choice.randrange(len(pending.data) // SECTOR + 1)
                _change(content, pending, sectors * SECTOR)
        place.write_bytes(content)


def _change(content: bytearray, change: Change, length: int | None = None) -> None:
    """Change the content of a file; of a write, only its first bytes where a length is given."""
    if change.what == "truncate":
        del content[change.offset :]
        content.extend(bytes(change.offset - len(content)))
        return
    data = change.data[:length]
    content.extend(bytes(max(0, change.offset - len(content))))
    content[change.offset : change.offset + len(data)] = data


def _rename(folders: dict[int, _Folder], naming: _Naming) -> None:
    for folder, name in naming.removes:
        folders[folder].durable.pop(name, None)
    for (folder, name), inode in naming.sets.items():
        folders[folder].durable[name] = inode
