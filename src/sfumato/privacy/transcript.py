"""The transcript: everything the primitives said, and nothing else.

A release is a function of what is public and of this. It is written as plain JSON and NPZ arrays,
each transcript in one way only, on every platform; reading it back never executes anything.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.noise.exact import exact
from sfumato.privacy.canonical import canonical, digest

_ARRAY_KINDS = "biuf"
TRANSCRIPT_FILES = ("transcript.json", "transcript.npz")
FORMAT = 2
#: Every member of an archive bears this date, the first that the format knows.
_DATE = (1980, 1, 1, 0, 0, 0)

#: A transcript that unpacks to more than this is not read.
LARGEST_BYTES = 2**32

#: Marks of transcripts that make no private release.
SEEDED = "seeded"
REHEARSED = "rehearsed"


@dataclass(frozen=True)
class Entry:
    """What one primitive said.

    Parameters
    ----------
    label
        The name the method gave to this measurement; unique within a transcript.
    path
        The slices of the budget it was paid from, outermost first.
    signature
        The primitive's public signature.
    cost
        What it was charged, as a plain document.
    outputs
        Its outputs: one, or one a step for a stateful primitive.
    """

    label: str
    path: tuple[str, ...]
    signature: dict[str, Any]
    cost: dict[str, str]
    outputs: tuple[Any, ...]


@dataclass(frozen=True)
class Slice:
    """A slice of the budget, as it was cut.

    Parameters
    ----------
    path
        The names of the slices it was cut from, and its own, outermost first.
    limit
        What it may spend, as a plain document.
    part
        Whether it is one of several parallel parts, which share the price of the slice above.
    """

    path: tuple[str, ...]
    limit: dict[str, str]
    part: bool


class Transcript:
    """The outputs of all primitives of one run, in order, and the slices that paid for them."""

    def __init__(
        self,
        entries: tuple[Entry, ...],
        slices: tuple[Slice, ...] = (),
        *,
        marks: tuple[str, ...] = (),
    ) -> None:
        self.entries = entries
        self.slices = slices
        self.marks = marks
        self._by_label = {entry.label: entry for entry in entries}
        if len(self._by_label) != len(entries):
            raise ValueError("two measurements carry the same label")

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __contains__(self, label: str) -> bool:
        return label in self._by_label

    def __getitem__(self, label: str) -> Any:
        """Return the single output of the measurement with that label."""
        (output,) = self._by_label[label].outputs
        return output

    def steps(self, label: str) -> tuple[Any, ...]:
        """Return all outputs of the measurement with that label."""
        return self._by_label[label].outputs

    def to_files(self) -> dict[str, bytes]:
        """Return the transcript as plain files, the same bytes on every platform."""
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        document = self._document(arrays)
        return {TRANSCRIPT_FILES[0]: canonical(document), TRANSCRIPT_FILES[1]: _pack_arrays(arrays)}

    def _document(self, arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
        """Return everything but arrays as a plain document; arrays go into `arrays`."""
        entries = [
            {
                "label": entry.label,
                "path": list(entry.path),
                "signature": entry.signature,
                "cost": entry.cost,
                "outputs": [_encode(output, arrays) for output in entry.outputs],
            }
            for entry in self.entries
        ]
        return {
            "format": FORMAT,
            "entries": entries,
            "marks": list(self.marks),
            "slices": [
                {"path": list(cut.path), "limit": cut.limit, "part": cut.part}
                for cut in self.slices
            ],
        }

    @classmethod
    def from_files(cls, files: dict[str, bytes]) -> Transcript:
        """Return the transcript that `to_files` wrote.

        What it would not have written itself is not looked for here: `surplus` finds it.
        """
        document = json.loads(files[TRANSCRIPT_FILES[0]])
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError("the transcript was written in a format this version does not read")
        marks = tuple(document["marks"])
        if marks not in ((), (SEEDED,), (REHEARSED,), (SEEDED, REHEARSED)):
            raise ValueError("the transcript has an unknown mark")
        arrays = _unpack_arrays(files[TRANSCRIPT_FILES[1]])
        return cls(
            tuple(
                Entry(
                    label=entry["label"],
                    path=tuple(entry["path"]),
                    signature=entry["signature"],
                    cost=entry["cost"],
                    outputs=tuple(_decode(output, arrays) for output in entry["outputs"]),
                )
                for entry in document["entries"]
            ),
            tuple(
                Slice(tuple(cut["path"]), cut["limit"], cut["part"]) for cut in document["slices"]
            ),
            marks=marks,
        )

    def with_mark(self, mark: str) -> Transcript:
        """Return the same transcript with a further mark."""
        return Transcript(self.entries, self.slices, marks=(*self.marks, mark))

    def shape(self) -> list[Any]:
        """Return everything but the outputs: what was asked, and what it was paid from."""
        asked = [
            (entry.label, entry.path, entry.signature, entry.cost, len(entry.outputs))
            for entry in self.entries
        ]
        return [asked, list(self.slices)]

    def digest(self) -> str:
        """Return a hash of everything the transcript says.

        It is taken of the content and not of the files, however they are packed.
        """
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        parts = [canonical(self._document(arrays))]
        for name, array in arrays.items():
            parts.append(f"{name} {array.dtype.str} {array.shape} ".encode())
            parts.append(array.tobytes())
        return digest(b"".join(parts))


def _encode(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return an output as JSON; arrays go into `arrays` and are referred to by name."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"integer": str(value)}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, tuple | list):
        return [_encode(item, arrays) for item in value]
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return {"integers": [str(int(item)) for item in value.ravel()], "shape": value.shape}
        if value.dtype.kind in _ARRAY_KINDS:
            name = f"a{len(arrays):05d}"
            arrays[name] = np.ascontiguousarray(value.astype(value.dtype.newbyteorder("<")))
            return {"array": name, "shape": value.shape, "type": arrays[name].dtype.str}
    if isinstance(value, np.generic):
        return _encode(value.item(), arrays)
    raise TypeError(f"a primitive cannot return a {type(value).__name__}")


def _decode(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return the output that `_encode` wrote."""
    if isinstance(value, list):
        return tuple(_decode(item, arrays) for item in value)
    if not isinstance(value, dict):
        return value
    if "integer" in value:
        return int(value["integer"])
    if "fraction" in value:
        return exact(value["fraction"])
    if "float" in value:
        return float.fromhex(value["float"])
    if "array" in value:
        array = _widen_array(arrays[value["array"]], value["type"], tuple(value["shape"]))
        array.setflags(write=False)
        return array
    if "integers" in value:
        integers = np.array([int(item) for item in value["integers"]], dtype=object)
        integers = integers.reshape(tuple(value["shape"]))
        integers.setflags(write=False)
        return integers
    raise ValueError("the transcript holds an output of an unknown kind")


