"""The story of the demo, told while it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.demo import pictures
from sfumato.cli.demo.folder import Places, write_readme, write_start
from sfumato.cli.demo.population import MAX_ROWS, PERSONS, TABLES, Clinic, clinic
from sfumato.cli.releasing import print_plan
from sfumato.cli.screen import Screen
from sfumato.data.schema import Schema
from sfumato.data.table import Table, read_table
from sfumato.evaluate.table import Evaluation, evaluate
from sfumato.privacy import keys, ledger_witness
from sfumato.privacy.ledger import BudgetExceeded, Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.saved import Verification, verify
from sfumato.rehearsal import rehearse
from sfumato.report.page import save_report
from sfumato.tabular.marginals import Marginals
from sfumato.tabular.noisy_tables import NoisyTables

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = PureDP(3)
EPSILON = 1
TOO_MUCH = "2.5"


class Teller:
    """Tells the story on a screen, unless the screen wants JSON."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._number = 0

    def chapter(self, title: str) -> None:
        """Begin the next step."""
        self._number += 1
        self._print("")
        self._print(f"{self._number}  {title}", style="bold")

    def say(self, words: str) -> None:
        """Say a sentence or two."""
        self._print(words)

    def plan(self, plan: Any) -> None:
        """Show a plan."""
        if not self._screen.as_json:
            print_plan(self._screen.out, plan)

    def _print(self, words: str, style: str = "") -> None:
        if not self._screen.as_json:
            out = self._screen.out
            out.print(words, style=style, soft_wrap=not out.is_terminal)


def tell(screen: Screen, root: Path) -> dict[str, Any]:
    """Run the workflow, say what happens, and return it for programs."""
    places, teller = Places(root), Teller(screen)
    with screen.working("generating a synthetic clinic"):
        made = _make(teller, places)
    ledger, method, table = _prepare(screen, teller, places)
    with screen.working("rehearsing"):
        _rehearse(teller, method, table)
    with screen.working("releasing"):
        release = _release(teller, places, ledger, method, table)
    with screen.working("checking the release"):
        checked = _check(teller, places, ledger)
    with screen.working("comparing with the truth"):
        outcomes = _compare(teller, made, table, release)
    refusal = _overspend(teller, ledger, table)
    with screen.working("drawing the pages"):
        _leave(teller, places, table, release, outcomes, refusal)
    return _document(places, release, checked, outcomes, refusal)


def _make(teller: Teller, places: Places) -> Clinic:
    made = clinic()
    made.visits.write_csv(places.data)
    made.schema.write(places.schema)
    teller.chapter("A synthetic clinic")
    teller.say(
        f"{PERSONS:,} synthetic persons and {made.visits.height:,} visits, from a fixed seed, so "
        f"that the truth is known: {places.data}"
    )
    return made


def _prepare(screen: Screen, teller: Teller, places: Places) -> tuple[Ledger, Marginals, Table]:
    teller.chapter("The first question: can one person have several rows?")
    teller.say(
        f"Yes. So the unit is a person, and at most {MAX_ROWS} visits of each person are used."
    )
    teller.chapter("A ledger that cannot be overdrawn")
    # The ledger of an earlier demo was of synthetic people.
    ledger_witness.forget(places.ledger.absolute())
    ledger = Ledger.create(places.ledger, allow=ALLOWED, unit="person")
    teller.say(f"All releases together may spend {ALLOWED}: {places.ledger}")
    with screen.working("reading the visits"):
        table = read_table(places.data, places.schema)
    method = Marginals(epsilon=EPSILON, tables=TABLES)
    teller.chapter("The plan, before anything is spent")
    teller.plan(method.plan(table.public))
    return ledger, method, table


def _rehearse(teller: Teller, method: Marginals, table: Table) -> None:
    rehearsal = rehearse(method, table.public)
    teller.chapter("A rehearsal on synthetic rows, at no privacy loss")
    teller.say(f"It succeeded: about {rehearsal.total:,.0f} rows. {rehearsal.guarantee.words()}")


def _release(
    teller: Teller, places: Places, ledger: Ledger, method: Marginals, table: Table
) -> NoisyTables:
    release = method.release(table, ledger=ledger)
    keys.generate(places.key)
    release.save(places.release, key=places.key)
    teller.chapter("The release")
    teller.say(release.words())
    teller.say(f"Spent {ledger.spent}, left {ledger.remaining}.")
    return release


