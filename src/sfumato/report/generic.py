"""What every page says, whatever the kind of release: promise, plan, account, and how to check it.

Every sentence is made from the certificate and from the release rebuilt from its transcript.
"""

from __future__ import annotations

import math
import re
from typing import Any

from sfumato.privacy.guarantee import Basis, Guarantee
from sfumato.privacy.loss import PureDP
from sfumato.privacy.release import Release
from sfumato.privacy.saved import Verification
from sfumato.report.odds import odds_blocks
from sfumato.sections import Block, Commands, Facts, Grid, Listing, Quote, Section, Text

#: The parts of a certificate that a reader may want to see side by side with this page.
CERTIFICATE = "certificate.json"
#: The checks that come out the same for everybody, with or without a key and a ledger.
CHECKED = ("files", "rebuild", "data", "certificate")


def headline(guarantee: Guarantee) -> tuple[tuple[str, str], ...]:
    """Return the few facts that stand at the top of a page."""
    if not guarantee.private:
        return (("guarantee", "none"), ("because", guarantee.caveat or "the proof does not hold"))
    # Only of a pure loss is it exactly true that odds change by no more than a factor.
    meaning = (
        ("odds change by at most", f"× {odds_factor(guarantee.loss)}")
        if isinstance(guarantee.loss, PureDP)
        else ("also", ", ".join(map(str, guarantee.also)) or "—")
    )
    return (
        ("privacy loss", str(guarantee.loss)),
        ("for any one", f"{guarantee.unit} {guarantee.relation.words}"),
        meaning,
        *((("not protected", guarantee.excludes),) if guarantee.excludes else ()),
        ("ground", "proved" if guarantee.basis is Basis.PROVED else "published"),
        ("account", guarantee.ledger or "not composed with other releases"),
    )


def odds_factor(loss: PureDP) -> str:
    """Return the factor by which odds change at most, rounded up."""
    factor = math.exp(min(float(loss.epsilon), 700.0))
    if factor >= 1e6:
        return f"{factor:.1e}"
    return f"{math.ceil(factor * 100 - 1e-9) / 100:,.2f}"


def released_section(release: Release, certificate: dict[str, Any]) -> Section:
    """Say what was released."""
    files = ", ".join(certificate["files"])
    facts = Facts(
        (
            ("method", release.provenance.method.name),
            ("parameters", _parameters(certificate["parameters"])),
            ("made", release.provenance.time),
            ("files", files),
        )
    )
    return Section("released", "What was released", (Text(release.words()), facts), CERTIFICATE)


