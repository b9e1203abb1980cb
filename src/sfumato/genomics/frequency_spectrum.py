"""FrequencySpectrum: about how many sites have which minor-allele frequency."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.genomics.files import write_table
from sfumato.genomics.genotype_method import GenotypeMethod
from sfumato.genomics.queries import GroupSizes, SpectrumMass
from sfumato.mechanisms.count_noise import CountNoise, count_noise, margin
from sfumato.mechanisms.gaussian import GaussianNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, Loss, pure_within
from sfumato.privacy.parameters import Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.privacy.release import Release
from sfumato.sections import Section

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FrequencySpectrum", "SiteSpectrum"]

SIZE, MASS = "number of participants", "spectrum"
#: The share of the budget for the number of participants, where it is private.
SIZE_SHARE = Fraction(1, 20)


class SiteSpectrum(Release):
    """How many sites have a minor-allele frequency near each knot.

    Parameters
    ----------
    public
        The public part.
    frequencies
        The knots.
    sites
        The noisy number of sites at each.
    margin
        By how much one of these is off at most, 19 times in 20.
    width
        The distance of two knots in alleles.
    """

    kind = "frequency spectrum"

    def __init__(
        self,
        public: GenotypesPublic,
        frequencies: NDArray[np.float64],
        sites: NDArray[np.float64],
        margin: float,
        width: int,
    ) -> None:
        self.public = public
        self.frequencies = frequencies
        self.sites = sites
        self.margin = margin
        self.width = width

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per knot: the minor-allele frequency, the sites, and the margin."""
        import polars as pl

        return pl.DataFrame(
            {
                "minor_allele_frequency": self.frequencies,
                "sites": self.sites,
                "margin": np.full(len(self.sites), self.margin),
            }
        )

    def files(self) -> dict[str, bytes]:
        """Return the table as CSV."""
        return {"spectrum.csv": write_table(self.table)}

    def words(self) -> str:
        """Return what was released, and how far off it is."""
        return (
            f"The minor-allele frequencies of {len(self.public.sites):,} sites, at "
            f"{len(self.sites)} knots. A site between two knots counts for both, in proportion. 19 "
            f"times in 20 the noise on a number of sites is at most {self.margin:,.4g}."
        )

    def summary(self) -> dict[str, Any]:
        """Return the spectrum."""
        return {
            "frequencies": [float(x) for x in self.frequencies],
            "sites": [float(x) for x in self.sites],
            "margin": self.margin,
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.genomics.pages import spectrum_sections

        return spectrum_sections(self)

    def plot(self) -> Any:
        """Return the spectrum with the margin of its noise."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 3.2), layout="constrained")
        axis = figure.subplots()
        axis.errorbar(
            self.frequencies, self.sites, yerr=self.margin, fmt="-o", markersize=4, capsize=2
        )
        axis.set_xlabel("minor-allele frequency")
        axis.set_ylabel("sites")
        axis.spines[["top", "right"]].set_visible(False)
        return figure


@dataclass(frozen=True, kw_only=True)
class FrequencySpectrum(GenotypeMethod[SiteSpectrum]):
    """Release about how many sites have which minor-allele frequency.

    Parameters
    ----------
    epsilon
        Privacy loss for one participant.
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); pure noise is smaller
        here unless there are few sites.
    sites
        The names of the sites; by default all. No other site is published.
    knots
        At how many frequencies from 0 to 0.5 sites are counted.

    Notes
    -----
    Privacy: a site between two knots counts for both, in proportion, so one participant moves at
    most 2/w of a site from a knot to the next, where w is the distance of two knots in alleles. The
    L1 sensitivity for K sites is 4K/w, instead of 2K for bins with sharp edges
    (docs/proofs/frequency-spectrum.md).
    """

    proof: ClassVar[str] = "frequency-spectrum.md"
    small: ClassVar[str] = "a few knots with one number each"

    knots: int = parameter(Whole(2, 101), 11)

    def _width(self, people: int) -> int:
        """Return the distance of two knots in alleles, for a number of participants."""
        return max(1, -(-max(people, 1) // (self.knots - 1)))

    def _noise(self, many: int, loss: Loss) -> CountNoise:
        """Return the noise on the masses of all knots: a participant moves 4 per site."""
        shape = (self.knots,)
        if isinstance(loss, ZCDP):
            # At each site 2 go from one knot to a neighbour; at worst all sites share both knots.
            squared = Fraction(2 * (2 * many) ** 2)
            return GaussianNoise(shape=shape, squared_sensitivity=squared, rho=loss.rho)
        return GeometricNoise(
            shape=shape, sensitivity=Fraction(4 * many), epsilon=pure_within(loss)
        )

    def _size_noise(self, public: GenotypesPublic, loss: Loss, relation: Relation) -> CountNoise:
        return count_noise((len(public.group_names),), loss, relation)

    def _shares(self, public: GenotypesPublic) -> tuple[Fraction, Fraction]:
        share = SIZE_SHARE if public.rows is None else Fraction(0)
        return share, 1 - share

    def plan(self, public: GenotypesPublic) -> Plan:
        """Return the noise on the numbers of sites."""
        self.check(public)
        whole, (limit, relation) = self.working_loss(), self.record_budget(public)
        first, second = self._shares(public)
        many = self.site_count(public)
        steps = []
        if first:
            size = self._size_noise(public, limit.share(first), relation)
            steps.append(
                PlanStep(
                    what="the number of participants",
                    loss=whole.share(first),
                    noise=f"± {size.standard_deviation:,.4g} (1 s.d.) per group",
                    error=f"± {margin(size):,.4g} per group",
                    figures={"margin": margin(size)},
                )
            )
        noise = self._noise(many, limit.share(second))
        people = public.rows_likely
        off = margin(noise) / self._width(people or 1)
        steps.append(
            PlanStep(
                what=f"the spectrum of {many:,} sites at {self.knots} knots",
                loss=whole.share(second),
                noise=f"± {noise.standard_deviation / self._width(people or 1):,.4g} sites (1 s.d.)"
                if people
                else "inversely proportional to the number of participants",
                error=f"± {off:,.4g} sites per knot" if people else "declare rows_about to see it",
                figures={"margin": off},
            )
        )
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=tuple(steps))

    def program(self, public: GenotypesPublic, budget: Budget) -> Program[SiteSpectrum]:
        """Ask for the number of participants where it is private, then for the spectrum."""
        own, panel = self.view(public)
        people = public.rows
        measuring = budget
        if people is None:
            sizing, measuring = budget.split([SIZE, MASS], self._shares(public))
            noise = self._size_noise(public, sizing.remaining, sizing.relation)
            sizes = yield Ask(sizing, noise, GroupSizes(), SIZE)
            people = max(1, int(np.asarray(sizes).sum()))
        width = self._width(people)
        mass_noise = self._noise(len(own.sites), measuring.remaining)
        query = SpectrumMass(width, self.knots, panel)
        mass = yield Ask(measuring, mass_noise, query, MASS)
        frequencies = np.arange(self.knots) * width / (2 * max(1, people))
        sites = np.asarray(mass, dtype=np.float64) / width
        return SiteSpectrum(own, frequencies, sites, margin(mass_noise) / width, width)
