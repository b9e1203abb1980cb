"""Saved releases: a folder of plain files that can be checked and rebuilt without any data.

Loading a release parses JSON and arrays and rebuilds it from its transcript; it never executes
anything from the folder and never imports a module that the folder names.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.privacy import certificate as certificates
from sfumato.privacy import door, durable, keys, registry
from sfumato.privacy.canonical import canonical, digest
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.release import Release
from sfumato.privacy.transcript import TRANSCRIPT_FILES, Transcript

if TYPE_CHECKING:
    from sfumato.privacy.ledger import Ledger

PUBLIC = "public.json"
README = "README.txt"
REPORT = "report.html"
#: Files that may be added to a saved release later; they are drawn from it and certify nothing.
UNCERTIFIED = (REPORT,)
#: What the files are, for whoever opens the folder. A name means one thing in all releases.
FILE_WORDS = {
    REPORT: "the release on one page, for people (not certified)",
    "synthetic.csv": "made-up rows in the columns and types of the private table",
    "marginals.csv": "every count of every table, with the margin of its noise",
    "codebook.csv": "the values of every column, in order; of numbers the bins",
    "network.json": "which columns the model joins, and what was counted for it",
    "answers.csv": "the questions and their answers, with the margins of the noise",
    "weights.csv": "the weight of every feature of the model",
    "coefficients.csv": "what each column adds to a prediction, in its own units",
    "edges.csv": "a made-up graph: two nodes a row",
    "model.json": "what graphs are drawn from",
    "degrees.csv": "how many edges nodes have, in order",
    "histogram.csv": "how many nodes have how many edges",
    "eigenvalues.csv": "the eigenvalues, the largest first",
    "eigenvectors.csv": "for every node its entry in each eigenvector",
    certificates.NAME: "method, parameters, guarantee, ledger entry, hashes of the files",
    PUBLIC: "what was taken as public: all that was declared about the data",
    TRANSCRIPT_FILES[0]: "all that was ever said about the private data, with its cost",
    TRANSCRIPT_FILES[1]: f"the figures that {TRANSCRIPT_FILES[0]} names",
    README: "this text",
}
#: How wide plain text is.
WIDTH = 84


class NotARelease(ValueError):
    """A folder does not hold a saved release."""


def pretty(document: Any) -> bytes:
    """Return a document as people read it, in one fixed form."""
    canonical(document)  # refuses what JSON cannot say exactly
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def save(release: Release, path: Path, *, key: Path | None) -> Path:
    """Write a release into a folder that is new or empty, whole or not at all, and durably."""
    try:
        place = _save(release, path.resolve(), key)
    except BaseException as error:
        if release._kept is not None:
            error.add_note(release._kept.words())
        raise
    if release._kept is not None:
        release._kept.discard()
    return place


def _save(release: Release, path: Path, key: Path | None) -> Path:
    """Write and sync all files of a release; its certificate makes it one, and comes last."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(f"{path} exists and is not empty; choose another folder")
    files = all_files(release, key=key or keys.find_key())
    # An existing folder is kept (somebody may stand in it); a new one appears whole.
    home = path if path.exists() else path.parent
    durable.make_folder(home)
    draft = Path(tempfile.mkdtemp(prefix=".sfumato-", dir=home))
    moved: list[Path] = []
    try:
        for name, content in files.items():
            durable.write_synced(draft / name, content)
        durable.sync_folder(draft)
        if home == path:
            # The certificate gets its name when all else is there and nothing else is.
            waiting = path / f".sfumato-{certificates.NAME}"
            places = {name: path / name for name in files} | {certificates.NAME: waiting}
            for name, place in places.items():
                (draft / name).rename(place)
                moved.append(place)
            draft.rmdir()
            durable.sync_folder(path)
            waiting.rename(path / certificates.NAME)
            moved.append(path / certificates.NAME)
            durable.sync_folder(path)
        else:
            draft.chmod(0o755)
            draft.rename(path)
            durable.sync_folder(home)
    except BaseException:
        for place in reversed(moved):
            place.unlink(missing_ok=True)
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return path


