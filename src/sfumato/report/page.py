"""The page of a release: one HTML file that needs nothing else, for readers and for the record.

A page is drawn from a release that was checked first; a folder that fails its check gets none. It
follows from the release and its certificate: whoever checks the release draws it again.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.privacy import certificate as certificates
from sfumato.privacy.escaping import escape
from sfumato.privacy.file_comparison import compare
from sfumato.privacy.former_words import restore_former
from sfumato.privacy.release import Release
from sfumato.privacy.saved import REPORT, Verification, verify
from sfumato.report import generic
from sfumato.report.drawing import picture_svg
from sfumato.sections import Section

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = [
    "UnsoundRelease",
    "compare_page",
    "report_page",
    "save_report",
    "templates",
    "write_page",
]


#: Parts of a certificate that may be empty, and what a page tells of them.
_OPTIONAL = {"ledger": ("reference", "identity", "head"), "signature": ("fingerprint",)}


class UnsoundRelease(ValueError):
    """A saved release failed its check, so that no page is drawn of it."""


@cache
def templates(*packages: str) -> Environment:
    """Return the environment of templates: this package's own and those of others.

    Parameters
    ----------
    packages
        Further packages whose `templates` folder is looked into.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loaders = [PackageLoader(package) for package in ("sfumato.report", *packages)]
    environment = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        # Before HTML is escaped: a browser obeys the characters that set the direction of writing.
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["svg"] = picture_svg
    return environment


def _printable(value: Any) -> Any:
    """Return a value of a template with unprintable characters replaced by their codes."""
    if not isinstance(value, str):
        return value
    if hasattr(value, "__html__"):
        # Markup: a picture, whose texts Matplotlib quoted, or a part of the page itself.
        return type(value)(escape(value, lines=True))
    return escape(value)


def report_page(
    release: Release, certificate: dict[str, Any], verification: Verification | None
) -> str:
    """Return the page of a release.

    Parameters
    ----------
    release
        The release, rebuilt from its transcript.
    certificate
        Its certificate.
    verification
        What the check said; `None` for a release that is not saved.
    """
    _refuse_malformed(certificate)
    template = templates().get_template("report.html")
    return template.render(
        title=f"A release of {'' if release.kind.endswith('s') else 'a '}{release.kind}",
        guarantee=release.guarantee,
        headline=generic.headline(release.guarantee),
        made=release.provenance.time,
        generator=_generator(),
        sections=_sections(release, certificate, verification),
    )


def _refuse_malformed(certificate: dict[str, Any]) -> None:
    """Raise for a certificate without the parts that a page tells of, each of its kind."""
    for name in ("parameters", "versions", "files"):
        _require(isinstance(certificate.get(name), dict), name)
    for name in ("versions", "files"):
        _require(_are_texts(certificate[name].values()), name)
    _require(isinstance(certificate.get("code"), str), "code")
    for name, parts in _OPTIONAL.items():
        part = certificate.get(name)
        if part is not None:
            sound = isinstance(part, dict) and _are_texts(map(part.get, parts))
            _require(sound, name)


def _require(sound: bool, name: str) -> None:
    if not sound:
        raise UnsoundRelease(
            f"the certificate is not one that sfumato wrote: its {name} cannot be read; no report "
            "is drawn of it"
        )


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _sections(
    release: Release, certificate: dict[str, Any], verification: Verification | None
) -> tuple[Section, ...]:
    return (
        generic.released_section(release, certificate),
        generic.guarantee_section(release.guarantee),
        *release.sections(),
        generic.plan_section(release),
        generic.assumptions_section(release),
        generic.ledger_section(certificate),
        generic.verification_section(verification, certificate),
        generic.ethics_section(release, certificate),
        generic.versions_section(certificate),
    )


#: What a page says of the program that drew it, and no more.
_GENERATOR = re.compile(
    rf'<meta name="generator" content="(sfumato {certificates.VERSION.pattern}; '
    rf"Matplotlib {certificates.VERSION.pattern}; {certificates.MACHINE.pattern}; "
    r'[0-9a-f]{8})">'
)
_DRAWING = re.compile(r"<svg[ >].*?</svg>", re.DOTALL)
_TAG = re.compile(r"<(/?[^\s<>/]+)([^<>]*)>")
_ATTRIBUTE = re.compile(r'([^\s="]+)="([^"]*)"')
#: What an attribute of a picture may say unless the own page says it too: no address, however it is
#: written, but places in the page itself.
_INNER = re.compile(r"(?:[^/\\&@'()]|(?<!url)\(|url\(#|\))*")