def settle_output(output: Any) -> Any:
    """Return an output as a reader of the transcript will see it, detached from its maker."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    document = _encode(output, arrays)
    return _decode(document, {name: array.copy() for name, array in arrays.items()})


def _narrow_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array in a line of the narrowest numbers that hold it; of booleans, eight a byte.

    Noisy counts are then about as small as if they were compressed, and written in one way only:
    the bytes of a compressed file depend on who compressed it.
    """
    flat = array.ravel()
    if array.dtype.kind == "b":
        return np.packbits(flat)
    if array.dtype.kind == "f" or flat.size == 0:
        return flat
    low, high = int(flat.min()), int(flat.max())
    limits = (np.iinfo(f"<{array.dtype.kind}{width}") for width in (1, 2, 4, 8))
    return flat.astype(next(fit.dtype for fit in limits if fit.min <= low and high <= fit.max))


def _widen_array(
    array: np.ndarray[Any, Any], kind: str, shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return the array that `_narrow_array` wrote; one that was never narrowed goes through."""
    wide = np.dtype(kind)
    if wide.kind not in _ARRAY_KINDS or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("the transcript holds an array of an unknown kind")
    if wide.kind == "b" and array.dtype == np.uint8:
        if math.prod(shape) > 8 * array.size:
            raise ValueError("the transcript holds an array of another size than it states")
        array = np.unpackbits(array, count=math.prod(shape))
    return array.astype(wide).reshape(shape)


def _pack_arrays(arrays: dict[str, np.ndarray[Any, Any]]) -> bytes:
    """Return arrays as one NPZ archive, in one form: in order, undated, nothing compressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", _DATE)
            member.create_system, member.external_attr = 3, 0o644 << 16
            archive.writestr(member, _member(_narrow_array(array)))
    return buffer.getvalue()


def _member(line: np.ndarray[Any, Any]) -> bytes:
    """Return a line of numbers as an NPY file; NumPy's own header changed between its versions."""
    header = f"{{'descr': '{line.dtype.str}', 'fortran_order': False, 'shape': ({line.size},), }}"
    header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + line.tobytes()


def _line(content: bytes) -> np.ndarray[Any, Any]:
    """Return the line of numbers that `_member` wrote; a header that says more is not believed."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError(f"{TRANSCRIPT_FILES[1]} holds an array in an unknown form")
    shape, _, kind = np.lib.format.read_array_header_1_0(file)
    if (
        kind.kind not in _ARRAY_KINDS
        or len(content) - file.tell() != math.prod(shape) * kind.itemsize
    ):
        raise ValueError(f"{TRANSCRIPT_FILES[1]} holds an array of another size than it states")
    return np.frombuffer(content, kind, offset=file.tell()).reshape(shape)


def _unpack_arrays(content: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of an NPZ archive, still narrow."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > LARGEST_BYTES:
            raise ValueError(f"the transcript unpacks to more than {LARGEST_BYTES:,} bytes")
        for member in members:
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{member.filename} in {TRANSCRIPT_FILES[1]} is compressed")
            arrays[member.filename.removesuffix(".npy")] = _line(archive.read(member))
    return arrays
