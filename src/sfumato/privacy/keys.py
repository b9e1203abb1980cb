"""The custodian's signing key: Ed25519, as plain PEM files.

A signature on a certificate says who made a release. A private key is written for its owner alone
and never over another; it never appears in an error, a certificate or a log. This module signs and
checks bytes and knows nothing of what they mean.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from pathlib import Path
from typing import TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey as PrivateKey,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PublicKey as PublicKey,
)

from sfumato.privacy.documents import read_bytes

__all__ = [
    "KeyFileError",
    "PrivateKey",
    "PublicKey",
    "default_path",
    "find_key",
    "fingerprint",
    "generate",
    "load_private",
    "load_public",
    "public_from_hex",
    "public_hex",
    "public_path",
    "sign",
    "verify",
]

FilePath: TypeAlias = str | os.PathLike[str]

_ENVIRONMENT = "SFUMATO_KEY"
_FINGERPRINT_BYTES = 16
_PUBLIC_BYTES = 32


class KeyFileError(ValueError):
    """A key file is missing, unreadable, in the way, or not a key."""


def default_path() -> Path:
    """Return where a custodian's private key is kept unless another place is named.

    That is `sfumato/key.pem` in $XDG_CONFIG_HOME, or in ~/.config where that is not set.
    """
    configured = os.environ.get("XDG_CONFIG_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    base = Path(configured) if os.path.isabs(configured) else Path.home() / ".config"
    return base / "sfumato" / "key.pem"


def find_key() -> Path | None:
    """Return the custodian's private key file, or None where there is none.

    $SFUMATO_KEY names it; otherwise it is at `default_path()`. A variable that names a missing file
    is an error: a release that should be signed is never left unsigned without a word.
    """
    named = os.environ.get(_ENVIRONMENT, "")
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            raise KeyFileError(
                f"{_ENVIRONMENT} is {path}, which does not exist; correct it, unset it, or make "
                "a key there with `sfumato keygen`"
            )
        return path
    path = default_path()
    return path if path.is_file() else None


def public_path(path: FilePath) -> Path:
    """Return where the public half of a private key file is kept: beside it, ending in .pub."""
    return Path(path).with_suffix(".pub")


def generate(path: FilePath, passphrase: str | bytes | None = None) -> PublicKey:
    """Make a key, write both halves, and return the public one.

    Parameters
    ----------
    path
        Where the private key goes, readable by its owner alone; the public one goes beside it,
        ending in .pub. Neither may exist. Missing folders are made for the owner alone.
    passphrase
        Encrypts the private key; None leaves it in the clear.
    """
    private_file, public_file = Path(path), public_path(path)
    if private_file == public_file:
        raise KeyFileError(f"the path of a private key must not end in .pub; got {path}")
    for file in (private_file, public_file):
        if os.path.lexists(file):
            raise KeyFileError(
                f"{file} exists, and a key is never overwritten; choose another path"
            )
    # The cipher library draws keys from the operating system itself, so that the seeded source of
    # a test can never reach one.
    private = PrivateKey.generate()
    public = private.public_key()
    try:
        private_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_new(private_file, _private_pem(private, passphrase), 0o600)
        try:
            _write_new(public_file, _public_pem(public), 0o644)
        except BaseException:
            private_file.unlink()
            raise
    except OSError as error:
        raise KeyFileError(f"a key could not be written to {path}: {error.strerror}") from error
    return public


def load_private(path: FilePath, passphrase: str | bytes | None = None) -> PrivateKey:
    """Read a private key.

    Parameters
    ----------
    path
        A PEM file that only its owner can read.
    passphrase
        What it was encrypted with, if it was.
    """
    content = _read(path, what="private key", secret=True)
    try:
        key = serialization.load_pem_private_key(content, _secret(passphrase))
    except TypeError as error:
        # The one sign by which the cipher library tells a missing passphrase from a needless one.
        if passphrase is None:
            raise KeyFileError(f"the private key {path} needs its passphrase") from error
        raise KeyFileError(f"the private key {path} has no passphrase; give none") from error
    except (ValueError, UnsupportedAlgorithm):
        wrong = "" if passphrase is None else "the passphrase is wrong, or "
        raise KeyFileError(f"{path}: {wrong}this is not a private key in PEM form") from None
    if not isinstance(key, PrivateKey):
        raise KeyFileError(f"{path} is not an Ed25519 key; make one with `sfumato keygen`")
    return key


def load_public(path: FilePath) -> PublicKey:
    """Read a public key from a PEM file."""
    content = _read(path, what="public key", secret=False)
    try:
        key = serialization.load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise KeyFileError(
            f"{path} is not a public key in PEM form; the public half of a key ends in .pub"
        ) from None
    if not isinstance(key, PublicKey):
        raise KeyFileError(f"{path} is not an Ed25519 key; make one with `sfumato keygen`")
    return key


def sign(private: PrivateKey, message: bytes) -> bytes:
    """Return the signature of a message: 64 bytes, the same every time."""
    return private.sign(message)


def verify(public: PublicKey, signature: bytes, message: bytes) -> bool:
    """Tell whether a signature of exactly this message was made with the key's private half."""
    try:
        public.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def public_hex(public: PublicKey) -> str:
    """Return a public key as 64 hexadecimal digits, for a certificate."""
    return _raw(public).hex()


