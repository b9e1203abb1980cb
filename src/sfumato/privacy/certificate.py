"""The certificate: what was done, on what ground, and the hash of every file that says so.

It is a plain JSON document in one canonical form, so that a single changed byte is caught. It holds
nothing private: the ledger is named by its random identity and its chain, never by the data. What
cannot be worked out again from the release (time, versions, ledger entry, signature) has a fixed
form that leaves no room for anything else.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.privacy import keys
from sfumato.privacy.canonical import canonical, digest
from sfumato.privacy.release import Release

FORMAT = 2
NAME = "certificate.json"
#: What a certificate says of a version; what a distributor adds after it is left out.
VERSION = re.compile(
    r"[0-9]{1,4}(\.[0-9]{1,4}){0,3}((a|b|rc)[0-9]{1,2})?(\.post[0-9]{1,2})?(\.dev[0-9]{1,4})?"
)
#: Machines and systems that are told by their name; all others are "other".
_MACHINES = (
    "x86_64", "amd64", "arm64", "aarch64", "armv7l", "i386", "i686", "loongarch64", "ppc64le",
    "riscv64", "s390x", "wasm32",
)  # fmt: skip
_SYSTEMS = ("linux", "darwin", "win32", "cygwin", "emscripten", "freebsd", "netbsd", "openbsd")
MACHINE = re.compile(f"({'|'.join(_MACHINES)}|other)-({'|'.join(_SYSTEMS)}|other)")
_RELEVANT = ("sfumato", "numpy", "scipy", "numba", "polars", "cryptography")
#: A certificate has no more bytes than this.
LARGEST = 2**26


@cache
def code_digest() -> str:
    """Return a hash of the package's own source, so that a release names the code that made it."""
    root = Path(__file__).parent.parent
    sources = sorted(root.rglob("*.py"))
    return digest(
        b"".join(str(path.relative_to(root)).encode() + path.read_bytes() for path in sources)
    )


@cache
def _arithmetic() -> str:
    """Return a short hash of some sums: machines that round alike have the same."""
    line = np.arange(1, 4097) * 0.6180339887498949 % 1 + 0.5
    square = line.reshape(64, 64)
    figures = [
        *(function(line) for function in (np.exp, np.log, np.sin, np.tanh, np.sqrt, np.cumsum)),
        line**1.7,
        np.array([line.sum(), line @ line]),
        square @ square,
        np.linalg.inv(square + 9 * np.eye(64)),
        np.linalg.eigvalsh(square + square.T),
    ]
    return digest(b"".join(np.ascontiguousarray(item).tobytes() for item in figures))[:8]


@cache
def versions() -> dict[str, str]:
    """Return the versions that run; they are looked up once, since that reads files."""
    found = {
        "python": public_version(platform.python_version()),
        "machine": _machine(platform.machine().lower(), sys.platform),
        "arithmetic": _arithmetic(),
    }
    for package in _RELEVANT:
        try:
            found[package] = public_version(version(package))
        except PackageNotFoundError:
            continue
    return found


def public_version(text: str) -> str:
    """Return a version without what a distributor added to it."""
    found = VERSION.match(text)
    return found[0] if found else "0"


def _machine(machine: str, system: str) -> str:
    """Return the machine and its system, if they are known ones."""
    system = system.rstrip("0123456789") if system != "win32" else system
    known = machine if machine in _MACHINES else "other"
    return f"{known}-{system if system in _SYSTEMS else 'other'}"


def was_made_here(certificate: dict[str, Any]) -> bool:
    """Tell whether a certificate names this platform and the versions that run."""
    return bool(certificate["versions"] == versions())


def elsewhere(certificate: dict[str, Any]) -> str:
    """Return in which versions this platform differs from that of a certificate, in words."""
    stated, here = certificate["versions"], versions()
    names = [name for name in sorted({*stated, *here}) if stated.get(name) != here.get(name)]
    return ", ".join(
        f"{name} {stated.get(name, '-')} (here {here.get(name, '-')})" for name in names
    )


def certify(release: Release, files: dict[str, bytes]) -> dict[str, Any]:
    """Return the unsigned certificate of a release and the files it is saved in."""
    origin = release.provenance
    return {
        "format": FORMAT,
        "kind": release.kind,
        "method": origin.method.name,
        "parameters": origin.method.parameters(),
        "guarantee": origin.guarantee.to_json(),
        "plan": origin.plan.to_json(),
        "public": {"kind": origin.public.kind, "assumptions": list(origin.public.assumptions())},
        "versions": dict(versions()),
        "code": code_digest(),
        "time": origin.time,
        "ledger": origin.ledger,
        "files": {name: digest(content) for name, content in sorted(files.items())},
    }


#: What seals a certificate and is not part of what it states.
SEALS = ("digest", "signature")


def body_of(certificate: dict[str, Any]) -> bytes:
    """Return the bytes that the digest and the signature of a certificate speak of."""
    return canonical({name: item for name, item in certificate.items() if name not in SEALS})


def seal(certificate: dict[str, Any], key: Path | None) -> dict[str, Any]:
    """Return the certificate with its digest and a signature, empty where there is no key."""
    body = body_of(certificate)
    certificate = {**certificate, "digest": digest(body), "signature": None}
    if key is None:
        return certificate
    private = keys.load_private(key)
    signature = keys.sign(private, body)
    public = private.public_key()
    return {
        **certificate,
        "signature": {
            "algorithm": "Ed25519",
            "public_key": keys.public_hex(public),
            "fingerprint": keys.fingerprint(public),
            "value": signature.hex(),
        },
    }


