"""LinkageDisequilibrium: how strongly the genotypes at declared pairs of sites correlate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.genomics.files import write_table
from sfumato.genomics.genotype_method import GenotypeMethod
from sfumato.genomics.queries import PairTables
from sfumato.mechanisms.count_noise import CountNoise, count_noise, margin
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, Number
from sfumato.privacy.parameters import NameSets, parameter
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.program import Ask, Program
from sfumato.privacy.release import Release
from sfumato.sections import Section

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LinkageDisequilibrium", "LinkageRelease"]

Floats = NDArray[np.float64]
TABLES = "pairs of genotypes"
#: Half the width of an interval that holds 19 times in 20.
NINETEEN_IN_TWENTY = 1.959963984540054


@dataclass(frozen=True)
class SitePairs(NameSets):
    """A list of distinct pairs of sites."""

    allowed = "a non-empty list of distinct pairs of sites, such as [('rs1', 'rs2')]"

    def parse(self, value: Any) -> tuple[tuple[str, ...], ...]:
        """Return the pairs as a tuple of tuples."""
        pairs = super().parse(value)
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError
        return pairs


class LinkageRelease(Release):
    """The squared correlation of genotypes for pairs of sites.

    Parameters
    ----------
    public
        The public part.
    pairs
        The names of the sites of each pair.
    tables
        The noisy numbers of participants with each pair of genotypes, of shape (pairs, 3, 3).
    deviation
        The standard deviation of the noise on each.
    """

    kind = "linkage disequilibrium"

    def __init__(
        self,
        public: GenotypesPublic,
        pairs: tuple[tuple[str, ...], ...],
        tables: Floats,
        deviation: float,
    ) -> None:
        self.public = public
        self.pairs = pairs
        self.tables = tables
        self.deviation = deviation

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """The correlation of every pair and the standard deviation of its noise."""
        kept = np.maximum(self.tables, 0)
        total = np.maximum(kept.sum(axis=(1, 2)), 1.0)
        x = np.arange(-1.0, 2.0)
        shares = kept / total[:, None, None]
        one, two = shares.sum(axis=2) @ x, shares.sum(axis=1) @ x
        first = np.maximum(shares.sum(axis=2) @ x**2 - one**2, 1 / total)
        second = np.maximum(shares.sum(axis=1) @ x**2 - two**2, 1 / total)
        product = np.einsum("pij,i,j->p", shares, x, x) - one * two
        r = np.clip(product / np.sqrt(first * second), -1, 1)
        # The derivative of r with respect to each share, for noise of one size on all nine.
        u = (x[None, :] - one[:, None]) / np.sqrt(first)[:, None]
        v = (x[None, :] - two[:, None]) / np.sqrt(second)[:, None]
        slope = (
            u[:, :, None] * v[:, None, :]
            - r[:, None, None] * (u[:, :, None] ** 2 + v[:, None, :] ** 2) / 2
        )
        noise = self.deviation / total * np.sqrt((slope**2).sum(axis=(1, 2)))
        return r, noise

    @property
    def r(self) -> Floats:
        """The correlation of the genotypes of every pair."""
        return self._moments[0]

    @property
    def r_squared(self) -> Floats:
        """The squared correlation of every pair."""
        return self._moments[0] ** 2

    @property
    def margins(self) -> Floats:
        """By how much r is off at most, 19 times in 20, because of the noise; about."""
        return np.minimum(NINETEEN_IN_TWENTY * self._moments[1], 2.0)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per pair: r² and r, with the margin of r."""
        import polars as pl

        return pl.DataFrame(
            {
                "site": [pair[0] for pair in self.pairs],
                "other_site": [pair[1] for pair in self.pairs],
                "r_squared": self.r_squared,
                "r": self.r,
                "margin": self.margins,
            }
        )

    def files(self) -> dict[str, bytes]:
        """Return the table as CSV."""
        return {"linkage.csv": write_table(self.table)}

    def words(self) -> str:
        """Return what was released, and how far off it is."""
        many = len(self.pairs)
        return (
            f"The squared correlation of genotypes, r², for {many:,} pair{'s' * (many != 1)} of "
            f"sites. The median margin of r is {float(np.median(self.margins)):.3g}."
        )

    def summary(self) -> dict[str, Any]:
        """Return the number of pairs and the median margin."""
        return {"pairs": len(self.pairs), "median_margin": float(np.median(self.margins))}

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.genomics.pages import linkage_sections

        return linkage_sections(self)

    def plot(self) -> Any:
        """Return the r of the pairs with their margins."""
        from matplotlib.figure import Figure

        shown = slice(0, 60)
        figure = Figure(figsize=(6, 0.8 + 0.22 * len(self.pairs[shown])), layout="constrained")
        axis = figure.subplots()
        places = np.arange(len(self.pairs[shown]))[::-1]
        axis.errorbar(self.r[shown], places, xerr=self.margins[shown], fmt="o", markersize=4)
        axis.set_yticks(places, [" – ".join(pair) for pair in self.pairs[shown]], fontsize=7)
        axis.axvline(0, color="0.8", linewidth=1)
        axis.set_xlim(-1, 1)
        axis.set_xlabel("r")
        axis.spines[["top", "right"]].set_visible(False)
        return figure


