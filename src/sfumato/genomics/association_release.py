"""The release of associations: a table of summary statistics, a Manhattan and a Q–Q picture."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.data.sites import Sites
from sfumato.genomics.estimates import Effects
from sfumato.genomics.files import write_table
from sfumato.privacy.release import Release
from sfumato.sections import Section

if TYPE_CHECKING:
    import polars as pl

__all__ = ["AssociationRelease"]

Floats = NDArray[np.float64]

#: Half the width of an interval that holds 19 times in 20.
NINETEEN_IN_TWENTY = 1.959963984540054
#: The usual level of significance of a study of the whole genome.
GENOME_WIDE = 5e-8
#: A picture shows every point above this −log₁₀ p, and of the others at most so many.
SHOWN_ABOVE, MOST_POINTS = 2.0, 20_000


class AssociationRelease(Release):
    """Associations of sites with the phenotype.

    Parameters
    ----------
    public
        The public part.
    sites
        The sites, in the order of the figures.
    statistic
        The χ² of every site with one degree of freedom.
    effects
        Effects and their standard errors, if counts were measured.
    deviation
        The standard deviation of the noise on χ², if that was measured.
    test
        What was tested: `"allelic"`, `"trend"` or `"linear"`.
    ranked
        Whether the sites were chosen, best first.
    """

    kind = "association"

    def __init__(
        self,
        public: GenotypesPublic,
        sites: Sites,
        statistic: Floats,
        *,
        effects: Effects | None,
        deviation: float | None,
        test: str,
        ranked: bool = False,
    ) -> None:
        self.public = public
        self.sites = sites
        self.statistic = statistic
        self.effects = effects
        self.deviation = deviation
        self.test = test
        self.ranked = ranked

    @cached_property
    def neg_log10_p(self) -> Floats:
        """−log₁₀ of the p-value of every site."""
        from scipy.stats import norm

        z = np.sqrt(np.maximum(self.statistic, 0))
        return np.asarray(-(np.log(2) + norm.logsf(z)) / np.log(10) + 0.0, dtype=np.float64)

    @cached_property
    def table(self) -> pl.DataFrame:
        """Summary statistics, one row per site, in the columns of GWAS-SSF."""
        import polars as pl

        names, chromosomes, positions, effects, others = self.sites.listed
        columns: dict[str, Any] = {
            "chromosome": chromosomes,
            "base_pair_location": [int(text) for text in positions],
            "effect_allele": effects,
            "other_allele": others,
        }
        empty = [None] * len(names)
        found = self.effects
        half = None if found is None else NINETEEN_IN_TWENTY * found.standard_error
        numbers: dict[str, Any] = {
            "beta": empty if found is None else found.beta,
            "standard_error": empty if found is None else found.standard_error,
            "effect_allele_frequency": empty if found is None else found.frequency,
            "p_value": 10.0**-self.neg_log10_p,
            "rsid": names,
            "neg_log_10_p_value": self.neg_log10_p,
            "chi_squared": self.statistic,
        }
        if found is not None and half is not None:
            if self.test != "linear":
                numbers["odds_ratio"] = _odds(found.beta)
                numbers["ci_lower"] = _odds(found.beta - half)
                numbers["ci_upper"] = _odds(found.beta + half)
            else:
                numbers["ci_lower"] = found.beta - half
                numbers["ci_upper"] = found.beta + half
            numbers["n"] = [round(found.participants)] * len(names)
        if self.deviation is not None:
            numbers["chi_squared_noise"] = [self.deviation] * len(names)
        texts = {"rsid"}
        series = [pl.Series(name, values) for name, values in columns.items()]
        for name, values in numbers.items():
            kind = pl.String if name in texts else pl.Int64 if name == "n" else pl.Float64
            series.append(pl.Series(name, values, kind))
        return pl.DataFrame(series)

    def files(self) -> dict[str, bytes]:
        """Return the summary statistics, separated by tabs."""
        return {"summary_statistics.tsv": write_table(self.table, separator="\t")}

    def words(self) -> str:
        """Return what was released, and what its errors include."""
        many = len(self.sites)
        what = "chosen privately, best first" if self.ranked else "declared in advance"
        below = int((self.neg_log10_p > -np.log10(GENOME_WIDE)).sum())
        if self.effects is None:
            errors = f"The noise on χ² has a standard deviation of {self.deviation:,.4g}."
        else:
            errors = "Standard errors and p-values include the privacy noise."
        return (
            f"Associations ({self.test} test) of {many:,} site{'s' * (many != 1)} {what}. {errors} "
            f"{below:,} have a p-value below {GENOME_WIDE:g}."
        )

    def summary(self) -> dict[str, Any]:
        """Return the leading sites with their p-values."""
        order = np.argsort(-self.neg_log10_p, kind="stable")[:10]
        names = self.sites.listed[0]
        return {
            "sites": len(self.sites),
            "test": self.test,
            "leading": [
                {"site": names[place], "neg_log_10_p_value": float(self.neg_log10_p[place])}
                for place in (np.arange(min(10, len(names))) if self.ranked else order).tolist()
            ],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.genomics.pages import association_sections

        return association_sections(self)

    def plot(self) -> Any:
        """Return the Manhattan picture, and the Q–Q picture beside it."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(11, 4), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 1))
        self.draw_manhattan(left)
        self.draw_quantiles(right)
        return figure

    def manhattan(self, size: tuple[float, float] = (8, 3.5)) -> Any:
        """Return −log₁₀ p of every site by its place on the genome."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        self.draw_manhattan(figure.subplots())
        return figure

    def quantiles(self, size: tuple[float, float] = (4, 4)) -> Any:
        """Return −log₁₀ p against what is expected without any association."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        self.draw_quantiles(figure.subplots())
        return figure

    def draw_manhattan(self, axis: Any) -> None:
        """Draw −log₁₀ p of every site by its place on the genome."""
        heights = self.neg_log10_p
        chromosomes = np.array(self.sites.listed[1])
        positions = np.array([int(text) for text in self.sites.listed[2]], dtype=np.float64)
        kept = _thin(heights)
        start = 0.0
        ticks, labels = [], []
        found = sorted(set(chromosomes.tolist()), key=_chromosome_order)
        for number, name in enumerate(found):
            own = kept & (chromosomes == name)
            last = float(positions[chromosomes == name].max())
            axis.plot(
                start + positions[own], heights[own], ".", markersize=3,
                color=("#4c72b0", "#8c8c8c")[number % 2],
            )  # fmt: skip
            ticks.append(start + last / 2)
            labels.append(name)
            start += last * 1.02 + 1
        axis.axhline(-np.log10(GENOME_WIDE), color="#c44e52", linewidth=0.8)
        axis.set_xticks(ticks, labels, fontsize=7)
        axis.set_xlabel("chromosome")
        axis.set_ylabel("−log₁₀ p, privacy noise included")
        axis.spines[["top", "right"]].set_visible(False)

    def draw_quantiles(self, axis: Any) -> None:
        """Draw −log₁₀ p against what is expected without any association."""
        heights = np.sort(self.neg_log10_p)[::-1]
        expected = -np.log10((np.arange(len(heights)) + 0.5) / len(heights))
        kept = _thin(heights)
        axis.plot([0, expected.max()], [0, expected.max()], color="0.7", linewidth=1)
        axis.plot(expected[kept], heights[kept], ".", markersize=3, color="#4c72b0")
        axis.set_xlabel("expected −log₁₀ p")
        axis.set_ylabel("released −log₁₀ p")
        axis.spines[["top", "right"]].set_visible(False)


def _odds(logs: Floats) -> Floats:
    """Return odds ratios from their logarithms; what is beyond all measure stays finite."""
    return np.asarray(np.exp(np.clip(logs, -700, 700)), dtype=np.float64)


def _thin(heights: Floats) -> NDArray[np.bool_]:
    """Return which points are drawn: the high ones, and evenly many of the others."""
    kept = heights > SHOWN_ABOVE
    step = max(1, len(heights) // MOST_POINTS)
    kept[::step] = True
    return np.asarray(kept, dtype=np.bool_)


def _chromosome_order(name: str) -> tuple[int, str]:
    """Return what chromosomes are sorted by: numbers first."""
    return (int(name) if name.isdigit() else 1000, name)