def _parameters(parameters: dict[str, Any]) -> str:
    """Return parameters in one line, without those left at nothing."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return ", ".join(f"{name} = {_plain(value)}" for name, value in given.items())


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(" × ".join(v) if isinstance(v, list) else str(v) for v in value)
    return str(value)


def guarantee_section(guarantee: Guarantee) -> Section:
    """Say what is promised, and what it means."""
    blocks: list[Block] = [Text(guarantee.words())]
    if guarantee.private:
        blocks += odds_blocks(guarantee)
        blocks.append(Listing(_limits(guarantee)))
    source = f"{CERTIFICATE}, guarantee"
    if guarantee.proof:
        source += f"; proof: docs/proofs/{guarantee.proof}"
    return Section("promised", "What is promised", tuple(blocks), source)


def _limits(guarantee: Guarantee) -> tuple[str, ...]:
    """Return what a reader must not take the promise for."""
    unit = guarantee.unit
    together = (
        "All edges of one person together are protected less: for two of them the loss counts "
        "twice, for ten of them ten times."
        if unit == "edge"
        else f"Several {unit}s that belong together, as in a family, are protected less: for two "
        "of them the loss counts twice."
    )
    return (
        f"The promise is about the contribution of one {unit}. What is true of people in general, "
        "such as that smoking harms, may be learnt from the release and applied to anybody.",
        together,
        "It holds against everyone, whatever else they know and however much they compute. It "
        "does not cover those who have access to the private data.",
    )


def plan_section(release: Release) -> Section:
    """Show what was planned before anything was spent."""
    rows = tuple((s.what, str(s.loss), s.noise, s.error) for s in release.plan.steps)
    blocks: list[Block] = [Grid(("what", "loss", "noise", "expected error"), rows)]
    if release.plan.notes:
        blocks.append(Listing(release.plan.notes))
    return Section("planned", "What was planned, and spent", tuple(blocks), f"{CERTIFICATE}, plan")


def assumptions_section(release: Release) -> Section:
    """Say what was taken as public."""
    known = release.provenance.public.assumptions()
    points = Listing(tuple(f"{text[0].upper()}{text[1:]}." for text in known))
    intro = Text("The guarantee protects everything except what was declared to be public:")
    blocks: tuple[Block, ...] = (intro, points)
    return Section("assumed", "What was taken as public", blocks, f"{CERTIFICATE}, public")


def ledger_section(certificate: dict[str, Any]) -> Section:
    """Show the ledger entry."""
    entry = certificate.get("ledger")
    if entry is None:
        words = (
            "This release was not booked in a ledger. Losses of releases of the same data add up, "
            "and their sum is not tracked."
        )
        return Section("booked", "The account", (Text(words),), f"{CERTIFICATE}, ledger")
    facts = Facts(
        (
            ("entry", entry["reference"]),
            ("ledger", entry["identity"]),
            ("hash of the entry", entry["head"]),
        )
    )
    words = (
        "The loss was booked before the data were touched, and is never refunded. The custodian's "
        "ledger holds the sum of all releases of these data; whoever has it can check that this "
        "entry is in its chain."
    )
    return Section("booked", "The account", (Text(words), facts), f"{CERTIFICATE}, ledger")


def verification_section(verification: Verification | None, certificate: dict[str, Any]) -> Section:
    """Say how to check the release."""
    version = str(certificate["versions"].get("sfumato", ""))
    # Whoever forged a certificate must not get to write what a reader may type.
    plain = re.fullmatch(r"[0-9A-Za-z.+]+", version) is not None
    made_by = f" This release was made by version {version}." if plain else ""
    blocks: list[Block] = [
        Text(
            "Anybody can check this release without the private data. The check compares every "
            "file with the certificate, rebuilds the release from its transcript (every answer "
            "about the data), adds up all privacy losses, and states the guarantee."
        ),
        Text(
            "The check is part of sfumato, which is not on PyPI yet: type these lines in a clone "
            f"of its repository, with the path of this folder in place of THIS-FOLDER.{made_by}"
        ),
        Commands(("pip install -e .", "sfumato verify THIS-FOLDER")),
    ]
    if verification is not None:
        blocks.append(Text("Results of the check when this page was drawn:"))
        # What everybody finds who checks the release, on any platform and without ledger and key.
        words = tuple(item.words for item in verification.checks if item.name in CHECKED)
        blocks.append(Listing(words))
    signature = certificate.get("signature")
    if signature:
        blocks.append(Text(f"Compare the signing key with its owner: {signature['fingerprint']}."))
    return Section("check", "How to check it", tuple(blocks), "sfumato verify")


def ethics_section(release: Release, certificate: dict[str, Any]) -> Section:
    """Return a paragraph for an ethics board, ready to copy."""
    guarantee = release.guarantee
    if not guarantee.private:
        words = "There is no guarantee to describe: this release must not be published."
        return Section("ethics", "For an ethics board", (Text(words),), f"{CERTIFICATE}, guarantee")
    return Section(
        "ethics",
        "For an ethics board",
        (Text("A paragraph that may be copied as it is:"), Quote(_paragraph(release, certificate))),
        f"{CERTIFICATE}, guarantee, versions, ledger",
    )


def _paragraph(release: Release, certificate: dict[str, Any]) -> str:
    guarantee = release.guarantee
    account = (
        (
            "That account is tamper-evident and refuses every release that would exceed the total "
            "allowed. "
        )
        if guarantee.ledger
        else ""
    )
    persons = (
        "What is protected is one edge, not one person: the loss to a person with several edges is "
        "that many times as large. "
        if guarantee.unit == "edge"
        else ""
    )
    version = certificate["versions"].get("sfumato", "unknown")
    return (
        f"{release.words()} The release satisfies differential privacy with {guarantee.loss} for "
        f"any one {guarantee.unit} {guarantee.relation.words}. {guarantee.words()} "
        f"{persons}{account}The guarantee rests on a mathematical proof and on random noise from "
        "a cryptographic source, not on the removal of names; it does not depend on what anyone "
        f"knows or will know. The release was made on {release.provenance.time[:10]} with sfumato "
        f"{version} ({release.provenance.method.name}) and carries a certificate by which anybody "
        "can check it without access to the private data."
    )


def versions_section(certificate: dict[str, Any]) -> Section:
    """List what made the release, and the hash of each file."""
    made = tuple(sorted(certificate["versions"].items()))
    files = tuple((name, value) for name, value in certificate["files"].items())
    blocks: tuple[Block, ...] = (
        Facts((*made, ("source code", certificate["code"]))),
        Grid(("file", "SHA-256"), files),
    )
    return Section("versions", "Versions and files", blocks, f"{CERTIFICATE}, versions and files")