def _generator() -> str:
    """Return what drew a page: pages of the same one are the same to the byte."""
    import matplotlib

    here = certificates.versions()
    return (
        f"sfumato {here.get('sfumato', '0')}; "
        f"Matplotlib {certificates.public_version(matplotlib.__version__)}; "
        f"{here['machine']}; {here['arithmetic']}"
    )


def compare_page(
    content: bytes, release: Release, certificate: dict[str, Any], verification: Verification
) -> str:
    """Draw the page of a release again, and return how it compares with a given one, in words.

    Parameters
    ----------
    content
        The page that is in the folder.
    release, certificate, verification
        What it must be drawn from.

    Raises
    ------
    ValueError
        If it is not the page of the release.
    """
    mine = report_page(release, certificate, verification)
    if content == mine.encode():
        return f"{REPORT} is the page that follows from the release"
    former = restore_former(mine, quote=lambda text: text.replace("'", "&#39;"))
    if content == former.encode():
        return f"{REPORT} is the page that follows from the release"
    theirs = content.decode()
    drawn_by = _GENERATOR.search(theirs)
    again = "draw it again with `sfumato report`, or delete it"
    if drawn_by is None or drawn_by[1] == _generator():
        wrong = compare({REPORT: mine.encode()}, {REPORT: content}, exactly=True).wrong
        raise ValueError(f"{wrong[0]}: it is not the page of this release; {again}")
    same = theirs.replace(drawn_by[1], _generator(), 1)
    found = [
        compare({REPORT: _texts(page, page)}, {REPORT: _texts(same, page)}).wrong
        for page in (mine, former)
    ]
    wrong = min(found, key=len)
    if wrong:
        raise ValueError(f"{wrong[0]}: it was drawn by {drawn_by[1]}; {again}")
    return (
        f"note: {REPORT} says what follows from the release; it was drawn by {drawn_by[1]}, so "
        "that only the texts of its pictures were compared, not their lines"
    )


def _texts(page: str, known: str) -> bytes:
    """Return a page with the texts of its pictures alone, each on a line of its own.

    Parameters
    ----------
    page
        The page.
    known
        A page whose pictures use all that pictures may use.
    """
    allowed = _words_of("".join(_DRAWING.findall(known)))

    def texts(drawing: re.Match[str]) -> str:
        strange = _words_of(drawing[0]) - allowed
        if strange:
            raise ValueError(f"a picture in {REPORT} uses {min(strange)!r}, which none does")
        return "<svg>" + "\n".join(_TAG.sub("", drawing[0]).split()) + "</svg>"

    return _DRAWING.sub(texts, page).encode()


def _words_of(drawing: str) -> set[str]:
    """Return the tags of a picture, its attributes, and what they refer to outside of it."""
    found = set()
    for name, rest in _TAG.findall(drawing):
        found.add(name)
        for attribute, value in _ATTRIBUTE.findall(rest):
            found.add(attribute)
            outside = attribute.endswith("href") and not value.startswith("#")
            if outside or not _INNER.fullmatch(value):
                found.add(value)
        if _ATTRIBUTE.sub("", rest).strip(" /\n"):
            found.add(rest)
    return found


def save_report(release: Release | str | Path, path: str | Path | None = None) -> Path:
    """Write the page of a release.

    Parameters
    ----------
    release
        A release, or the folder it was saved in, which is checked first.
    path
        The file; by default `report.html` in the folder of the saved release.
    """
    if isinstance(release, Release):
        if path is None:
            raise ValueError(
                "a release that is not saved has no folder for its report; give the path of a "
                "file, or save the release and report its folder"
            )
        document = certificates.certify(release, release.files())
        return write_page(Path(path), report_page(release, document, None))
    folder = Path(release)
    verification = verify(folder, report=False)
    if not verification.passed or verification.release is None:
        failed = next(check.words for check in verification.checks if not check.passed)
        raise UnsoundRelease(f"{folder} failed its check ({failed}); no report is drawn of it")
    document = json.loads((folder / certificates.NAME).read_bytes())
    page = report_page(verification.release, document, verification)
    return write_page(folder / REPORT if path is None else Path(path), page)


def write_page(path: Path, page: str) -> Path:
    """Write a page whole or not at all, over an older one if there is one, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=".sfumato-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    return path