#: What every certificate holds, and of which type.
STRUCTURE: dict[str, type | tuple[type, ...]] = {
    "format": int,
    "kind": str,
    "method": str,
    "parameters": dict,
    "guarantee": dict,
    "plan": dict,
    "public": dict,
    "versions": dict,
    "code": str,
    "time": str,
    "ledger": (dict, type(None)),
    "files": dict,
    "digest": str,
    "signature": (dict, type(None)),
}
_HASH = re.compile(r"[0-9a-f]{64}")
#: What each part of `versions` looks like; packages have a version.
_FORMS = {
    "machine": MACHINE,
    "arithmetic": re.compile(r"[0-9a-f]{8}"),
    **dict.fromkeys(("python", *_RELEVANT), VERSION),
}
#: The parts of a ledger entry and of a signature, and what each looks like.
_LEDGER = {
    "identity": re.compile(r"[0-9a-f]{32}"),
    "reference": re.compile(r"[^\x00-\x1f\x7f/]{1,255}#[1-9][0-9]{0,17}"),
    "head": _HASH,
}
_SIGNATURE = {
    "algorithm": re.compile(r"Ed25519"),
    "public_key": _HASH,
    "fingerprint": re.compile(r"[0-9a-f]{4}( [0-9a-f]{4}){7}"),
    "value": re.compile(r"[0-9a-f]{128}"),
}


def read(content: bytes) -> dict[str, Any]:
    """Return the certificate that some bytes are, or raise `ValueError`."""
    if len(content) > LARGEST:
        raise ValueError(f"the certificate has more than the allowed {LARGEST:,} bytes")
    document = json.loads(content)
    check_structure(document)
    canonical(document)
    return dict(document)


def check_structure(document: Any) -> None:
    """Raise `ValueError` unless a document has the parts of a certificate, each of its type."""
    if not isinstance(document, dict) or set(document) != set(STRUCTURE):
        raise ValueError("the certificate has missing or unknown parts")
    for name, kind in STRUCTURE.items():
        if not isinstance(document[name], kind) or isinstance(document[name], bool):
            raise ValueError(f"{name} of the certificate has the wrong type")
    texts = [*document["files"].items(), *document["versions"].items()]
    if not all(isinstance(item, str) for pair in texts for item in pair):
        raise ValueError("files and versions of the certificate must be texts")
    if not isinstance(document["public"].get("kind"), str):
        raise ValueError("the public part of the certificate must state its kind")


def check_forms(document: dict[str, Any]) -> None:
    """Raise `ValueError` unless what a certificate states without proof has its fixed form.

    These are the parts that do not follow from the release. They may be untrue, but have room for
    little else: a hash each of the code and of the ledger's head and identity, some numbers, and
    the name of the ledger.
    """
    moment = datetime.fromisoformat(document["time"])
    if moment.astimezone(UTC).isoformat(timespec="seconds") != document["time"]:
        raise ValueError("the time of the certificate is not written as a time in UTC")
    for name in ("python", "machine", "arithmetic"):
        if name not in document["versions"]:
            raise ValueError(f"versions of the certificate lacks {name}")
    for name, text in document["versions"].items():
        if name not in _FORMS or not _FORMS[name].fullmatch(text):
            raise ValueError(f"versions of the certificate has an unknown entry {name[:40]!r}")
    if not _HASH.fullmatch(document["code"]):
        raise ValueError("the code of the certificate is not a hash")
    entry = document["ledger"]
    if entry is None:
        return
    number = entry.get("entry")
    if type(number) is not int:
        raise ValueError("the ledger entry of the certificate has no number")
    _require_parts("ledger entry", {n: i for n, i in entry.items() if n != "entry"}, _LEDGER)
    if len(entry["reference"].encode()) > 300:
        raise ValueError("the name of the ledger is longer than that of a file")
    if not entry["reference"].endswith(f"#{number}"):
        raise ValueError("the ledger entry of the certificate has two numbers")


def check_signature(document: dict[str, Any]) -> keys.PublicKey | None:
    """Return the key that signed a certificate, `None` where nobody did, or raise `ValueError`.

    There is one way to write a signature.
    """
    signature = document["signature"]
    if signature is None:
        return None
    _require_parts("signature", signature, _SIGNATURE)
    public = keys.public_from_hex(signature["public_key"])
    fits = keys.verify(public, bytes.fromhex(signature["value"]), body_of(document))
    if not fits or signature["fingerprint"] != keys.fingerprint(public):
        raise ValueError("the signature does not match the certificate")
    return public


def _require_parts(what: str, part: dict[str, Any], forms: dict[str, re.Pattern[str]]) -> None:
    """Raise unless a part of a certificate has exactly these entries, each of its form."""
    if set(part) != set(forms):
        raise ValueError(f"the {what} of the certificate has missing or unknown entries")
    for name, form in forms.items():
        if not isinstance(part[name], str) or not form.fullmatch(part[name]):
            raise ValueError(f"{name} in the {what} of the certificate is malformed")
