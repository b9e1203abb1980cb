"""Saved releases: a folder of plain files that can be checked and rebuilt without any data.

Every byte of a folder follows from the transcript, the public part and the certificate, or has a
fixed form; `verify` works all of it out again and names what does not follow. Loading a release
parses JSON and arrays and rebuilds it from its transcript; it never executes anything from the
folder and never imports a module that the folder names.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.privacy import certificate as certificates
from sfumato.privacy import door, durable, keys, registry
from sfumato.privacy.arguments import LedgerLike, open_ledger
from sfumato.privacy.canonical import canonical, digest
from sfumato.privacy.escaping import escape
from sfumato.privacy.file_comparison import Differences, compare, surplus
from sfumato.privacy.forks import refuse_broken_fork
from sfumato.privacy.former_words import restore_former
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.parameters import rename_former
from sfumato.privacy.release import Release
from sfumato.privacy.transcript import TRANSCRIPT_FILES, Transcript

if TYPE_CHECKING:
    from sfumato.privacy.ledger import Ledger

PUBLIC = "public.json"
README = "README.txt"
REPORT = "report.html"
#: What the files are, for whoever opens the folder. A name means one thing in all releases.
FILE_WORDS = {
    REPORT: "the release on one page; verification draws it again and compares",
    "synthetic.csv": "synthetic rows with the columns and types of the private table",
    "marginals.csv": "every count of every table, with the margin of its noise",
    "codebook.csv": "the values of every column, in order; of numbers the bins",
    "network.json": "the columns that the model connects, and the measured tables",
    "answers.csv": "the questions and their answers, with the margins of the noise",
    "weights.csv": "the weight of every feature of the model",
    "coefficients.csv": "what each column adds to a prediction, in its own units",
    "edges.csv": "a synthetic graph: two nodes per row",
    "model.json": "the model from which graphs are sampled",
    "degrees.csv": "the degrees of the nodes, sorted",
    "histogram.csv": "the number of nodes of each degree",
    "eigenvalues.csv": "the eigenvalues, the largest first",
    "eigenvectors.csv": "the entry of every node in each eigenvector",
    "frequencies.csv": "the frequency of each site's effect allele in each group, with its margin",
    "summary_statistics.tsv": "the association of every site, in the columns of GWAS-SSF",
    "spectrum.csv": "about how many sites have which minor-allele frequency",
    "linkage.csv": "the r² of every pair of sites, with its margin",
    certificates.NAME: "method, parameters, guarantee, ledger entry, hashes of the files",
    PUBLIC: "everything that was declared public about the data",
    TRANSCRIPT_FILES[0]: "every answer about the private data, with its privacy loss",
    TRANSCRIPT_FILES[1]: f"the figures that {TRANSCRIPT_FILES[0]} names",
    README: "this text",
}
#: All certified files of a release have no more bytes than this together, and its page no more
#: than that: nothing larger is read.
LARGEST_RELEASE, LARGEST_PAGE = 2**32, 2**27
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
    refuse_broken_fork()
    try:
        place = _save(release, path.resolve(), key)
    except BaseException as error:
        if release._unsaved is not None:
            error.add_note(release._unsaved.words())
        raise
    if release._unsaved is not None:
        release._unsaved.discard()
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
    return {**files, certificates.NAME: pretty(certificates.seal(document, key))}


def _files(release: Release, word: Callable[[str], str] = str) -> dict[str, bytes]:
    """Return every file of a saved release but its certificate, in some wording."""
    origin = release.provenance
    data_files = release.files()
    return {
        **data_files,
        PUBLIC: pretty(origin.public.to_json()),
        **origin.transcript.to_files(),
        README: escape(_readme(release, sorted(data_files), word), lines=True).encode(),
    }


def _readme(release: Release, data_files: list[str], word: Callable[[str], str]) -> str:
    """Return the text that greets whoever opens the folder."""
    origin = release.provenance
    names = (REPORT, *data_files, certificates.NAME, PUBLIC, *TRANSCRIPT_FILES, README)
    widest = max(map(len, names)) + 4
    listed = "\n".join(_file_line(name, widest, word) for name in names)
    first = f"Open {REPORT} first; if it is not there, `sfumato report THIS-FOLDER` draws it."
    check = (
        f"compares every file with {certificates.NAME}, rebuilds the release from "
        f"{TRANSCRIPT_FILES[0]} and {TRANSCRIPT_FILES[1]} without any data, and states the "
        "guarantee in plain words."
    )
    return (
        f"{_wrap_text(word(release.words()))}\n\n"
        f"{_wrap_text(first)}\n\n"
        f"What is promised\n\n{_wrap_text(word(origin.guarantee.words()))}\n\n"
        f"The files\n\n{listed}\n\n"
        f"How to check it\n\n  sfumato verify THIS-FOLDER\n\n{_wrap_text(word(check))}\n\n"
        f"Made {origin.time} with {origin.method.name}.\n"
    )


def _wrap_text(text: str, first: str = "", indent: int = 0) -> str:
    """Return text in lines that fit a screen; names and formulas stay whole."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _file_line(name: str, widest: int, word: Callable[[str], str]) -> str:
    """Return what a file is, after its name."""
    words = word(FILE_WORDS.get(name, "published data"))
    return _wrap_text(words, f"  {name}".ljust(widest), widest)


