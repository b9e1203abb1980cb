"""`sfumato attack membership | traits | identity`: attacks on genomic releases. Not private."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.options import parse_names, refuse_extreme, refuse_unwritable
from sfumato.cli.releasing import show_comparison
from sfumato.cli.screen import JsonOption, Screen, answering, print_blocks

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.attacks.genomic_outcome import GenomicOutcome
    from sfumato.genomics.calls import Calls
    from sfumato.genomics.trait_network import TraitNetwork


class TableChoice(StrEnum):
    """The conditional table of a site with several traits."""

    LEMMA7 = "lemma7"
    NORMALISED = "lemma7_normalised"
    LOG_ODDS = "log_odds"


class CodingChoice(StrEnum):
    """How two alleles become the state of a site."""

    ALLELE = "allele"
    CARRIER = "carrier"
    HOMOZYGOUS = "homozygous"
    DOSAGE = "dosage"


class EvidenceChoice(StrEnum):
    """Which sites are evidence about a trait."""

    ALL = "all"
    OWN_SITES = "own_sites"


class MethodChoice(StrEnum):
    """How records are weighed."""

    LIKELIHOOD_RATIO = "likelihood_ratio"
    LIKELIHOOD = "likelihood"


class GroupChoice(StrEnum):
    """The group whose frequencies were released."""

    CASES = "cases"
    CONTROLS = "controls"
    PARTICIPANTS = "participants"


def _calls_argument(what: str) -> Any:
    return typer.Argument(metavar="FILE", help=what, show_default=False)


PageOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a page for the ethics board, as .html. Not private."),
]
SitesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The names of the columns of .npy files: a CSV with site."),
]
EpsilonsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS",
        help="Also attack with the noise of private releases at these losses, as 0.5,1,2.",
    ),
]
CatalogueOption = Annotated[
    Path, typer.Option(metavar="FILE", help="The GWAS catalogue, tab-separated.")
]
PrevalenceOption = Annotated[
    Path,
    typer.Option(
        metavar="FILE", help="A CSV with trait and prevalence; these traits make the model."
    ),
]
PopulationOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A CSV with site, allele and frequency, for sites with several traits; by default the "
        "mean of the control frequencies.",
    ),
]
ReleasedOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also attack with these released frequencies: a CSV with trait, site, allele, cases, "
        "controls.",
    ),
]
TruthOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Who has which trait: a CSV with a column of 0 and 1 each."),
]
StudyOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The trait of a released file without a column trait."),
]
PeopleOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="The number of cases, and of controls, of each study (--epsilons)."
    ),
]
BitsOption = Annotated[
    bool,
    typer.Option("--bits", help="Entries are bits (the allele is there or not), not counts."),
]
TableOption = Annotated[
    TableChoice, typer.Option(help="The conditional table of a site with several traits.")
]
CodingOption = Annotated[
    CodingChoice, typer.Option(help="How two alleles become the state of a site.")
]


def add_commands(app: typer.Typer) -> None:
    """Add the attacks on genomic releases to `sfumato attack`."""
    commands: tuple[tuple[str, Callable[..., None]], ...] = (
        ("membership", membership),
        ("traits", traits),
        ("identity", identity),
    )
    for name, command in commands:
        app.command(name, epilog=EPILOG)(command)


def membership(
    members: Annotated[Path, _calls_argument("Calls of the people in the group: CSV or .npy.")],
    others: Annotated[Path, typer.Option(metavar="FILE", help="Calls of people outside it.")],
    reference: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Calls of a reference sample, or its frequencies with --reference-people.",
        ),
    ],
    reference_people: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="The file of the reference has frequencies of N."),
    ] = None,
    released: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Attack these released frequencies of the group; by default the exact ones.",
        ),
    ] = None,
    group: Annotated[
        GroupChoice | None,
        typer.Option(help="Whose frequencies of the released file are attacked, if it has more."),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="The size of the group; by default the number of members."
        ),
    ] = None,
    noise_deviation: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="The standard deviation of the noise on a frequency; by default from its margins.",
        ),
    ] = None,
    released_epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The privacy loss of that file, for the bound."),
    ] = None,
    epsilons: EpsilonsOption = None,
    sites: SitesOption = None,
    out: PageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find out who was in a group from its allele frequencies. NOT PRIVATE: for the custodian."""
    with answering(as_json) as screen:
        from sfumato.attacks.frequency_files import read_frequencies
        from sfumato.attacks.group_frequencies import GroupFrequencies
        from sfumato.attacks.membership import MembershipInference
        from sfumato.noise.exact import exact

        refuse_unwritable(out, (".html",))
        refuse_extreme(epsilon=released_epsilon)
        losses = _parse_losses(epsilons)
        if released_epsilon is not None and released is None:
            raise Refusal(ExitCode.USAGE, "--released-epsilon needs --released FILE")
        inside, outside = (_read_calls(path, sites) for path in (members, others))
        if reference_people is None:
            known = GroupFrequencies.of(_read_calls(reference, sites))
        else:
            known = read_frequencies(reference, people=reference_people)
        frequencies = GroupFrequencies.of(inside)
        releases = {"exact": frequencies}
        if released is not None:
            loss = None if released_epsilon is None else float(exact(released_epsilon))
            releases[released.name] = read_frequencies(
                released,
                group=None if group is None else group.value,
                people=people or inside.people,
                noise=noise_deviation,
                epsilon=loss,
            )
        releases |= {f"ε = {text}": frequencies.with_noise(loss) for text, loss in losses}
        with screen.working("attacking"):
            outcome = MembershipInference().run(inside, outside, releases, known)
        _answer(screen, outcome, out)


