"""The custodian's signing key."""

from __future__ import annotations

import os
import re
import stat

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sfumato.privacy import keys

# The first test vector of RFC 8032, section 7.1.
RFC_SECRET = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
RFC_PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
RFC_SIGNATURE = (
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
    "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "custody" / "key.pem"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_key_signs_and_its_public_half_verifies(path):
    public = keys.generate(path)
    signature = keys.sign(keys.load_private(path), b"a certificate")
    assert keys.verify(keys.load_public(keys.public_path(path)), signature, b"a certificate")
    assert keys.verify(public, signature, b"a certificate")


def test_any_change_of_message_signature_or_key_is_caught(path, tmp_path):
    public = keys.generate(path)
    signature = keys.sign(keys.load_private(path), b"a certificate")
    assert not keys.verify(public, signature, b"a certificatE")
    assert not keys.verify(public, signature[:-1] + bytes([signature[-1] ^ 1]), b"a certificate")
    assert not keys.verify(public, b"", b"a certificate")
    other = keys.generate(tmp_path / "other.pem")
    assert not keys.verify(other, signature, b"a certificate")


def test_the_signature_is_that_of_rfc_8032():
    private = keys.PrivateKey.from_private_bytes(bytes.fromhex(RFC_SECRET))
    assert keys.public_hex(private.public_key()) == RFC_PUBLIC
    assert keys.sign(private, b"").hex() == RFC_SIGNATURE
    assert keys.verify(keys.public_from_hex(RFC_PUBLIC), bytes.fromhex(RFC_SIGNATURE), b"")


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_files_have_their_modes_whatever_the_umask(path, umask):
    path.parent.mkdir()
    before = os.umask(umask)
    try:
        keys.generate(path)
    finally:
        os.umask(before)
    assert mode(path) == 0o600
    assert mode(keys.public_path(path)) == 0o644


def test_missing_folders_are_made_for_the_owner_alone(path):
    keys.generate(path)
    assert mode(path.parent) & 0o077 == 0


def test_a_passphrase_encrypts_the_private_key(path):
    public = keys.generate(path, passphrase="correct horse")
    assert b"ENCRYPTED" in path.read_bytes()
    private = keys.load_private(path, passphrase=b"correct horse")
    assert keys.verify(public, keys.sign(private, b"m"), b"m")
    with pytest.raises(keys.KeyFileError, match="needs its passphrase"):
        keys.load_private(path)
    with pytest.raises(keys.KeyFileError, match="the passphrase is wrong, or"):
        keys.load_private(path, passphrase="wrong horse")


def test_a_needless_or_empty_passphrase_is_refused(path, tmp_path):
    keys.generate(path)
    with pytest.raises(keys.KeyFileError, match="has no passphrase; give none"):
        keys.load_private(path, passphrase="x")
    with pytest.raises(ValueError, match="a passphrase must not be empty"):
        keys.generate(tmp_path / "empty.pem", passphrase="")
    assert not (tmp_path / "empty.pem").exists()


def test_no_key_is_ever_overwritten(path):
    keys.generate(path)
    content = path.read_bytes()
    with pytest.raises(keys.KeyFileError, match="never overwritten"):
        keys.generate(path)
    assert path.read_bytes() == content


def test_a_public_key_in_the_way_leaves_no_private_key_behind(path):
    path.parent.mkdir()
    keys.public_path(path).write_text("somebody else's")
    with pytest.raises(keys.KeyFileError, match=r"key\.pub exists"):
        keys.generate(path)
    assert not path.exists()


def test_a_failed_write_leaves_nothing_behind(path, monkeypatch):
    written = keys._write_new

    def fail_on_public(file, content, mode):
        if file.suffix == ".pub":
            raise OSError(28, "No space left on device")
        written(file, content, mode)

    monkeypatch.setattr(keys, "_write_new", fail_on_public)
    with pytest.raises(keys.KeyFileError, match=r"could not be written.*No space left"):
        keys.generate(path)
    assert list(path.parent.iterdir()) == []


def test_a_private_key_may_not_end_in_pub(tmp_path):
    with pytest.raises(keys.KeyFileError, match=r"must not end in \.pub"):
        keys.generate(tmp_path / "key.pub")


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_private_key_that_others_can_read_is_refused(path):
    keys.generate(path)
    path.chmod(0o640)
    with pytest.raises(keys.KeyFileError, match=r"read by others \(mode 0640\).*chmod 600"):
        keys.load_private(path)


def test_missing_and_wrong_files_are_named(path, tmp_path):
    with pytest.raises(keys.KeyFileError, match="there is no private key at"):
        keys.load_private(path)
    with pytest.raises(keys.KeyFileError, match="there is no public key at"):
        keys.load_public(path)
    with pytest.raises(keys.KeyFileError, match="cannot be read"):
        keys.load_public(tmp_path)
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nonsense")
    nonsense.chmod(0o600)
    with pytest.raises(keys.KeyFileError, match="this is not a private key in PEM form"):
        keys.load_private(nonsense)
    keys.generate(path)
    with pytest.raises(keys.KeyFileError, match=r"not a public key .*ends in \.pub"):
        keys.load_public(path)


def test_a_key_of_another_kind_is_refused(tmp_path):
    other = generate_private_key(SECP256R1())
    private, public = tmp_path / "other.pem", tmp_path / "other.pub"
    private.write_bytes(
        other.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    private.chmod(0o600)
    public.write_bytes(
        other.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    with pytest.raises(keys.KeyFileError, match="not an Ed25519 key"):
        keys.load_private(private)
    with pytest.raises(keys.KeyFileError, match="not an Ed25519 key"):
        keys.load_public(public)


@pytest.mark.parametrize("text", ["", "abc", "zz" * 32, "00" * 31])
def test_a_public_key_in_hexadecimal_has_64_digits(text):
    with pytest.raises(keys.KeyFileError, match="64 hexadecimal digits"):
        keys.public_from_hex(text)


def test_the_fingerprint_is_short_and_belongs_to_the_key(path, tmp_path):
    first, second = keys.generate(path), keys.generate(tmp_path / "second.pem")
    assert re.fullmatch(r"([0-9a-f]{4} ){7}[0-9a-f]{4}", keys.fingerprint(first))
    assert keys.fingerprint(first) == keys.fingerprint(keys.load_public(keys.public_path(path)))
    assert keys.fingerprint(first) != keys.fingerprint(second)


class TestWhereTheKeyIs:
    @pytest.fixture(autouse=True)
    def _home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        monkeypatch.delenv("SFUMATO_KEY", raising=False)

    def test_none_is_found_in_an_empty_home(self, tmp_path):
        assert keys.find_key() is None
        assert keys.default_path() == tmp_path / "home" / ".config" / "sfumato" / "key.pem"

    def test_the_default_key_is_found(self):
        keys.generate(keys.default_path())
        assert keys.find_key() == keys.default_path()

    def test_xdg_config_home_is_respected_where_it_is_absolute(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        assert keys.default_path() == tmp_path / "config" / "sfumato" / "key.pem"
        monkeypatch.setenv("XDG_CONFIG_HOME", "config")
        assert keys.default_path() == tmp_path / "home" / ".config" / "sfumato" / "key.pem"

    def test_the_environment_comes_first(self, tmp_path, monkeypatch):
        keys.generate(keys.default_path())
        keys.generate(tmp_path / "mine.pem")
        monkeypatch.setenv("SFUMATO_KEY", str(tmp_path / "mine.pem"))
        assert keys.find_key() == tmp_path / "mine.pem"
        monkeypatch.setenv("SFUMATO_KEY", "")
        assert keys.find_key() == keys.default_path()

    def test_a_named_key_that_is_missing_is_an_error(self, tmp_path, monkeypatch):
        keys.generate(keys.default_path())
        monkeypatch.setenv("SFUMATO_KEY", str(tmp_path / "gone.pem"))
        with pytest.raises(keys.KeyFileError, match=r"SFUMATO_KEY is .*gone\.pem"):
            keys.find_key()


def test_a_key_that_any_signature_fits_is_refused():
    nobody = "01" + "00" * 31
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(nobody))
    # R = the neutral point and S = 0 fit every text.
    assert keys.verify(public, bytes.fromhex(nobody) + bytes(32), b"anything")
    for sign in ("00", "80"):
        with pytest.raises(keys.KeyFileError, match="is invalid"):
            keys.public_from_hex("01" + "00" * 30 + sign)
