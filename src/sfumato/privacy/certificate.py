"""The certificate: what was done, on what ground, and the hash of every file that says so.

It is a plain JSON document in one canonical form, so that a single changed byte is caught. It holds
nothing private: the ledger is named by its random identity and its chain, never by the data.
"""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sfumato.privacy import keys
from sfumato.privacy.canonical import canonical, digest
from sfumato.privacy.release import Release

FORMAT = 1
NAME = "certificate.json"
_RELEVANT = ("sfumato", "numpy", "scipy", "numba", "cryptography")


@cache
def code_digest() -> str:
    """Return a hash of the package's own source, so that a release names the code that made it."""
    root = Path(__file__).parent.parent
    sources = sorted(root.rglob("*.py"))
    return digest(
        b"".join(str(path.relative_to(root)).encode() + path.read_bytes() for path in sources)
    )


@cache
def _versions() -> dict[str, str]:
    """Return the versions that run; they are looked up once, since that reads files."""
    found = {"python": platform.python_version()}
    for package in _RELEVANT:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


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
        "versions": dict(_versions()),
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


def sealed(certificate: dict[str, Any], key: Path | None) -> dict[str, Any]:
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


def check_structure(document: Any) -> None:
    """Raise `ValueError` unless a document has the parts of a certificate, each of its type."""
    if not isinstance(document, dict) or set(document) != set(STRUCTURE):
        raise ValueError("a certificate has other parts")
    for name, kind in STRUCTURE.items():
        if not isinstance(document[name], kind):
            raise ValueError(f"{name} of a certificate has another type")
    texts = [*document["files"].items(), *document["versions"].items()]
    if not all(isinstance(item, str) for pair in texts for item in pair):
        raise ValueError("files and versions of a certificate are texts")
    plan, public = document["plan"], document["public"]
    if not isinstance(plan.get("steps"), list) or not isinstance(plan.get("notes"), list):
        raise ValueError("the plan of a certificate has steps and notes")
    if not all(isinstance(step, dict) for step in plan["steps"]):
        raise ValueError("the steps of a plan are documents")
    if not isinstance(public.get("kind"), str):
        raise ValueError("the public part of a certificate has a kind")