def all_files(release: Release, *, key: Path | None = None) -> dict[str, bytes]:
    """Return every file of a saved release, its certificate among them."""
    files = _files(release)
    document = certificates.certify(release, files)
    return {**files, certificates.NAME: pretty(certificates.sealed(document, key))}


def _files(release: Release) -> dict[str, bytes]:
    """Return every file of a saved release but its certificate."""
    origin = release.provenance
    data_files = release.files()
    return {
        **data_files,
        PUBLIC: pretty(origin.public.to_json()),
        **origin.transcript.to_files(),
        README: _readme(release, sorted(data_files)).encode(errors="replace"),
    }


def _readme(release: Release, data_files: list[str]) -> str:
    """Return the text that greets whoever opens the folder."""
    origin = release.provenance
    names = (REPORT, *data_files, certificates.NAME, PUBLIC, *TRANSCRIPT_FILES, README)
    widest = max(map(len, names)) + 4
    listed = "\n".join(_file_line(name, widest) for name in names)
    first = f"Open {REPORT} first; if it is not there, `sfumato report THIS-FOLDER` draws it."
    check = (
        f"compares every file with {certificates.NAME}, rebuilds the release from "
        f"{TRANSCRIPT_FILES[0]} and {TRANSCRIPT_FILES[1]} without any data, and says in plain "
        "words what is promised."
    )
    return (
        f"{_wrapped(release.words())}\n\n"
        f"{_wrapped(first)}\n\n"
        f"What is promised\n\n{_wrapped(origin.guarantee.words())}\n\n"
        f"The files\n\n{listed}\n\n"
        f"How to check it\n\n  sfumato verify THIS-FOLDER\n\n{_wrapped(check)}\n\n"
        f"Made {origin.time} with {origin.method.name}.\n"
    )


def _wrapped(text: str, first: str = "", indent: int = 0) -> str:
    """Return text in lines that fit a screen; names and formulas stay whole."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _file_line(name: str, widest: int) -> str:
    """Return what a file is, after its name."""
    return _wrapped(FILE_WORDS.get(name, "published data"), f"  {name}".ljust(widest), widest)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the certificate of a folder and the bytes of the files it lists."""
    place = path / certificates.NAME
    if not place.is_file():
        raise NotARelease(f"{path} holds no {certificates.NAME}; it is not a saved release")
    try:
        document = json.loads(place.read_bytes())
        certificates.check_structure(document)
        canonical(document)
    except (ValueError, RecursionError):
        raise NotARelease(f"{place} is damaged: it is not a certificate") from None
    files: dict[str, bytes] = {}
    for name in document["files"]:
        if Path(name).name != name or len(name) > 200:
            raise NotARelease(f"{place} lists a file outside its folder")
        if (path / name).is_file():
            files[name] = (path / name).read_bytes()
    return document, files


def _rebuild(document: dict[str, Any], files: dict[str, bytes]) -> Release:
    """Rebuild a release from its parameters, its public part and its transcript."""
    for name in (PUBLIC, *TRANSCRIPT_FILES):
        if name not in files:
            raise NotARelease(f"{name} is missing; the release cannot be rebuilt")
    method = registry.resolve(document["method"]).from_parameters(document["parameters"])
    facts = registry.resolve(f"public.{document['public']['kind']}")
    public = facts.from_json(json.loads(files[PUBLIC]))
    return door.build(
        door.Recipe.of(method, public),
        Transcript.from_files(files),
        time=document["time"],
        ledger=document["ledger"],
    )


def load(path: str | Path) -> Release:
    """Return a saved release, verified and rebuilt from its transcript.

    Parameters
    ----------
    path
        The folder that `save` wrote.

    Raises
    ------
    NotARelease
        If the folder holds no release, or one that does not verify.
    """
    outcome = verify(path)
    if not outcome.passed or outcome.release is None:
        raise NotARelease(f"{path} does not verify:\n{outcome}")
    return outcome.release


@dataclass(frozen=True)
class Check:
    """One thing that was checked, and how it came out, in words.

    A remark is something a reader should know, and nothing that was found to be right or wrong.
    """

    name: str
    passed: bool
    words: str
    remark: bool = False

    @property
    def mark(self) -> str:
        """How a line about it begins."""
        return "BAD" if not self.passed else " - " if self.remark else "ok "