#: The points of small order, in every way they can be written, without the sign of x: a signature
#: of zeros fits them whatever was signed.
_SMALL_ORDER = frozenset(
    bytes.fromhex(text)
    for text in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)


def public_from_hex(text: str) -> PublicKey:
    """Return the public key that `public_hex` wrote."""
    # In one way only: `bytes.fromhex` would read capitals and blanks as well.
    if not re.fullmatch(rf"[0-9a-f]{{{2 * _PUBLIC_BYTES}}}", text):
        raise KeyFileError("a public key is written as 64 hexadecimal digits; this is not one")
    raw = bytes.fromhex(text)
    if raw[:-1] + bytes([raw[-1] & 0x7F]) in _SMALL_ORDER:
        raise KeyFileError("this public key is invalid: any signature would match it")
    return PublicKey.from_public_bytes(raw)


def fingerprint(public: PublicKey) -> str:
    """Return the short form of a public key, for two people to compare: eight groups of four."""
    text = hashlib.sha256(_raw(public)).hexdigest()[: 2 * _FINGERPRINT_BYTES]
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def _raw(public: PublicKey) -> bytes:
    return public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def _secret(passphrase: str | bytes | None) -> bytes | None:
    """Return a passphrase as bytes."""
    return passphrase.encode("utf-8") if isinstance(passphrase, str) else passphrase


def _private_pem(private: PrivateKey, passphrase: str | bytes | None) -> bytes:
    """Return the private key as PKCS 8, encrypted if there is a passphrase."""
    secret = _secret(passphrase)
    if secret == b"":
        raise ValueError("a passphrase must not be empty; pass None for an unencrypted key")
    encryption: serialization.KeySerializationEncryption = (
        serialization.NoEncryption()
        if secret is None
        else serialization.BestAvailableEncryption(secret)
    )
    return private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )


def _public_pem(public: PublicKey) -> bytes:
    return public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that did not exist, with exactly this mode, or leave none behind."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(path, mode)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        raise


def _read(path: FilePath, *, what: str, secret: bool) -> bytes:
    """Return the content of a key file, refusing a secret that others can read."""
    try:
        with open(path, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = read_bytes(file)
    except ValueError as error:
        raise KeyFileError(f"{path} is not a {what}: {error}") from None
    except FileNotFoundError:
        raise KeyFileError(f"there is no {what} at {path}") from None
    except OSError as error:
        raise KeyFileError(f"the {what} {path} cannot be read: {error.strerror}") from error
    # Windows has no such modes and reports them as open to all.
    if secret and os.name == "posix" and mode & 0o077:
        raise KeyFileError(
            f"the private key {path} can be read by others (mode {mode:04o}), who could sign in "
            f"your name; run: chmod 600 {path}"
        )
    return content
