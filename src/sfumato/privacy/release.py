"""A release: what may be published, with everything needed to check it.

A release is a function of what is public and of the transcript. It never holds the data, and saving
it writes plain files only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.noise.exact import briefly
from sfumato.privacy.escaping import escape
from sfumato.privacy.file_comparison import Differences, compare
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.notebook import show_facts
from sfumato.privacy.plan import Plan
from sfumato.privacy.transcript import Transcript
from sfumato.sections import Picture, Section

if TYPE_CHECKING:
    from sfumato.privacy.method import AnyMethod
    from sfumato.privacy.unsaved import UnsavedRelease


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a release comes from.

    Parameters
    ----------
    method, public, transcript
        What it was built from, and all it was built from.
    guarantee, plan
        What it promises, and what was planned before.
    time
        When it was made, in UTC.
    ledger
        The ledger's identity, entry number and chain head; `None` if it was not booked.
    """

    method: AnyMethod
    public: Any
    transcript: Transcript
    guarantee: Guarantee
    plan: Plan
    time: str
    ledger: dict[str, Any] | None


class Release(ABC):
    """The base of all releases."""

    kind: ClassVar[str]
    _provenance: Provenance | None = None
    #: Where its transcript is kept until it is saved, if it was booked in a ledger.
    _unsaved: UnsavedRelease | None = None
    #: What was found in columns of a table whose values nobody listed.
    discovered: tuple[Any, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Escape the words of every kind of release: they repeat names out of files."""
        super().__init_subclass__(**options)
        if "words" in vars(cls):
            own: Callable[[Any], str] = vars(cls)["words"]
            cls.words = wraps(own)(lambda self: escape(own(self)))  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Return what it is in one line: the kind, what is promised, and the method."""
        origin = self._provenance
        told = "" if origin is None else f" by {origin.method.name}, {origin.guarantee}"
        return f"<{self.kind}{told}>"

    def _repr_html_(self) -> str:
        """Return the same for a notebook, with parameters, time and booking."""
        if self._provenance is None:
            return show_facts(self.kind, [])
        origin = self._provenance
        method = origin.method
        parameters = ", ".join(
            f"{item.name}={briefly(getattr(method, item.name))}" for item in fields(method)
        )
        booked = None if origin.ledger is None else origin.ledger["reference"]
        facts = [
            ("method", f"{method.name}({parameters})"),
            ("guarantee", origin.guarantee),
            ("in words", origin.guarantee.words()),
            ("made", origin.time),
            ("booked", booked or "in no ledger"),
        ]
        return show_facts(self.kind, facts)

    @property
    def provenance(self) -> Provenance:
        """Where this release comes from."""
        if self._provenance is None:
            raise RuntimeError(
                "this release was not made by a method of sfumato; call method.release(data)"
            )
        return self._provenance

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.provenance.guarantee

    @property
    def transcript(self) -> Transcript:
        """The outputs of the primitives."""
        return self.provenance.transcript

    @property
    def plan(self) -> Plan:
        """What was planned before it was spent."""
        return self.provenance.plan

    @abstractmethod
    def files(self) -> dict[str, bytes]:
        """Return the published data as plain files, name to bytes, in a fixed order."""

    def differences(self, files: dict[str, bytes]) -> Differences:
        """Return how published files differ from those of this release.

        They may have been made on another platform; `sfumato.privacy.file_comparison` says what
        may differ.
        """
        return compare(self.files(), files)

    def agrees(self, files: dict[str, bytes]) -> bool:
        """Tell whether published files are those of this release, but for the platform."""
        return not self.differences(files).wrong

    @abstractmethod
    def words(self) -> str:
        """Return what this release is, in a few plain sentences for its reader."""

    def summary(self) -> dict[str, Any]:
        """Return what only this kind of release can tell, as a plain document for programs."""
        return {}

    def sections(self) -> tuple[Section, ...]:
        """Return what the page of this release shows; by default its own picture."""
        picture = Picture("own", self.plot, "The release, as it draws itself.")
        return (Section("picture", "A picture of it", (picture,), "the release itself"),)

    @abstractmethod
    def plot(self) -> Any:
        """Return a Matplotlib figure that shows the release."""

    def save(self, path: str | Path, *, key: str | Path | None = None) -> Path:
        """Write data, transcript and certificate into a new folder.

        Parameters
        ----------
        path
            A folder that does not exist yet, or is empty.
        key
            An Ed25519 private key that signs the certificate; by default the custodian's own if
            there is one.
        """
        from sfumato.privacy.saved import save

        return save(self, Path(path), key=None if key is None else Path(key))
