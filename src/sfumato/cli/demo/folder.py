"""The folder that the demo leaves behind."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.cli.exits import ExitCode, Refusal

#: Only a folder that carries this file is ever replaced.
MARK = ".sfumato-demo"


@dataclass(frozen=True)
class Places:
    """Where everything of the demo is.

    Parameters
    ----------
    root
        The folder itself.
    """

    root: Path

    @property
    def data(self) -> Path:
        """The synthetic private data."""
        return self.root / "data" / "clinic.csv"

    @property
    def schema(self) -> Path:
        """The declaration of the data."""
        return self.root / "data" / "clinic.schema.toml"

    @property
    def ledger(self) -> Path:
        """The account of the data."""
        return self.root / "data" / "clinic.ledger"

    @property
    def key(self) -> Path:
        """The demo's own signing key."""
        return self.root / "data" / "demo-key.pem"

    @property
    def release(self) -> Path:
        """The release: what would be published."""
        return self.root / "release"

    @property
    def synthetic(self) -> Path:
        """Synthetic visits drawn from the release."""
        return self.root / "synthetic-visits.csv"

    @property
    def report(self) -> Path:
        """The page of the release."""
        return self.root / "report.html"

    @property
    def start(self) -> Path:
        """The page to open first."""
        return self.root / "start-here.html"

    @property
    def readme(self) -> Path:
        """The same in plain text."""
        return self.root / "README.txt"

    @property
    def pictures(self) -> Path:
        """The pictures."""
        return self.root / "pictures"


def prepare(root: Path, *, force: bool) -> None:
    """Make the folder, replacing only what an earlier demo made.

    Parameters
    ----------
    root
        The folder.
    force
        Whether the folder of an earlier demo is replaced.
    """
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        ours = (root / MARK).is_file()
        if not force:
            advice = "use --force to replace it" if ours else "choose another folder with --out"
            raise Refusal(ExitCode.USAGE, f"{root} exists and is not empty; {advice}")
        if not ours:
            raise Refusal(
                ExitCode.USAGE,
                f"{root} was not made by the demo, so --force does not replace it; choose another "
                "folder with --out",
            )
        shutil.rmtree(root)
    (root / "data").mkdir(parents=True, exist_ok=True)
    (root / "pictures").mkdir()
    (root / MARK).write_text("sfumato demo may replace this folder.\n", encoding="utf-8")


README = """\
A synthetic clinic, released with sfumato
=========================================

Open start-here.html first.

  start-here.html        an overview of this folder, with pictures
  report.html            the report of the release: contents, guarantee, verification
  release/               what would be published: counts, transcript, certificate
  synthetic-visits.csv   synthetic visits drawn from the release
  pictures/              the released counts beside the truth
  data/                  what would stay private: the visits, their schema, the ledger, the key

The people in data/ are synthetic, from a fixed seed; that is why this folder may compare the
release with the truth. With real data that comparison is for the custodian only.

Try it:

  sfumato verify release --key data/demo-key.pub --ledger data/clinic.ledger
  sfumato ledger history data/clinic.ledger
  sfumato table plan data/clinic.csv --epsilon 0.5
  sfumato table evaluate data/clinic.csv release

The guarantee
-------------

"""


def write_readme(places: Places, promise: str) -> None:
    """Write the text that greets whoever opens the folder."""
    places.readme.write_text(f"{README}{promise}\n", encoding="utf-8")


def write_start(places: Places, facts: dict[str, Any]) -> None:
    """Write the page to open first.

    Parameters
    ----------
    places
        Where everything is.
    facts
        What the page tells.
    """
    from sfumato.report.page import templates

    page = templates("sfumato.cli.demo").get_template("start_here.html").render(**facts)
    places.start.write_text(page, encoding="utf-8")
