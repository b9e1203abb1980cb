"""The pages of releases about genotypes: frequencies, associations, spectra, linkage.

Everything here is a function of the release; nothing is compared with the private genotypes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.sections import Facts, Grid, Picture, Section, Text

if TYPE_CHECKING:
    import polars as pl

    from sfumato.data.genotypes_public import GenotypesPublic
    from sfumato.genomics.frequency_release import FrequencyRelease

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