def traits(
    calls: Annotated[Path, _calls_argument("Calls of people, one row each: CSV or .npy.")],
    catalogue: CatalogueOption,
    prevalence: PrevalenceOption,
    population: PopulationOption = None,
    released: ReleasedOption = None,
    study: StudyOption = None,
    truth: TruthOption = None,
    infer: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="The traits to infer; by default all of the model."),
    ] = None,
    evidence: Annotated[
        EvidenceChoice, typer.Option(help="Which sites are evidence about a trait.")
    ] = EvidenceChoice.ALL,
    epsilons: EpsilonsOption = None,
    people: PeopleOption = None,
    cpt: TableOption = TableChoice.NORMALISED,
    coding: CodingOption = CodingChoice.ALLELE,
    bits: BitsOption = False,
    sites: SitesOption = None,
    out: PageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Infer the traits of people from their genotypes. NOT PRIVATE: for the custodian."""
    with answering(as_json) as screen:
        from sfumato.attacks.traits import TraitInference
        from sfumato.genomics.calls import read_truth

        refuse_unwritable(out, (".html",))
        names = None if infer is None else parse_names(infer, what="traits", example="COPD,height")
        attack = TraitInference(traits=names, evidence=evidence.value)
        networks, _ = _read_networks(screen, catalogue, prevalence, population, released, study,
                                     epsilons, people, cpt, coding)  # fmt: skip
        found = _read_calls(calls, sites, bits)
        known = None if truth is None else read_truth(truth)
        with screen.working("attacking"):
            outcome = attack.run(networks, found, truth=known)
        _answer(screen, outcome, out)


def identity(
    records: Annotated[Path, _calls_argument("The anonymous records, one row each: CSV or .npy.")],
    catalogue: CatalogueOption,
    prevalence: PrevalenceOption,
    population: PopulationOption = None,
    released: ReleasedOption = None,
    study: StudyOption = None,
    truth: TruthOption = None,
    method: Annotated[
        MethodChoice, typer.Option(help="Weigh records by the ratio, or as published.")
    ] = MethodChoice.LIKELIHOOD_RATIO,
    runs: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="The number of simulated targets, without --truth."),
    ] = 1000,
    epsilons: EpsilonsOption = None,
    people: PeopleOption = None,
    cpt: TableOption = TableChoice.NORMALISED,
    coding: CodingOption = CodingChoice.ALLELE,
    bits: BitsOption = False,
    sites: SitesOption = None,
    out: PageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the record of a person with known traits. NOT PRIVATE: for the custodian."""
    with answering(as_json) as screen:
        from sfumato.attacks.identity import IdentityInference
        from sfumato.genomics.calls import read_truth

        refuse_unwritable(out, (".html",))
        attack = IdentityInference(method=method.value)
        fixed, noisy = _read_networks(screen, catalogue, prevalence, population, released, study,
                                      epsilons, people, cpt, coding)  # fmt: skip
        found = _read_calls(records, sites, bits)
        known = None if truth is None else read_truth(truth)
        with screen.working("attacking"):
            if known is None:
                # Every simulated target meets fresh noise.
                outcome = attack.simulate({**fixed, **noisy}, found, runs=runs)
            else:
                outcome = attack.run(fixed, found, known)
        _answer(screen, outcome, out)


