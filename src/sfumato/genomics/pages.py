"""The pages of releases about genotypes: frequencies, associations, spectra, linkage.

Everything here is a function of the release; nothing is compared with the private genotypes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.sections import Facts, Grid, Picture, Section, Text

if TYPE_CHECKING:
    import polars as pl

    from sfumato.data.genotypes_public import GenotypesPublic
    from sfumato.genomics.association_release import AssociationRelease
    from sfumato.genomics.frequency_release import FrequencyRelease
    from sfumato.genomics.frequency_spectrum import SiteSpectrum
    from sfumato.genomics.linkage import LinkageRelease

#: How many rows of a table are shown.
MOST_ROWS = 25


def frequency_sections(release: FrequencyRelease) -> tuple[Section, ...]:
    """Return the sections for allele frequencies."""
    words = Text(release.words())
    picture = Picture("frequencies", release.plot, "Frequencies of cases against controls.")
    shown = (words, picture, show_rows(release.table))
    return (
        Section("frequencies", "Allele frequencies", shown, "frequencies.csv"),
        declared_genotypes(release.public),
    )


def association_sections(release: AssociationRelease) -> tuple[Section, ...]:
    """Return the sections for associations."""
    caution = Text(
        "Sites were chosen among many: compare a p-value with the level divided by the number of "
        "candidates."
        if release.ranked
        else "The points that leave the line at the upper end are associated sites, or noise of "
        "the privacy mechanism with longer tails than a normal distribution."
    )
    pictures = (
        Picture("manhattan", release.manhattan, "−log₁₀ p of every site by its place.", None),
        Picture("quantiles", release.quantiles, "−log₁₀ p against its expectation.", None),
    )
    blocks = (Text(release.words()), caution, *pictures, show_rows(release.table))
    return (
        Section("associations", "Associations", blocks, "summary_statistics.tsv"),
        declared_genotypes(release.public),
    )


def spectrum_sections(release: SiteSpectrum) -> tuple[Section, ...]:
    """Return the sections for a frequency spectrum."""
    picture = Picture("spectrum", release.plot, "How many sites have which frequency.")
    blocks = (Text(release.words()), picture, show_rows(release.table))
    return (
        Section("spectrum", "Minor-allele frequencies", blocks, "spectrum.csv"),
        declared_genotypes(release.public),
    )


def linkage_sections(release: LinkageRelease) -> tuple[Section, ...]:
    """Return the sections for linkage disequilibrium."""
    picture = Picture("linkage", release.plot, "The r of every pair, with its margin.")
    blocks = (Text(release.words()), picture, show_rows(release.table))
    return (
        Section("linkage", "Linkage disequilibrium", blocks, "linkage.csv"),
        declared_genotypes(release.public),
    )


def show_rows(table: pl.DataFrame) -> Grid:
    """Return the first rows of a table."""
    import polars as pl

    numbers = tuple(n for n, kind in enumerate(table.dtypes) if kind in (pl.Float64, pl.Int64))
    rows = tuple(
        tuple(f"{x:.4g}" if isinstance(x, float) else "—" if x is None else str(x) for x in row)
        for row in table.head(MOST_ROWS).iter_rows()
    )
    return Grid(tuple(table.columns), rows, numbers)


def declared_genotypes(public: GenotypesPublic) -> Section:
    """List what was declared about the study."""
    facts = tuple((name, str(value)) for name, value in public.facts())
    words = Text(
        "These facts were declared before the release. The list of sites must not follow from the "
        "calls: the list of a genotyping array does not, the variants found by sequencing do."
    )
    return Section(
        "declared", "What was declared about the study", (words, Facts(facts)), "public.json"
    )
