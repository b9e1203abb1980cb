"""Ways to hide something in a saved release, for those who test that none of them works.

A smuggler rewrites files and certificate, and computes every hash anew, as somebody without the
custodian's key can. What primitives said is not touched: with other outputs it is another release.
"""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.privacy import saved
from sfumato.privacy.canonical import canonical, digest
from sfumato.privacy.certificate import seal
from sfumato.privacy.saved import NotARelease, pretty, verify

Files = dict[str, bytes]
Way = Callable[[Files, dict[str, Any], random.Random], None]

CERTIFICATE = "certificate.json"
SECRET = "Ada Lovelace, 36, HIV"
#: Files that are written as indented JSON.
PRETTY = ("public.json",)


class NothingToDo(Exception):
    """A release has no place for this way."""


def read_folder(folder: Path) -> tuple[Files, dict[str, Any]]:
    """Return the files of a saved release, and its certificate."""
    files = {place.name: place.read_bytes() for place in sorted(folder.iterdir())}
    return files, json.loads(files.pop(CERTIFICATE))


def write_folder(folder: Path, files: Files, document: dict[str, Any]) -> None:
    """Write a folder with hashes that fit: unsigned, as a forger must."""
    for place in folder.iterdir():
        place.unlink()
    hashed = {name: digest(content) for name, content in files.items() if name != "report.html"}
    body = {name: item for name, item in document.items() if name not in ("digest", "signature")}
    body["files"] = dict(sorted(hashed.items()))
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / CERTIFICATE).write_bytes(pretty(seal(body, None)))


def is_caught(folder: Path, **options: Any) -> bool:
    """Tell whether a folder fails its check."""
    try:
        return not verify(folder, **options).passed
    except NotARelease:
        return True


def _json(files: Files, name: str, edit: Callable[[Any], None]) -> None:
    """Edit a JSON file and write it in the form it had."""
    document = json.loads(files[name])
    edit(document)
    files[name] = pretty(document) if name in PRETTY else canonical(document)


