"""`sfumato gwas`: from private genotypes to frequencies, associations and their most telling sites.

What is public is declared by options: the list of sites, the phenotype, and whether the numbers of
cases and controls are public.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.kind import Evaluation, Kind, MethodChoice, add_commands, add_evaluation
from sfumato.cli.methods import methods_for
from sfumato.cli.options import RelationChoice, RelationOption, RowsAboutOption
from sfumato.cli.schemas import refuse_bad

if TYPE_CHECKING:
    from sfumato.cli.screen import Screen
    from sfumato.data.genotypes import Genotypes
    from sfumato.data.genotypes_public import GenotypesPublic

#: The method that is used unless another is named.
DEFAULT = "genotypes.TopSNPs"
#: The endings of VCF files.
VCF = (".vcf", ".vcf.gz", ".bcf")
FILE_HELP = "The private genotypes: the prefix of PLINK files or their .bed file, or a VCF file."

app = typer.Typer(
    help="Genotypes of a study: plan, rehearse, release and evaluate association statistics.",
    epilog=EPILOG,
    no_args_is_help=True,
)


class GroupsChoice(StrEnum):
    """Whether the numbers of cases and controls are public."""

    PRIVATE = "private"
    PUBLIC = "public"


class MissingChoice(StrEnum):
    """What a missing call counts as."""

    HETEROZYGOUS = "heterozygous"
    REFERENCE = "reference"
    REFUSE = "refuse"


class UnknownChoice(StrEnum):
    """What is done with participants without a phenotype."""

    REFUSE = "refuse"
    DROP = "drop"


@dataclass(frozen=True)
class StudyOptions:
    """What is public about a study."""

    site_list: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.bim",
            help="The public list of sites, with the alleles that are counted; by default "
            "PREFIX.bim, which is then public.",
        ),
    ] = None
    bounds: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH",
            help="The bounds of a phenotype that is a number; without them it is case or control.",
        ),
    ] = None
    relation: RelationOption = RelationChoice.ADD_REMOVE
    groups: Annotated[
        GroupsChoice,
        typer.Option(
            help="Are the numbers of cases and controls public? If so, with --relation "
            "replace_one, tests can be released directly and sites are chosen better."
        ),
    ] = GroupsChoice.PRIVATE
    missing: Annotated[MissingChoice, typer.Option(help="What a missing call counts as.")] = (
        MissingChoice.HETEROZYGOUS
    )
    covariate_schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.schema.toml", help="The declared domains of covariates, for --strata."
        ),
    ] = None
    rows_about: RowsAboutOption = None
    cases_about: Annotated[
        int | None,
        typer.Option(metavar="N", help="About how many cases there are, for plans: public.", min=0),
    ] = None


@dataclass(frozen=True)
class ReadingOptions:
    """How private genotypes are read."""

    phenotype: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="A private table with the columns iid and phenotype; by default the sixth column "
            "of PREFIX.fam.",
        ),
    ] = None
    covariates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="A private table with the column iid and the covariates."
        ),
    ] = None
    unknown_phenotype: Annotated[
        UnknownChoice, typer.Option(help="What is done with participants without a phenotype.")
    ] = UnknownChoice.REFUSE


def _read_public(screen: Screen, file: Path | None, options: StudyOptions) -> GenotypesPublic:
    """Return what is public, from options and the list of sites alone."""
    from dataclasses import replace

    from sfumato.data.genotypes_public import GenotypesPublic
    from sfumato.data.sites import read_sites
    from sfumato.privacy.guarantee import Relation, Unit

    listed = refuse_bad(read_sites, _list_of(file, options))
    public = GenotypesPublic(
        sites=listed,
        unit=Unit.PARTICIPANT,
        relation=Relation.parse(options.relation.value),
        bounds=_parse_bounds(options.bounds),
        groups=options.groups.value,
        missing=options.missing.value,
        covariates=_read_schema(options.covariate_schema),
        rows_about=options.rows_about,
        cases_about=options.cases_about,
    )
    if public.relation is not Relation.REPLACE_ONE or public.rows_about is None:
        return public
    # Where numbers are public, a plan takes them to be what was declared.
    rows, cases = public.rows_about, None
    if public.groups == "public":
        # A release knows the number of cases; a plan without a guess takes half of all.
        cases = rows // 2 if public.cases_about is None else public.cases_about
    return replace(public, rows=rows, cases=cases)


def _list_of(file: Path | None, options: StudyOptions) -> Path:
    """Return the public list of sites."""
    if options.site_list is not None:
        return options.site_list
    if file is None or _is_vcf(file):
        raise Refusal(
            ExitCode.USAGE, "no list of sites is given; add --site-list FILE.bim, which is public"
        )
    return file.with_name(file.name.removesuffix(".bed") + ".bim")


def _is_vcf(file: Path) -> bool:
    return file.name.lower().endswith(VCF)


def _parse_bounds(text: str | None) -> tuple[float, float] | None:
    """Return the bounds that a text such as `0:10` declares."""
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise Refusal(ExitCode.USAGE, "--bounds must be LOW:HIGH, as in 0:10") from None


def _read_schema(path: Path | None) -> Any:
    """Return the declared domains of covariates."""
    if path is None:
        return None
    from sfumato.data.schema import Schema

    return refuse_bad(Schema.read, path)


def _read_private(
    screen: Screen, file: Path, options: StudyOptions, reading: ReadingOptions
) -> Genotypes:
    """Read the private genotypes."""
    facts = {
        "bounds": _parse_bounds(options.bounds),
        "relation": options.relation.value,
        "groups": options.groups.value,
        "missing": options.missing.value,
        "covariate_schema": _read_schema(options.covariate_schema),
        "rows_about": options.rows_about,
        "cases_about": options.cases_about,
    }
    sites: Any = options.site_list
    if sites is None and _is_vcf(file):
        sites = _list_of(file, options)
    return _read(screen, file, sites, facts, reading)


def _read_known(
    screen: Screen, file: Path, public: GenotypesPublic, reading: ReadingOptions
) -> Genotypes:
    """Read private genotypes of which a release says what is public."""
    facts = {
        "bounds": public.bounds,
        "relation": str(public.relation),
        "groups": public.groups,
        "missing": public.missing,
        "covariate_schema": public.covariates,
        "rows_about": public.rows_about,
        "cases_about": public.cases_about,
    }
    return _read(screen, file, public.sites, facts, reading)


def _read(
    screen: Screen, file: Path, sites: Any, facts: dict[str, Any], reading: ReadingOptions
) -> Genotypes:
    """Read PLINK or VCF files."""
    from sfumato.data.genotypes import read_phenotypes, read_plink, read_vcf

    shared = {
        **facts,
        "covariates": reading.covariates,
        "unknown_phenotype": reading.unknown_phenotype.value,
    }
    told = None if reading.phenotype is None else read_phenotypes(reading.phenotype)
    with screen.working(f"reading {file.name}"):
        if not _is_vcf(file):
            return read_plink(file, sites=sites, phenotype=told, **shared)
        if told is None:
            raise Refusal(ExitCode.USAGE, "a VCF file has no phenotypes; add --phenotype FILE.csv")
        return read_vcf(file, told, sites=sites, **shared)


GWAS = Kind(
    name="gwas",
    methods=methods_for("genotypes"),
    method_help="The release method; topsnps by default.",
    choice=MethodChoice(default=lambda typed: DEFAULT),
    options=StudyOptions,
    reading=ReadingOptions,
    file=FILE_HELP,
    unread="The private genotypes; not read: only the list of sites beside the file is.",
    read_public=_read_public,
    read_private=_read_private,
    help=(
        "Show the privacy loss and the expected error of a release. Reads the list of sites only.",
        "Run the whole release on synthetic participants. Free: no private data are read.",
        "Release statistics of the study: book the loss, add noise, certify and save them.",
    ),
)
add_commands(app, GWAS)


def _releases() -> tuple[type[Any], ...]:
    from sfumato.evaluate.genotypes import GENOTYPE_RELEASES

    return GENOTYPE_RELEASES


def _compare(data: Genotypes, made: Any, options: Any) -> Any:
    from sfumato.evaluate.genotypes import evaluate

    return evaluate(data, made)


EVALUATION = Evaluation(
    help="Compare a release with the private study. NOT PRIVATE: for the custodian's eyes only.",
    data="genotypes",
    releases=_releases,
    needs="this comparison needs a release of genotypes",
    reading=ReadingOptions,
    read=_read_known,
    compare=_compare,
)
add_evaluation(app, GWAS, EVALUATION)