def _read(path: Path) -> tuple[bytes, dict[str, Any], dict[str, bytes]]:
    """Return the certificate of a folder, as bytes and read, and the files it lists."""
    place = path / certificates.NAME
    if not _is_plain(place):
        raise NotARelease(f"{path} holds no {certificates.NAME}; it is not a saved release")
    content = _content(place, certificates.LARGEST)
    try:
        document = certificates.read(content)
    except (ValueError, RecursionError):
        raise NotARelease(f"{place} is damaged: it is not a certificate") from None
    files: dict[str, bytes] = {}
    room = LARGEST_RELEASE
    for name in document["files"]:
        if Path(name).name != name or len(name) > 200:
            raise NotARelease(f"{place} lists a file outside its folder")
        if _is_plain(path / name):
            files[name] = _content(path / name, room)
            room -= len(files[name])
    return content, document, files


def _is_plain(place: Path) -> bool:
    """Tell whether a file is there: no link, whose text could say anything, no pipe or device."""
    return place.is_file() and not place.is_symlink()


def _content(place: Path, most: int) -> bytes:
    """Return the bytes of a file; one that is too large for a release is not read at all."""
    with place.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # One byte more: a file that grows meanwhile has another hash, too.
        content = file.read(size + 1) if size <= most else b""
    if max(size, len(content)) > most:
        raise NotARelease(
            f"{place.name} has {size:,} bytes, more than the {most:,} that a release of this "
            "version can have"
        )
    return content