def _parse_losses(epsilons: str | None) -> list[tuple[str, Fraction]]:
    """Return the losses of a text such as `0.5,1`, each with its text."""
    if epsilons is None:
        return []
    from sfumato.noise.exact import positive

    texts = parse_names(epsilons, what="losses", example="0.5,1,2")
    for text in texts:
        refuse_extreme(epsilon=text)
    return [(text, positive(text, "epsilon")) for text in texts]


def _read_calls(path: Path, sites: Path | None, bits: bool = False) -> Calls:
    """Read calls; the names of the columns of an array come from a file of sites."""
    from sfumato.genomics.calls import read_calls, read_sites

    names = None if sites is None else read_sites(sites)
    return read_calls(path, sites=names, bits=bits)


def _read_networks(
    screen: Screen,
    catalogue: Path,
    prevalence: Path,
    population: Path | None,
    released: Path | None,
    study: str | None,
    epsilons: str | None,
    people: int | None,
    cpt: TableChoice,
    coding: CodingChoice,
) -> tuple[dict[str, TraitNetwork], dict[str, Callable[[], TraitNetwork]]]:
    """Return the models before and after privacy, and functions that make noisy ones anew."""
    from sfumato.attacks.frequency_files import read_shares, read_study
    from sfumato.attacks.group_frequencies import perturb_network
    from sfumato.genomics.catalogue import read_catalogue
    from sfumato.genomics.trait_network import TraitNetwork

    losses = _parse_losses(epsilons)
    if bool(losses) != (people is not None):
        raise Refusal(ExitCode.USAGE, "--epsilons and --people must be given together")
    with screen.working("reading the catalogue"):
        found = read_catalogue(catalogue)
    screen.note(found.words())
    chances = read_shares(prevalence, key="trait", value="prevalence")
    shares: dict[str, float] | str = "controls"
    if population is not None:
        shares = read_shares(population, key="site", value="frequency")
    network = TraitNetwork.of(
        found.of_traits(chances), chances, population=shares, cpt=cpt.value, coding=coding.value
    )
    networks = {"published": network}
    if released is not None:
        changed = network
        for trait, frequencies in read_study(released, trait=study).items():
            changed = changed.with_frequencies(trait, frequencies)
        networks[released.name] = changed
    noisy: dict[str, Callable[[], TraitNetwork]] = {
        f"ε = {text}": partial(perturb_network, network, loss, people or 1) for text, loss in losses
    }
    networks |= {label: make() for label, make in noisy.items()}
    return networks, noisy


def _answer(screen: Screen, outcome: GenomicOutcome, page: Path | None) -> None:
    """Show what an attack found, and write its page."""
    if page is not None:
        from sfumato.report.genomic_attack import save_genomic_attack

        save_genomic_attack(outcome, page)

    def show(console: Console) -> None:
        from sfumato.sections import Text

        print_blocks(console, (outcome.grid(), *map(Text, outcome.sentences())))
        if page is not None:
            console.print(f"Page (not private): {page}", soft_wrap=True)

    document = {**outcome.to_json(), "page": None if page is None else str(page)}
    show_comparison(screen, document, show)