@dataclass(frozen=True)
class Verification:
    """The outcome of verifying a saved release.

    Parameters
    ----------
    checks
        What was checked, one after another.
    release
        The release, rebuilt, if it could be.
    """

    checks: tuple[Check, ...]
    release: Release | None = None

    @property
    def guarantee(self) -> Guarantee | None:
        """What the release promises if all checks passed."""
        return None if self.release is None else self.release.guarantee

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        lines = [f"{check.mark} {check.words}" for check in self.checks]
        if self.passed and self.guarantee is not None:
            lines += ["", self.guarantee.words()]
        else:
            lines += ["", "This release cannot be trusted: see what is marked BAD."]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "passed": self.passed,
            "checks": [
                {
                    "name": check.name,
                    "passed": check.passed,
                    "remark": check.remark,
                    "words": check.words,
                }
                for check in self.checks
            ],
            "guarantee": None if self.guarantee is None else self.guarantee.to_json(),
        }


def verify(
    path: str | Path, *, key: str | Path | None = None, ledger: Ledger | None = None
) -> Verification:
    """Check a saved release: files, signature, books, and the release itself, rebuilt.

    Parameters
    ----------
    path
        The folder that `save` wrote.
    key
        The public key the signature must belong to; without one any valid signature passes.
    ledger
        The ledger in which the release should be booked.
    """
    folder = Path(path)
    document, files = _read(folder)
    checks = [
        _checked("files", lambda: _check_files(folder, document, files)),
        _checked("signature", lambda: _check_signature(document, key)),
    ]
    rebuilt: list[Release] = []

    def rebuild() -> str:
        rebuilt.append(_rebuild(document, files))
        return (
            "the release was rebuilt from its transcript, without any data; every cost adds up to "
            "no more than what is promised"
        )

    checks.append(_guarded("rebuild", rebuild))
    release = rebuilt[0] if rebuilt else None
    if release is not None:
        checks.append(_guarded("data", lambda: _agree(release, files)))
        checks.append(_guarded("certificate", lambda: _stated(release, document, files)))
    if ledger is not None:
        checks.append(_guarded("ledger", lambda: _booked(document, release, ledger)))
    return Verification(tuple(checks), release)


def _agree(release: Release, files: dict[str, bytes]) -> str:
    """Compare the published data with the rebuilt release."""
    data_files = {name: files[name] for name in release.files() if name in files}
    if not release.agrees(data_files):
        raise ValueError("the published data are not what the transcript gives")
    return "the published data are what the transcript gives"


def _stated(release: Release, document: dict[str, Any], files: dict[str, bytes]) -> str:
    """Compare all that a certificate states with what follows from method, facts and transcript."""
    expected = certificates.certify(release, files)
    for name in ("kind", "method", "parameters", "guarantee", "public", "format"):
        if document.get(name) != expected[name]:
            raise ValueError(f"the certificate states another {name} than the release has")
    _same_plan(document["plan"], expected["plan"])
    mine = _files(release)
    if set(mine) != set(document["files"]):
        raise ValueError("the certificate lists other files than such a release has")
    if mine[PUBLIC] != files[PUBLIC]:
        raise ValueError(f"{PUBLIC} does not say what such a release says")
    stated = "the certificate states what follows from the method, the facts and the transcript"
    made_by, here = document["versions"].get("sfumato"), expected["versions"].get("sfumato")
    if made_by != here:
        return f"{stated}; it was made by version {made_by}, whose {README} may read differently"
    if mine[README] != files.get(README):
        raise ValueError(f"{README} does not say what such a release says")
    return stated