def _rebuild(document: dict[str, Any], files: dict[str, bytes]) -> Release:
    """Rebuild a release from its parameters, its public part and its transcript."""
    for name in (PUBLIC, *TRANSCRIPT_FILES):
        if name not in files:
            raise NotARelease(f"{name} is missing; the release cannot be rebuilt")
    method = registry.resolve(document["method"]).from_parameters(document["parameters"])
    facts = registry.resolve(f"public.{document['public']['kind']}")
    public = facts.from_json(json.loads(files[PUBLIC]))
    transcript = Transcript.from_files(files)
    specification = door.Specification.of(method, public)
    if specification != specification.narrowest(transcript):
        raise ValueError(f"{PUBLIC} declares more than such a release uses")
    return door.build(
        specification,
        transcript,
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
    outcome = verify(path, report=False)
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

    def __post_init__(self) -> None:
        # Words may repeat what the folder says; they are shown as one line.
        object.__setattr__(self, "words", escape(self.words))

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
    booked
        Whether the ledger was there, and holds the release.
    """

    checks: tuple[Check, ...]
    release: Release | None = None
    booked: bool = False

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

    def words(self) -> str:
        """Return what is promised, as far as it was checked, or that nothing is."""
        if self.passed and self.guarantee is not None:
            return self.guarantee.words(checked=self.booked)
        return "This release cannot be trusted: see the lines marked BAD."

    def __str__(self) -> str:
        lines = [f"{check.mark} {check.words}" for check in self.checks]
        return "\n".join([*lines, "", self.words()])

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
    path: str | Path,
    *,
    key: str | Path | None = None,
    ledger: LedgerLike = None,
    report: bool = True,
) -> Verification:
    """Check a saved release: files, signature, ledger entry, and the release rebuilt.

    Nothing is rebuilt, and no file but the certificate parsed, unless all hashes and the signature
    are right.

    Parameters
    ----------
    path
        The folder that `save` wrote.
    key
        The public key that must have signed; without one any valid signature passes.
    ledger
        The ledger in which the release should be booked, or the path of its file.
    report
        Whether the page of the release, if there is one, is drawn again and compared.
    """
    refuse_broken_fork()
    book = open_ledger(ledger)
    folder = Path(path)
    content, document, files = _read(folder)
    checks = [
        _run_check("files", lambda: _check_files(folder, content, document, files)),
        _run_check("signature", lambda: _check_signature(document, key)),
    ]
    if not all(check.passed for check in checks):
        return Verification(tuple(checks))
    rebuilt: list[Release] = []

    def rebuild() -> str:
        rebuilt.append(_rebuild(document, files))
        _follows(rebuilt[0], files)
        return (
            "the release was rebuilt from its transcript, without any data; its privacy loss is "
            "within the guarantee"
        )

    checks.append(_run_guarded_check("rebuild", rebuild))
    if not checks[-1].passed:
        return Verification(tuple(checks))
    (release,) = rebuilt
    checks += _compare_all_files(release, document, files)
    if report and (folder / REPORT).exists() and all(check.passed for check in checks):
        checks.append(_run_check("report", lambda: _check_page(folder, release, document, checks)))
    if book is not None:
        checks.append(_run_guarded_check("ledger", lambda: _check_booking(document, release, book)))
    elif release.provenance.ledger is not None:
        words = f"note: no ledger was given, so {release.guarantee.ledger} was not checked"
        checks.append(Check("ledger", True, words, remark=True))
    booked = book is not None and checks[-1].passed
    return Verification(tuple(checks), release, booked)


def _follows(release: Release, files: dict[str, bytes]) -> None:
    """Raise unless a transcript is in its one form; `door.build` compared it with its method."""
    transcript = release.transcript
    for name, content in transcript.to_files().items():
        if files[name] != content:
            raise ValueError(surplus(name, files[name], content))


def _compare_all_files(
    release: Release, document: dict[str, Any], files: dict[str, bytes]
) -> list[Check]:
    """Compare all files and the certificate with those that follow."""
    here = certificates.was_made_here(document)
    found: list[Differences] = []

    def agree() -> str:
        mine = release.files()
        told = {name: files[name] for name in mine if name in files}
        differences = compare(mine, told, exactly=True)
        if differences.wrong and not here:
            differences = release.differences(told)
        if differences.wrong:
            wrong = differences.wrong[0]
            raise ValueError(f"the published data are not what the transcript gives: {wrong}")
        found.append(differences)
        return "the published data are what the transcript gives"

    def stated() -> str:
        found.append(_check_statements(release, document, files, here))
        return "the certificate states what follows from the method, the facts and the transcript"

    checks = [_run_guarded_check("data", agree), _run_guarded_check("certificate", stated)]
    told = sum(found, Differences()).words()
    if told:
        words = (
            f"note: {told} differ, as they may on another platform; it was made with "
            f"{certificates.elsewhere(document)}"
        )
        checks.append(Check("platform", True, words, remark=True))
    return checks


def _check_statements(
    release: Release, document: dict[str, Any], files: dict[str, bytes], here: bool
) -> Differences:
    """Compare all that a certificate states with what follows from method, facts and transcript."""
    certificates.check_forms(document)
    mine = pretty(release.provenance.public.to_json())
    if mine != files[PUBLIC]:
        raise ValueError(surplus(PUBLIC, files[PUBLIC], mine))
    found = _compare_statements(release, document, files, here, str)
    if found.wrong:
        former = _compare_statements(release, document, files, here, restore_former)
        if not former.wrong:
            return former
        made_by, version = document["versions"].get("sfumato"), certificates.versions()["sfumato"]
        # Another version may have other words, and it alone can tell.
        hint = f"; it was made by version {made_by}: verify it with that" * (made_by != version)
        raise ValueError(f"it does not match such a release: {found.wrong[0]}{hint}")
    return found


def _compare_statements(
    release: Release,
    document: dict[str, Any],
    files: dict[str, bytes],
    here: bool,
    word: Callable[[str], str],
) -> Differences:
    """Compare a certificate and the text beside it with those that follow, in some wording."""
    mine = _files(release, word)
    expected = certificates.certify(release, mine)
    # These do not follow from the release: their form was looked at, and files by their hashes.
    expected |= {name: document[name] for name in ("versions", "code")}
    expected["files"] = {name: digest(files[name]) for name in sorted(mine) if name in files}
    own = {name: pretty(part) for name, part in expected.items()}
    own |= {name: word(own[name].decode()).encode() for name in ("guarantee", "plan")}
    method = release.provenance.method
    present = rename_former(type(method), document["parameters"])
    # A parameter that the version of the folder did not have has its default.
    for item in fields(method):
        if item.name not in present and getattr(method, item.name) == item.default:
            present[item.name] = expected["parameters"][item.name]
    told = {name: pretty(document[name]) for name in own} | {"parameters": pretty(present)}
    # The figures of a plan are computed; all else is exact.
    loose = ("plan",)
    found = compare(
        {name: own[name] for name in own if name not in loose},
        {name: told[name] for name in own if name not in loose},
        exactly=True,
    )
    found += compare(
        {**{name: own[name] for name in loose}, README: mine[README]},
        {**{name: told[name] for name in loose}, README: files.get(README, b"")},
        exactly=here,
    )
    return found


def _check_page(
    folder: Path, release: Release, document: dict[str, Any], checks: list[Check]
) -> Check:
    """Draw the page of a release again and compare it with the one in its folder."""
    compare_page = registry.resolve("report.compare_page")
    content = _content(folder / REPORT, LARGEST_PAGE)
    words = compare_page(content, release, document, Verification(tuple(checks), release))
    return Check("report", True, words, remark=words.startswith("note"))


def _run_check(name: str, check: Callable[[], Check]) -> Check:
    """Run a check that makes its own words; an error becomes a failed check."""
    try:
        return check()
    except (Exception, RecursionError) as error:
        return Check(name, False, f"{name}: {error}")


def _run_guarded_check(name: str, check: Callable[[], str]) -> Check:
    """Run a check; whatever a damaged folder makes it raise becomes a failed check."""
    return _run_check(name, lambda: Check(name, True, check()))


def _check_files(
    folder: Path, content: bytes, document: dict[str, Any], files: dict[str, bytes]
) -> Check:
    """Compare every file with its hash, and look for files nobody certified."""
    sealed = document["digest"] == digest(certificates.body_of(document))
    if content != pretty(document) or not sealed:
        return Check("files", False, f"{certificates.NAME} was changed after it was written")
    for name, expected in document["files"].items():
        if name not in files:
            return Check("files", False, f"{name} is missing")
        if digest(files[name]) != expected:
            return Check("files", False, f"{name} was changed after it was certified")
    known = {*document["files"], certificates.NAME, REPORT}
    strange = sorted(place.name for place in folder.iterdir() if place.name not in known)
    if strange:
        return Check("files", False, f"{strange[0]} is not part of the certified release")
    if os.path.lexists(folder / REPORT) and not _is_plain(folder / REPORT):
        return Check("files", False, f"{REPORT} is not a plain file")
    return Check("files", True, f"all {len(files)} files are as they were certified")


def _check_signature(document: dict[str, Any], key: str | Path | None) -> Check:
    """Check the signature, and that it is by the expected key."""
    public = certificates.check_signature(document)
    if public is None:
        return Check(
            "signature",
            key is None,
            "note: not signed; hashes detect damage, but not a forgery of the whole folder",
            remark=True,
        )
    if key is not None and keys.public_hex(keys.load_public(key)) != keys.public_hex(public):
        return Check("signature", False, "it was signed by another key than the one you gave")
    whose = "the key you gave" if key is not None else f"key {keys.fingerprint(public)}"
    return Check("signature", True, f"signed by {whose}")


def _check_booking(document: dict[str, Any], release: Release, ledger: Ledger) -> str:
    """Check that the release is booked where it says, as what it is."""
    stated = document["ledger"]
    if not stated or stated["identity"] != ledger.identity:
        raise ValueError(f"the release is not booked in {ledger.name}")
    ledger.check()
    found = [entry for entry in ledger.history() if entry.number == stated["entry"]]
    if not found or found[0].hash != stated["head"]:
        raise ValueError(f"{ledger.name} does not hold entry {stated['entry']} of the certificate")
    (entry,) = found
    later = {"ledger": None, "statement": None}
    if entry.kind == "session":
        # Which columns its questions name, and so what is taken as public, is not known before.
        later["public"] = None
    booked, claimed = {**entry.guarantee.to_json(), **later}, {**document["guarantee"], **later}
    # An entry, or a certificate, from before a parameter was renamed states its former name.
    spent, stated_parameters = (
        rename_former(type(release.provenance.method), parameters)
        for parameters in (entry.parameters, document["parameters"])
    )
    if (entry.method, spent, booked) != (document["method"], stated_parameters, claimed):
        raise ValueError(f"{entry.reference} was booked for another release")
    if entry.note != f"transcript {release.transcript.digest()}":
        raise ValueError(f"{entry.reference} was booked for another transcript")
    return (
        f"booked as {entry.reference} for this transcript, and the entry is in the "
        "ledger's hash chain"
    )