def _check(teller: Teller, places: Places, ledger: Ledger) -> Verification:
    checked = verify(places.release, key=keys.public_path(places.key), ledger=ledger)
    if not checked.passed:
        raise RuntimeError("the demo's own release failed its check; this is a fault of sfumato")
    teller.chapter("Verification, without any data")
    for item in checked.checks:
        teller.say(f"ok  {item.words}")
    return checked


def _compare(
    teller: Teller, made: Clinic, table: Table, release: NoisyTables
) -> dict[str, Evaluation]:
    """Compare with the visits that were let in, and with all of them."""
    columns = {column.name: column.coding for column in made.schema.columns}
    every = Table(made.visits, Schema.from_dict(columns))
    outcomes = {"used": evaluate(table, release), "all": evaluate(every, release)}
    teller.chapter("Comparison with the truth (possible only because the data are synthetic)")
    for name, what in (("used", "the visits that were used"), ("all", "all visits")):
        ones, twos = (summary.average or 0.0 for summary in outcomes[name].by_ways)
        teller.say(
            f"Against {what}: {100 * ones:.1f} % of the rows misplaced in one-way tables and "
            f"{100 * twos:.1f} % in two-way tables, on average (total variation distance)."
        )
    return outcomes


def _overspend(teller: Teller, ledger: Ledger, table: Table) -> str:
    teller.chapter("A release beyond the budget")
    try:
        Marginals(epsilon=TOO_MUCH, tables=TABLES).release(table, ledger=ledger)
    except BudgetExceeded as refusal:
        teller.say(f"{refusal}.")
        return str(refusal)
    raise RuntimeError("the ledger was overdrawn; this is a fault of sfumato")


def _leave(
    teller: Teller,
    places: Places,
    table: Table,
    release: NoisyTables,
    outcomes: dict[str, Evaluation],
    refusal: str,
) -> None:
    """Write the pages, the pictures and the synthetic visits."""
    release.sample().write_csv(places.synthetic)
    save_report(places.release, places.report)
    drawn = _draw(places, table, release)
    write_readme(places, release.guarantee.words())
    write_start(
        places,
        {
            "title": "A synthetic clinic",
            "persons": PERSONS,
            "max_rows": MAX_ROWS,
            "guarantee": release.guarantee,
            "words": release.words(),
            "columns": [drawn[name] for name in release.public.columns],
            "hypertension": drawn["hypertension by age"],
            "smokers": drawn["smokers by age"],
            "used": outcomes["used"],
            "all": outcomes["all"],
            "refusal": refusal,
        },
    )
    teller.chapter("The results")
    teller.say(f"Open {places.start}")
    teller.say(f"Then {places.report}; {places.synthetic} holds synthetic rows.")


def _draw(places: Places, table: Table, release: NoisyTables) -> dict[str, str]:
    """Draw the pictures into files, and return them for the page."""
    hypertension = pictures.share_by_age(
        table, release, "diagnosis", "hypertension", "Visits for hypertension, by age"
    )
    smoking = pictures.share_by_age(table, release, "smoker", "yes", "Visits of smokers, by age")
    drawings = {
        name: ((3.3, 2.5), pictures.one_column(table, release, name))
        for name in release.public.columns
    }
    drawings["hypertension by age"] = ((4.6, 3.2), hypertension)
    drawings["smokers by age"] = ((4.6, 3.2), smoking)
    return {
        name: pictures.save(places.pictures / f"{name.replace(' ', '-')}.svg", name, size, draw)
        for name, (size, draw) in drawings.items()
    }


def _document(
    places: Places,
    release: NoisyTables,
    checked: Verification,
    outcomes: dict[str, Evaluation],
    refusal: str,
) -> dict[str, Any]:
    return {
        "folder": str(places.root),
        "start": str(places.start),
        "report": str(places.report),
        "release": str(places.release),
        "guarantee": release.guarantee.to_json(),
        "verification": checked.to_json(),
        "compared_with_used_visits": outcomes["used"].to_json(),
        "compared_with_all_visits": outcomes["all"].to_json(),
        "refused": refusal,
    }
