"""What plans, rehearsals and releases of all kinds share.

Whatever can be refused is refused before anything is spent: the key, the ledger, the data and the
method are ready when a release begins, and so is its folder.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.reserve import reserve_folder

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.cli.screen import Screen
    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.method import AnyMethod
    from sfumato.privacy.plan import Plan
    from sfumato.privacy.release import Release

#: Shows people figures of a release below its words.
Figures = Callable[["Console", Any], None]


def show_plan(screen: Screen, method: AnyMethod, public: Any) -> None:
    """Answer with the plan of a method."""
    plan = method.plan(public)
    document = {"plan": plan.to_json(), "guarantee": plan.guarantee.to_json()}
    screen.answer(document, lambda console: print_plan(console, plan))


def print_plan(console: Console, plan: Plan) -> None:
    """Print a plan: what is measured, its privacy loss, and its expected error."""
    from sfumato.cli.screen import print_table

    console.print(f"Plan of {plan.method}: {plan.guarantee}", soft_wrap=not console.is_terminal)
    if not console.is_terminal:
        # A file or a pipe gets every line whole.
        for line in str(plan).split("\n")[1:]:
            console.print(line, soft_wrap=True)
        return
    rows = [(step.what, str(step.loss), step.noise, step.error) for step in plan.steps]
    print_table(console, ("what", "loss", "noise", "expected error"), rows)
    for note in plan.notes:
        console.print(note, style="dim")


def run_rehearsal(
    screen: Screen,
    method: AnyMethod,
    public: Any,
    *,
    rows: int | None,
    out: Path | None,
    figures: Figures | None = None,
) -> None:
    """Run a whole release on synthetic data and answer with it. Spends nothing."""
    from sfumato.rehearsal import rehearse

    _warn_of_size(screen, method, public)
    with reserve_folder(out):
        with screen.working("rehearsing"):
            made = rehearse(method, public, rows=rows)
        if out is not None:
            made.save(out)
    screen.answer(_document(made, out), lambda console: show_release(console, made, out, figures))


def run_release(
    screen: Screen,
    method: AnyMethod,
    data: Any,
    *,
    out: Path,
    book: Ledger | None,
    signing: Path | None,
    report: bool,
    figures: Figures | None = None,
) -> None:
    """Spend: release private data, save the release, and answer with it.

    Parameters
    ----------
    screen
        Where the answer is shown.
    method, data
        The method, and the private data.
    out
        The folder of the release.
    book, signing
        The ledger and the key, both tried before.
    report
        Whether report.html is added.
    figures
        What of it is shown to people below its words, if anything is.
    """
    from sfumato.privacy import door

    _warn_of_size(screen, method, data.public)
    with reserve_folder(out) as room:
        with screen.working("releasing"):
            made = door.release(method, data, book, reserve=room)
        made.save(out, key=signing)
    page = add_report(screen, out) if report else None
    document = {**_document(made, out), "report": None if page is None else str(page)}
    if book is not None:
        document["left"] = book.remaining.to_json()

    def show(console: Console) -> None:
        show_release(console, made, out, figures)
        if page is None:
            offer_report(console, out)
        if book is not None:
            console.print(f"Left in {book.name}: {book.remaining}", soft_wrap=True)

    screen.answer(document, show)


def _warn_of_size(screen: Screen, method: AnyMethod, public: Any) -> None:
    """Say, before anything is spent, how much room a large release takes."""
    note = method.plan(public).size_note
    if note:
        screen.note(note, style="yellow")


def usable_key(key: Path | None) -> Path | None:
    """Return the key that will sign, after checking that it can."""
    from sfumato.privacy import keys

    found = key if key is not None else keys.find_key()
    if found is not None:
        keys.load_private(found)
    return found


def open_ledger(screen: Screen, path: Path | None) -> Ledger | None:
    """Open the ledger and say what its owner should know, or what it means to do without."""
    from sfumato.privacy.ledger import Ledger

    if path is None:
        screen.note(
            "No --ledger given: cumulative privacy loss is not tracked. Losses of several releases "
            "of the same data add up."
        )
        return None
    ledger = Ledger.open(path)
    unsaved = ledger.unsaved()
    if unsaved:
        numbers = ", ".join(entry.reference for entry in unsaved)
        screen.note(
            f"Booked but never saved: {numbers}. `sfumato ledger recover {ledger.path}` lists and "
            "saves them without the data."
        )
    return ledger


def add_report(screen: Screen, out: Path) -> Path:
    """Add the report to a saved release."""
    from sfumato.report.page import save_report

    with screen.working("drawing the report"):
        return save_report(out)


def offer_report(console: Console, out: Path) -> None:
    """Print how a report is added to a saved release."""
    command = f"sfumato report {shlex.quote(str(out))}"
    console.print(f"To add a one-page report: {command}", soft_wrap=True)


def load_release(
    screen: Screen, folder: Path, kind: type[Release] | tuple[type[Release], ...], needs: str
) -> Any:
    """Return a saved release, rebuilt from its transcript, which must be of a kind.

    Parameters
    ----------
    screen
        Where progress is shown.
    folder
        The folder of the release.
    kind
        The class it must be of, or several.
    needs
        What such a release is needed for, to begin a refusal with.
    """
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
        **made.summary(),
        "words": made.words(),
    }


def show_release(
    console: Console, made: Release, out: Path | None, figures: Figures | None = None
) -> None:
    """Print what was released and what is guaranteed."""
    wrap = not console.is_terminal
    console.print(made.words(), soft_wrap=wrap)
    if figures is not None:
        figures(console, made)
    console.print()
    console.print(made.guarantee.words(), soft_wrap=wrap, style="bold")
    if out is not None:
        console.print()
        console.print(f"Saved in {out}", soft_wrap=True)


def show_comparison(
    screen: Screen, document: dict[str, Any], show: Callable[[Console], None]
) -> None:
    """Answer with a comparison with private data, under the warning that it is not private."""
    from sfumato.evaluate.warning import WARNING

    if screen.as_json:
        screen.note(WARNING, style="bold red")

    def show_all(console: Console) -> None:
        console.print(WARNING, style="bold red", soft_wrap=not console.is_terminal)
        show(console)

    screen.answer(document, show_all)
