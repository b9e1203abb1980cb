"""The release of allele frequencies."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.genomics.files import site_columns, write_table
from sfumato.genomics.group_counts import Measured
from sfumato.privacy.release import Release
from sfumato.sections import Section

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FrequencyRelease"]

#: Half the width of an interval that holds 19 times in 20.
NINETEEN_IN_TWENTY = 1.959963984540054


class FrequencyRelease(Release):
    """Frequencies of the effect allele by site and group, with the margins of their noise.

    Parameters
    ----------
    public
        The public part.
    measured
        The noisy counts.
    genotypes
        Whether the counts are of genotypes.
    strata
        The covariates by which groups are divided.
    """

    kind = "allele frequencies"

    def __init__(
        self,
        public: GenotypesPublic,
        measured: Measured,
        *,
        genotypes: bool,
        strata: tuple[str, ...],
    ) -> None:
        self.public = public
        self.measured = measured
        self.genotypes = genotypes
        self.strata = strata

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """The frequencies of the effect allele, of shape (groups, strata, sites), within 0 to 1."""
        return np.clip(self._unclipped, 0.0, 1.0)

    @property
    def margins(self) -> NDArray[np.float64]:
        """By how much a frequency is off at most, 19 times in 20, because of the noise."""
        return np.minimum(NINETEEN_IN_TWENTY * self._deviations, 1.0)

    @property
    def _called(self) -> NDArray[np.float64]:
        """Whose alleles are counted: everybody, or those with a call."""
        if self.genotypes:
            return np.asarray(np.maximum(self.measured.counts[..., :3].sum(axis=-1), 1.0))
        return np.broadcast_to(self.measured.sizes[..., None], self.measured.counts.shape)

    @property
    def _unclipped(self) -> NDArray[np.float64]:
        counts = self.measured.counts
        if self.genotypes:
            counts = counts[..., 2] - counts[..., 0]
        return np.asarray(0.5 + counts / (2 * self._called), dtype=np.float64)

    @property
    def _deviations(self) -> NDArray[np.float64]:
        """The standard deviations of the frequencies, by linear approximation."""
        lean = (2 * self.frequencies - 1) ** 2
        noise = self.measured.deviation**2
        if self.genotypes:
            # The number of calls is the sum of three noisy counts, two of which are in the
            # difference with opposite signs.
            return np.asarray(np.sqrt(noise * (2 + 3 * lean)) / (2 * self._called))
        variance = noise + lean * self.measured.size_deviation**2
        return np.asarray(np.sqrt(variance) / (2 * self._called))

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per site and group: the frequency of the effect allele, and its margin."""
        import polars as pl

        groups = self.public.group_names
        strata = self.public.strata(self.strata)
        many = len(groups) * len(strata)
        sites = len(self.public.sites)

        def by_site(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return values.reshape(many, sites).T.ravel()

        columns: dict[str, Any] = dict(site_columns(self.public.sites, many))
        columns["group"] = [group for _ in range(sites) for group in groups for _ in strata]
        for number, name in enumerate(self.strata):
            labels = [stratum[number] for _ in groups for stratum in strata]
            columns[name] = labels * sites
        columns["frequency"] = by_site(self.frequencies)
        columns["margin"] = by_site(self.margins)
        if self.genotypes:
            for number, name in enumerate(("copies_0", "copies_1", "copies_2", "missing")):
                counts = by_site(self.measured.counts[..., number])
                columns[name] = counts.astype(np.int64)
        return pl.DataFrame(columns)

    def files(self) -> dict[str, bytes]:
        """Return the table as CSV."""
        return {"frequencies.csv": write_table(self.table)}

    def words(self) -> str:
        """Return what was released, and how far off it is."""
        half = float(np.median(self.margins))
        what = "Genotype counts and allele frequencies" if self.genotypes else "Allele frequencies"
        groups = " and ".join(self.public.group_names)
        by = f", by {', '.join(self.strata)}" if self.strata else ""
        return (
            f"{what} of {groups}{by} at {len(self.public.sites):,} sites. 19 times in 20 the noise "
            f"on a frequency is no larger than its margin (median {half:.3g})."
        )

    def summary(self) -> dict[str, Any]:
        """Return how many sites there are, and the median margin."""
        return {
            "sites": len(self.public.sites),
            "groups": list(self.public.group_names),
            "median_margin": float(np.median(self.margins)),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.genomics.pages import frequency_sections

        return frequency_sections(self)

    def plot(self) -> Any:
        """Return the frequencies of the first two groups against each other, with their margins."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 5), layout="constrained")
        axis = figure.subplots()
        first = self.frequencies.reshape(-1, len(self.public.sites))
        widths = self.margins.reshape(first.shape)
        axis.plot([0, 1], [0, 1], color="0.8", linewidth=1)
        other = 1 if len(first) > 1 else 0
        axis.errorbar(
            first[other][:2000], first[0][:2000], xerr=widths[other][:2000],
            yerr=widths[0][:2000], fmt="o", markersize=3, linewidth=0.4, color="#4c72b0",
        )  # fmt: skip
        names = self.public.group_names
        axis.set_xlabel(f"frequency, {names[min(1, len(names) - 1)]}")
        axis.set_ylabel(f"frequency, {names[0]}")
        axis.set_xlim(0, 1)
        axis.set_ylim(0, 1)
        axis.spines[["top", "right"]].set_visible(False)
        return figure