@dataclass(frozen=True, kw_only=True)
class LinkageDisequilibrium(GenotypeMethod[LinkageRelease]):
    """Release r² for declared pairs of sites.

    Parameters
    ----------
    epsilon
        Privacy loss for one participant.
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta), with less noise if many
        pairs are released; otherwise the guarantee is pure.
    sites
        Follows from the pairs; leave it out.
    pairs
        The pairs of sites, by their names.

    Notes
    -----
    Privacy: for each pair a participant is in one of nine cells, so the L1 sensitivity of all
    tables is the number of pairs, and twice that under replace-one (docs/proofs/linkage.md).
    """

    proof: ClassVar[str] = "linkage.md"

    pairs: Any = parameter(SitePairs())

    @classmethod
    def example_method(cls, epsilon: Number, public: GenotypesPublic, **more: Any) -> Self:
        """Return the method for the first two pairs of sites."""
        names = public.sites.listed[0]
        pairs = [names[:2], names[1:3]] if len(names) > 2 else [names[:2]]
        return super().example_method(epsilon, public, **{"pairs": pairs, **more})

    def _names(self) -> tuple[str, ...]:
        """Return all sites of the pairs, each once."""
        return tuple(dict.fromkeys(name for pair in self.pairs for name in pair))

    def uses(self, public: GenotypesPublic) -> tuple[str, ...] | None:
        """Return the sites of all pairs."""
        return self._names()

    def check(self, public: GenotypesPublic) -> None:
        """Raise where a site is unknown."""
        super().check(public)
        if self.sites is not None:
            raise ValueError("the sites follow from the pairs; leave sites out")
        public.sites.index(self._names())

    def _noise(self, loss: Loss, relation: Relation) -> CountNoise:
        return count_noise((len(self.pairs), 3, 3), loss, relation, moves=len(self.pairs))

    def plan(self, public: GenotypesPublic) -> Plan:
        """Return the noise on the tables, and on r for frequent alleles."""
        self.check(public)
        limit, relation = self.record_budget(public)
        noise = self._noise(limit, relation)
        off = margin(noise)
        people = public.rows_likely
        words = ""
        if people:
            # For frequencies of one half and no linkage, u and v are −√2, 0 or √2, so that four of
            # the nine cells contribute 4 each to Σu²v².
            words = f", about {NINETEEN_IN_TWENTY * 4 * noise.standard_deviation / people:.3g} on r"
        step = PlanStep(
            what=f"tables of {len(self.pairs):,} pair{'s' * (len(self.pairs) != 1)} of sites",
            loss=self.working_loss(),
            noise=f"± {noise.standard_deviation:,.4g} (1 s.d.) per count",
            error=f"± {off:,.4g} per count{words}",
            figures={"margin": off, "standard_deviation": noise.standard_deviation},
        )
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(step,),
            sizes=(Size(9 * len(self.pairs), "cells"),),
        )

    def program(self, public: GenotypesPublic, budget: Budget) -> Program[LinkageRelease]:
        """Ask for the tables of all pairs."""
        places = public.sites.index(name for pair in self.pairs for name in pair).reshape(-1, 2)
        pairs = tuple((int(one), int(two)) for one, two in places)
        noise = self._noise(budget.remaining, budget.relation)
        tables = yield Ask(budget, noise, PairTables(pairs), TABLES)
        return LinkageRelease(
            public.only(self._names()),
            tuple(self.pairs),
            np.asarray(tables, dtype=np.float64),
            noise.standard_deviation,
        )