def _same_plan(stated: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raise unless two plans state the same steps, losses and figures, up to rounding."""
    none: dict[str, Any] = {}
    for mine, theirs in zip_longest(expected["steps"], stated["steps"], fillvalue=none):
        same = all(mine.get(name) == theirs.get(name) for name in ("what", "loss"))
        figures, others = mine.get("figures", {}), theirs.get("figures", {})
        same = same and figures.keys() == others.keys()
        # The last digits of a figure are the platform's.
        if not same or not all(
            math.isclose(float(figures[name]), float(others[name]), rel_tol=1e-9)
            for name in figures
        ):
            raise ValueError("the certificate states another plan than the release has")
    if stated["notes"] != expected["notes"]:
        raise ValueError("the certificate states another plan than the release has")


def _checked(name: str, check: Callable[[], Check]) -> Check:
    """Run a check that makes its own words; an error becomes a failed check."""
    try:
        return check()
    except (Exception, RecursionError) as error:
        return Check(name, False, f"{name}: {error}")


def _guarded(name: str, check: Callable[[], str]) -> Check:
    """Run a check; whatever a damaged folder makes it raise becomes a failed check."""
    try:
        return Check(name, True, check())
    except (Exception, RecursionError) as error:
        return Check(name, False, f"{name}: {error}")


def _check_files(folder: Path, document: dict[str, Any], files: dict[str, bytes]) -> Check:
    """Compare every file with its hash, and look for files nobody certified."""
    whole = (folder / certificates.NAME).read_bytes() == pretty(document)
    if not whole or document.get("digest") != digest(certificates.body_of(document)):
        return Check("files", False, f"{certificates.NAME} was changed after it was written")
    for name, expected in document["files"].items():
        if name not in files:
            return Check("files", False, f"{name} is missing")
        if digest(files[name]) != expected:
            return Check("files", False, f"{name} was changed after it was certified")
    known = {*document["files"], certificates.NAME, *UNCERTIFIED}
    strange = sorted(place.name for place in folder.iterdir() if place.name not in known)
    if strange:
        return Check("files", False, f"{strange[0]} is not part of the certified release")
    added = [name for name in UNCERTIFIED if (folder / name).exists()]
    note = f" ({', '.join(added)} is not certified and was not checked)" if added else ""
    return Check("files", True, f"all {len(files)} files are as they were certified{note}")


def _check_signature(document: dict[str, Any], key: str | Path | None) -> Check:
    """Check the signature, and that it is by the expected key."""
    signature = document.get("signature")
    if signature is None:
        return Check(
            "signature",
            key is None,
            "note: not signed; hashes show damage, but not a forger who rewrote everything",
            remark=True,
        )
    body = certificates.body_of(document)
    try:
        public = keys.public_from_hex(signature["public_key"])
        valid = keys.verify(public, bytes.fromhex(signature["value"]), body)
    except (ValueError, KeyError, TypeError):
        return Check("signature", False, "the signature is damaged")
    if not valid or signature.get("fingerprint") != keys.fingerprint(public):
        return Check("signature", False, "the signature does not fit the certificate")
    if key is not None and keys.public_hex(keys.load_public(key)) != signature["public_key"]:
        return Check("signature", False, "it was signed by another key than the one you gave")
    whose = "the key you gave" if key is not None else f"key {keys.fingerprint(public)}"
    return Check("signature", True, f"signed by {whose}")


def _booked(document: dict[str, Any], release: Release | None, ledger: Ledger) -> str:
    """Check that the release is booked where it says, as what it is."""
    stated = document.get("ledger")
    if not stated or stated["identity"] != ledger.identity:
        raise ValueError(f"the release is not booked in {ledger.name}")
    ledger.check()
    found = [entry for entry in ledger.history() if entry.number == stated["entry"]]
    if not found or found[0].hash != stated["head"]:
        raise ValueError(f"{ledger.name} does not hold entry {stated['entry']} of the certificate")
    (entry,) = found
    booked = {**entry.guarantee.to_json(), "ledger": None, "statement": None}
    claimed = {**document["guarantee"], "ledger": None, "statement": None}
    if (entry.method, entry.parameters, booked) != (
        document["method"],
        document["parameters"],
        claimed,
    ):
        raise ValueError(f"{entry.reference} was booked for another release")
    if release is None or entry.note != f"transcript {release.transcript.digest()}":
        raise ValueError(f"{entry.reference} was booked for another transcript")
    return f"booked as {entry.reference} for this very transcript, and the chain holds it"