def _members(content: bytes) -> list[tuple[zipfile.ZipInfo, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(member, archive.read(member)) for member in archive.infolist()]


def _archive(files: Files, edit: Callable[[list[Any], zipfile.ZipFile], None]) -> None:
    """Pack the archive again; `edit` changes its members, or the archive when all are in."""
    members = _members(files["transcript.npz"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        edit(members, archive)
        for member, content in members:
            archive.writestr(member, content)
    files["transcript.npz"] = buffer.getvalue()


def _array(name: str) -> tuple[zipfile.ZipInfo, bytes]:
    import numpy as np

    content = io.BytesIO()
    np.save(content, np.frombuffer(SECRET.encode(), dtype=np.uint8))
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content.getvalue()


# Members of the archive.


def extra_member(files: Files, document: Any, chance: random.Random) -> None:
    def edit(members: list[Any], archive: Any) -> None:
        name = f"a{chance.choice([len(members), 99999, 7777])}.npy"
        members.insert(chance.randrange(len(members) + 1), _array(name))

    _archive(files, edit)


def text_member(files: Files, document: Any, chance: random.Random) -> None:
    note = zipfile.ZipInfo("notes.txt", (1980, 1, 1, 0, 0, 0))
    _archive(files, lambda members, archive: members.append((note, SECRET.encode())))


def archive_comment(files: Files, document: Any, chance: random.Random) -> None:
    def edit(members: list[Any], archive: Any) -> None:
        archive.comment = SECRET.encode()

    _archive(files, edit)


def member_comment(files: Files, document: Any, chance: random.Random) -> None:
    def edit(members: list[Any], archive: Any) -> None:
        if not members:
            raise NothingToDo
        chance.choice(members)[0].comment = SECRET.encode()

    _archive(files, edit)


def member_extra(files: Files, document: Any, chance: random.Random) -> None:
    def edit(members: list[Any], archive: Any) -> None:
        if not members:
            raise NothingToDo
        field = b"\xfe\xca" + len(SECRET).to_bytes(2, "little") + SECRET.encode()
        chance.choice(members)[0].extra = field

    _archive(files, edit)


def member_date(files: Files, document: Any, chance: random.Random) -> None:
    def edit(members: list[Any], archive: Any) -> None:
        if not members:
            raise NothingToDo
        chance.choice(members)[0].date_time = (1999, chance.randint(1, 12), 2, 3, 4, 6)

    _archive(files, edit)


def member_compressed(files: Files, document: Any, chance: random.Random) -> None:
    def edit(members: list[Any], archive: Any) -> None:
        if not members:
            raise NothingToDo
        chance.choice(members)[0].compress_type = zipfile.ZIP_DEFLATED

    _archive(files, edit)


def member_longer(files: Files, document: Any, chance: random.Random) -> None:
    def edit(members: list[Any], archive: Any) -> None:
        if not members:
            raise NothingToDo
        place = chance.randrange(len(members))
        members[place] = (members[place][0], members[place][1] + SECRET.encode())

    _archive(files, edit)


def member_header(files: Files, document: Any, chance: random.Random) -> None:
    def edit(members: list[Any], archive: Any) -> None:
        if not members:
            raise NothingToDo
        place = chance.randrange(len(members))
        member, content = members[place]
        members[place] = (member, content.replace(b"'shape'", b' "shape"', 1).replace(b"' ", b"'"))
        if members[place][1] == content:
            raise NothingToDo

    _archive(files, edit)


def archive_around(files: Files, document: Any, chance: random.Random) -> None:
    content = files["transcript.npz"]
    files["transcript.npz"] = chance.choice(
        [content + SECRET.encode(), SECRET.encode() + content, content + b"\0"]
    )


# Keys of documents.


def _anywhere(document: Any, chance: random.Random) -> Any:
    """Return a random dictionary inside a document."""
    found = [document]
    for inner in found:
        items = inner.values() if isinstance(inner, dict) else inner
        found += [item for item in items if isinstance(item, dict | list)]
    return chance.choice([item for item in found if isinstance(item, dict)])


def key_in_transcript(files: Files, document: Any, chance: random.Random) -> None:
    _json(files, "transcript.json", lambda d: _anywhere(d, chance).update(note=SECRET))


def key_in_public(files: Files, document: Any, chance: random.Random) -> None:
    _json(files, "public.json", lambda d: _anywhere(d, chance).update(note=SECRET))


def key_in_data(files: Files, document: Any, chance: random.Random) -> None:
    names = [n for n in ("network.json", "model.json", "cells.geojson") if n in files]
    if not names:
        raise NothingToDo
    name = chance.choice(names)
    text = files[name].decode()
    end = text.rindex("}")
    files[name] = (text[:end].rstrip("\n") + f',"note":"{SECRET}"' + text[end:]).encode()


def key_in_certificate(files: Files, document: Any, chance: random.Random) -> None:
    inner = chance.choice(["plan", "guarantee", "parameters", "versions", "public", "step"])
    place = document["plan"]["steps"][0] if inner == "step" else document[inner]
    place["note"] = SECRET


def key_in_ledger(files: Files, document: Any, chance: random.Random) -> None:
    if document["ledger"] is None:
        raise NothingToDo
    document["ledger"]["note"] = SECRET


def blank_in_json(files: Files, document: Any, chance: random.Random) -> None:
    name = chance.choice(["transcript.json", "public.json"])
    files[name] = files[name].replace(b":", b": ", 1) + b" " * chance.randint(0, 3)


def doubled_key(files: Files, document: Any, chance: random.Random) -> None:
    name = chance.choice(["transcript.json", "public.json"])
    files[name] = files[name].replace(b"{", f'{{"format": "{SECRET}",'.encode(), 1)


# Rows of tables.


def _tables(files: Files) -> list[str]:
    return sorted(name for name in files if name.endswith(".csv"))


def _lines(files: Files, chance: random.Random, edit: Callable[[list[bytes]], None]) -> None:
    name = chance.choice(_tables(files))
    lines = files[name].split(b"\n")
    edit(lines)
    content = b"\n".join(lines)
    if content == files[name]:
        raise NothingToDo
    files[name] = content


def row_appended(files: Files, document: Any, chance: random.Random) -> None:
    _lines(files, chance, lambda lines: lines.insert(len(lines) - 1, chance.choice(lines[1:-1])))


def row_inserted(files: Files, document: Any, chance: random.Random) -> None:
    cells = SECRET.encode()
    _lines(files, chance, lambda lines: lines.insert(chance.randrange(1, len(lines)), cells))


def rows_replaced(files: Files, document: Any, chance: random.Random) -> None:
    def edit(lines: list[bytes]) -> None:
        for _ in range(chance.randint(1, 2)):
            lines[chance.randrange(1, len(lines) - 1)] = SECRET.encode()

    _lines(files, chance, edit)


def row_of_others(files: Files, document: Any, chance: random.Random) -> None:
    def edit(lines: list[bytes]) -> None:
        lines[chance.randrange(1, len(lines) - 1)] = lines[chance.randrange(1, len(lines) - 1)]

    _lines(files, chance, edit)


def row_dropped(files: Files, document: Any, chance: random.Random) -> None:
    _lines(files, chance, lambda lines: lines.pop(chance.randrange(1, len(lines) - 1)))


def rows_swapped(files: Files, document: Any, chance: random.Random) -> None:
    def edit(lines: list[bytes]) -> None:
        place = chance.randrange(1, len(lines) - 2)
        lines[place], lines[place + 1] = lines[place + 1], lines[place]

    _lines(files, chance, edit)


def blank_line(files: Files, document: Any, chance: random.Random) -> None:
    _lines(files, chance, lambda lines: lines.append(b""))


def line_ends(files: Files, document: Any, chance: random.Random) -> None:
    _lines(files, chance, lambda lines: lines.__setitem__(0, lines[0] + b"\r"))


def column_added(files: Files, document: Any, chance: random.Random) -> None:
    name = chance.choice(_tables(files))
    lines = files[name].split(b"\n")
    files[name] = b"\n".join([line + b"," if line else line for line in lines])


# Digits.

_FLOAT = re.compile(rb"(?<![\w.])-?\d+\.\d+(?![\w.])")


def _floats(files: Files) -> list[tuple[str, re.Match[bytes]]]:
    places = [n for n in sorted(files) if n.endswith((".csv", ".json", ".geojson"))]
    places = [n for n in places if n not in ("transcript.json", "public.json")]
    return [(name, match) for name in places for match in _FLOAT.finditer(files[name])]


def _one_float(files: Files, chance: random.Random, edit: Callable[[bytes], bytes]) -> None:
    found = _floats(files)
    if not found:
        raise NothingToDo
    name, match = chance.choice(found)
    content = files[name]
    files[name] = content[: match.start()] + edit(match[0]) + content[match.end() :]


def digit_appended(files: Files, document: Any, chance: random.Random) -> None:
    _one_float(files, chance, lambda text: text + str(chance.randint(0, 9)).encode())


def digits_appended(files: Files, document: Any, chance: random.Random) -> None:
    _one_float(files, chance, lambda text: text + b"000000000" + str(len(SECRET)).encode())


def last_digit_moved(files: Files, document: Any, chance: random.Random) -> None:
    _one_float(files, chance, lambda t: t[:-1] + str((int(t[-1:]) + 1) % 10).encode())


def all_floats_moved(files: Files, document: Any, chance: random.Random) -> None:
    found = _floats(files)
    if not found:
        raise NothingToDo
    for name in {name for name, _ in found}:
        files[name] = _FLOAT.sub(lambda m: repr(float(m[0]) + 5e-10).encode(), files[name])


def integer_moved(files: Files, document: Any, chance: random.Random) -> None:
    name = chance.choice(_tables(files))
    found = list(re.finditer(rb"(?<=,)\d+(?=[,\n])", files[name]))
    if not found:
        raise NothingToDo
    match = chance.choice(found)
    moved = str(int(match[0]) + 1).encode()
    files[name] = files[name][: match.start()] + moved + files[name][match.end() :]


def figure_of_the_plan(files: Files, document: Any, chance: random.Random) -> None:
    step = chance.choice(document["plan"]["steps"])
    if not step["figures"]:
        raise NothingToDo
    name = chance.choice(sorted(step["figures"]))
    step["figures"][name] += "0001" if "." in step["figures"][name] else ".0001"


# Slices, labels, signatures, costs, outputs.


def _transcript(files: Files, edit: Callable[[Any], None]) -> None:
    _json(files, "transcript.json", edit)


def extra_slice(files: Files, document: Any, chance: random.Random) -> None:
    def edit(d: Any) -> None:
        zero = {"measure": "pure", "epsilon": "0"}
        if d["slices"]:
            zero = {k: "0" if k != "measure" else v for k, v in d["slices"][0]["limit"].items()}
        where = chance.randrange(len(d["slices"]) + 1)
        d["slices"].insert(where, {"path": [SECRET], "limit": zero, "part": False})

    _transcript(files, edit)


def renamed_slice(files: Files, document: Any, chance: random.Random) -> None:
    def edit(d: Any) -> None:
        if not d["slices"]:
            raise NothingToDo
        old = d["slices"][0]["path"][0]
        for item in (*d["slices"], *d["entries"]):
            item["path"] = [SECRET if name == old else name for name in item["path"]]

    _transcript(files, edit)


def renamed_label(files: Files, document: Any, chance: random.Random) -> None:
    _transcript(files, lambda d: chance.choice(d["entries"]).update(label=SECRET))


def extra_mark(files: Files, document: Any, chance: random.Random) -> None:
    _transcript(files, lambda d: d["marks"].append(SECRET))


def extra_output(files: Files, document: Any, chance: random.Random) -> None:
    _transcript(files, lambda d: chance.choice(d["entries"])["outputs"].append(SECRET))


def extra_entry(files: Files, document: Any, chance: random.Random) -> None:
    def edit(d: Any) -> None:
        copy = {**chance.choice(d["entries"]), "label": SECRET}
        d["entries"].append(copy)

    _transcript(files, edit)


def signature_edited(files: Files, document: Any, chance: random.Random) -> None:
    def edit(d: Any) -> None:
        signature = chance.choice(d["entries"])["signature"]
        name = chance.choice([name for name in signature if name != "kind"] or ["kind"])
        signature[name] = [SECRET]

    _transcript(files, edit)


def cost_edited(files: Files, document: Any, chance: random.Random) -> None:
    def edit(d: Any) -> None:
        cost = chance.choice(d["entries"])["cost"]
        name = next(name for name in cost if name != "measure")
        cost[name] = f"{cost[name]}0/10" if "/" not in cost[name] else f"{cost[name]}0"

    _transcript(files, edit)


def other_type(files: Files, document: Any, chance: random.Random) -> None:
    def edit(d: Any) -> None:
        arrays = [
            output
            for entry in d["entries"]
            for output in entry["outputs"]
            if isinstance(output, dict) and "array" in output
        ]
        if not arrays:
            raise NothingToDo
        chosen = chance.choice(arrays)
        chosen["type"] = chance.choice([t for t in ("<f8", "<i4", "<u8") if t != chosen["type"]])

    _transcript(files, edit)


# Texts.


def readme_text(files: Files, document: Any, chance: random.Random) -> None:
    added = chance.choice([SECRET.encode(), b" ", b"\n", b"\t"])
    place = chance.randrange(len(files["README.txt"]))
    while files["README.txt"][place - 1 : place + 1].isspace() or place == 0:
        place = chance.randrange(1, len(files["README.txt"]))
    files["README.txt"] = files["README.txt"][:place] + added + files["README.txt"][place:]


def plan_text(files: Files, document: Any, chance: random.Random) -> None:
    step = chance.choice(document["plan"]["steps"])
    part = chance.choice(["what", "noise", "error"])
    step[part] += f" {SECRET}"


def plan_note(files: Files, document: Any, chance: random.Random) -> None:
    document["plan"]["notes"].append(SECRET)


def version_text(files: Files, document: Any, chance: random.Random) -> None:
    document["versions"][chance.choice(sorted(document["versions"]))] = SECRET


def statement_text(files: Files, document: Any, chance: random.Random) -> None:
    name = chance.choice(["statement", "caveat", "proof", "basis", "unit"])
    document["guarantee"][name] = SECRET


def code_text(files: Files, document: Any, chance: random.Random) -> None:
    document["code"] = chance.choice([SECRET, document["code"].upper() + "A", ""])


def time_text(files: Files, document: Any, chance: random.Random) -> None:
    document["time"] += chance.choice([" ", ".000", f" {SECRET}"])


def ledger_text(files: Files, document: Any, chance: random.Random) -> None:
    if document["ledger"] is None:
        document["ledger"] = {"identity": SECRET, "entry": 1, "reference": "a#1", "head": "0" * 64}
    else:
        document["ledger"][chance.choice(["identity", "head", "reference"])] = SECRET


def extra_file(files: Files, document: Any, chance: random.Random) -> None:
    files[chance.choice(["raw.csv", ".hidden", "notes.txt"])] = SECRET.encode()


def page_text(files: Files, document: Any, chance: random.Random) -> None:
    if "report.html" not in files:
        raise NothingToDo
    page = files["report.html"]
    place = page.index(b"<main>") + chance.randrange(len(page) // 2)
    place = page.index(b"<", place)
    added = chance.choice([b"epsilon = 0.0001", f"<!-- {SECRET} -->".encode(), b" \n"])
    files["report.html"] = page[:place] + added + page[place:]


#: Every way, by what it adds.
WAYS: dict[str, tuple[Way, ...]] = {
    "member": (
        extra_member, text_member, archive_comment, member_comment, member_extra, member_date,
        member_compressed, member_longer, member_header, archive_around,
    ),
    "key": (
        key_in_transcript, key_in_public, key_in_data, key_in_certificate, key_in_ledger,
        blank_in_json, doubled_key,
    ),
    "row": (
        row_appended, row_inserted, rows_replaced, row_of_others, row_dropped, rows_swapped,
        blank_line, line_ends, column_added,
    ),
    "digit": (
        digit_appended, digits_appended, last_digit_moved, all_floats_moved, integer_moved,
        figure_of_the_plan,
    ),
    "slice": (
        extra_slice, renamed_slice, renamed_label, extra_mark, extra_output, extra_entry,
        signature_edited, cost_edited, other_type,
    ),
    "text": (
        readme_text, plan_text, plan_note, version_text, statement_text, code_text, time_text,
        ledger_text, extra_file, page_text,
    ),
}  # fmt: skip
#: What a platform may change, in a few figures: it passes, with a remark, for a folder that claims
#: to come from another one.
WITHIN_PLATFORM = (last_digit_moved,)


def follow(files: Files, document: dict[str, Any]) -> None:
    """Make all data of a folder follow from its transcript, as a forger with the program can."""
    try:
        data = saved._files(saved._rebuild(document, files))
    except Exception:
        return
    files.update({n: c for n, c in data.items() if not n.startswith("transcript")})


def smuggle(
    folder: Path, honest: tuple[Files, dict[str, Any]], way: Way, seed: int, *, elsewhere: bool
) -> bool:
    """Write a folder with something hidden in it, and tell whether it is caught.

    Parameters
    ----------
    folder
        Where to write.
    honest
        A release, as `read_folder` gives it.
    way, seed
        What is done, and the chance in it.
    elsewhere
        Whether the folder claims to be made on another platform.
    """
    files, document = dict(honest[0]), json.loads(json.dumps(honest[1]))
    way(files, document, random.Random(seed))
    if (files, document) == honest:
        raise NothingToDo
    if way in (*WAYS["slice"], key_in_transcript, extra_member):
        follow(files, document)
    if elsewhere:
        document["versions"]["numpy"] = "9.9.9"
    write_folder(folder, files, document)
    return is_caught(folder)


# Damage without new hashes.


def damage(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with one flipped, cut off, added, doubled, blanked or in the other case."""
    place = chance.randrange(len(content))
    kind = chance.randrange(6)
    if kind == 0:
        return (
            content[:place]
            + bytes([content[place] ^ 1 << chance.randrange(8)])
            + content[place + 1 :]
        )
    if kind == 1:
        return content[:place]
    if kind == 2:
        return content[:place] + bytes([chance.randrange(256)]) + content[place:]
    if kind == 3:
        return content[:place] + content[place : place + 8] + content[place:]
    if kind == 4:
        return content[:place] + b" " + content[place + 1 :]
    swapped = content[place : place + 1].swapcase()
    return content[:place] + swapped + content[place + 1 :]
