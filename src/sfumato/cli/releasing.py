"""Before, without, and with spending: what plans, rehearsals and releases of all kinds share.

Whatever can be refused is refused before anything is spent: the key, the ledger, the data and the
method are ready when a release begins, and so is its folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.reserve import reserved

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.cli.screen import Screen
    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.method import AnyMethod
    from sfumato.privacy.release import Release

#: Returns what only a release of its kind can tell, for programs.
Facts = Callable[[Any], dict[str, Any]]
Figures = Callable[["Console", Any], None]


def planned(screen: Screen, recipe: AnyMethod, public: Any) -> None:
    """Answer with the plan of a method."""
    from sfumato.cli.words import plan_document, show_plan

    plan = recipe.plan(public)
    screen.answer(plan_document(plan), lambda console: show_plan(console, plan))


def rehearsed(
    screen: Screen,
    recipe: AnyMethod,
    public: Any,
    *,
    rows: int | None,
    out: Path | None,
    facts: Facts,
    figures: Figures | None = None,
) -> None:
    """Run a whole release on made-up data and answer with it.

    Parameters
    ----------
    screen
        Where the answer is shown.
    recipe, public
        The method, and what is public about the data.
    rows
        How many records to make up.
    out
        Where the rehearsal is saved, if anywhere.
    facts
        What a release of this kind tells programs of itself.
    figures
        What of it is shown to people below its words, if anything is.
    """
    from sfumato.rehearsal import rehearse

    warn_of_size(screen, recipe, public)
    with reserved(out):
        with screen.working("rehearsing"):
            made = rehearse(recipe, public, rows=rows)
        if out is not None:
            made.save(out)
    document = {**_document(made, out), **facts(made), "words": made.words()}
    screen.answer(document, lambda console: show_release(console, made, out, figures))


def released(
    screen: Screen,
    recipe: AnyMethod,
    data: Any,
    *,
    out: Path,
    book: Ledger | None,
    signing: Path | None,
    report: bool,
    facts: Facts,
    figures: Figures | None = None,
) -> None:
    """Release private data and answer with what was released.

    Parameters
    ----------
    screen
        Where the answer is shown.
    recipe, data
        The method, and the private data.
    out
        The folder of the release.
    book, signing
        The ledger and the key, both tried before.
    report
        Whether report.html is added.
    facts
        What a release of this kind tells programs of itself.
    figures
        What of it is shown to people below its words, if anything is.
    """
    from sfumato.privacy import door

    warn_of_size(screen, recipe, data.public)
    with reserved(out) as room:
        with screen.working("releasing"):
            made = door.release(recipe, data, book, reserve=room)
        made.save(out, key=signing)
    page = reported(screen, out) if report else None
    document = {
        **_document(made, out),
        **facts(made),
        "words": made.words(),
        "report": None if page is None else str(page),
    }
    if book is not None:
        document["left"] = book.remaining.to_json()

    def show(console: Console) -> None:
        show_release(console, made, out, figures)
        if book is not None:
            console.print(f"Left in {book.name}: {book.remaining}", soft_wrap=True)

    screen.answer(document, show)


def warn_of_size(screen: Screen, recipe: AnyMethod, public: Any) -> None:
    """Say, before anything is spent, how much room a large release takes."""
    note = recipe.plan(public).size_note
    if note:
        screen.note(note, style="yellow")


def usable_key(key: Path | None) -> Path | None:
    """Return the key that will sign, after seeing that it can."""
    from sfumato.privacy import keys

    found = key if key is not None else keys.find_key()
    if found is not None:
        keys.load_private(found)
    return found


def opened_ledger(screen: Screen, path: Path | None) -> Ledger | None:
    """Open the ledger, or say what it means to do without."""
    from sfumato.privacy.ledger import Ledger

    if path is not None:
        return _noted(screen, Ledger.open(path))
    screen.note(
        "Without --ledger nobody keeps the sum: losses of several releases of the same data add up."
    )
    return None


def _noted(screen: Screen, ledger: Ledger) -> Ledger:
    """Return a ledger, after saying what its owner should know before it is used."""
    unsaved = ledger.unsaved()
    if unsaved:
        numbers = ", ".join(entry.reference for entry in unsaved)
        screen.note(
            f"Paid for and never saved: {numbers}. `sfumato ledger recover {ledger.path}` lists "
            "and saves them without the data."
        )
    return ledger


def reported(screen: Screen, out: Path) -> Path:
    """Add the report to a saved release."""
    from sfumato.report.page import save_report

    with screen.working("drawing the report"):
        return save_report(out)


def rebuilt(
    screen: Screen, folder: Path, kind: type[Release] | tuple[type[Release], ...], needs: str
) -> Any:
    """Return a saved release of a kind, rebuilt from its transcript.

    Parameters
    ----------
    screen
        Where progress is shown.
    folder
        The folder of the release.
    kind
        The class it must be of, or several.
    needs
        What of such a release is wanted, to begin a refusal with.
    """
    from sfumato.cli.exits import ExitCode, Refusal
    from sfumato.privacy.saved import load

    with screen.working("rebuilding the release"):
        made = load(folder)
    if not isinstance(made, kind):
        raise Refusal(ExitCode.USAGE, f"{needs}; {folder} holds {made.kind}")
    return made


def _document(made: Release, out: Path | None) -> dict[str, Any]:
    """Return a release for programs; its data are in its files."""
    origin = made.provenance
    return {
        "release": None if out is None else str(out),
        "kind": made.kind,
        "method": origin.method.name,
        "parameters": origin.method.parameters(),
        "guarantee": made.guarantee.to_json(),
        "ledger": origin.ledger,
    }


def show_release(
    console: Console, made: Release, out: Path | None, figures: Figures | None = None
) -> None:
    """Print what was released and what is promised."""
    wrap = not console.is_terminal
    console.print(made.words(), soft_wrap=wrap)
    if figures is not None:
        figures(console, made)
    console.print()
    console.print(made.guarantee.words(), soft_wrap=wrap, style="bold")
    if out is not None:
        console.print()
        console.print(f"Saved in {out}", soft_wrap=True)
