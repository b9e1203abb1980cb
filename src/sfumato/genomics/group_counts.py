"""Noisy counts of a panel of sites by group: what frequencies and tests are computed from.

One participant is in one group and one stratum, and has one genotype at each site, so that one
participant changes one count per site (docs/proofs/allele-frequencies.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.genomics.queries import AlleleDifferences, CopyCounts, GenotypeCounts, GroupSizes
from sfumato.mechanisms.count_noise import CountNoise, count_noise, margin
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Ask, Program, Query

__all__ = ["GroupCounts", "Measured"]

Floats = NDArray[np.float64]

#: How many counts each site has in each group: one difference, or one per genotype.
CELLS = {"alleles": (), "genotypes": (4,), "copies": (3,)}
QUERIES: dict[str, type[Query]] = {
    "alleles": AlleleDifferences,
    "genotypes": GenotypeCounts,
    "copies": CopyCounts,
}
SIZES_LABEL, COUNTS_LABEL = "group sizes", "counts"


@dataclass(frozen=True)
class Measured:
    """Noisy counts of sites, and what is known of the noise.

    Parameters
    ----------
    counts
        Of shape (groups, strata, sites), with a last axis for genotypes.
    sizes
        The numbers of participants, of shape (groups, strata): exact where public, otherwise noisy
        and at least 1.
    deviation, size_deviation
        The standard deviation of the noise on a count, and on a size.
    """

    counts: Floats
    sizes: Floats
    deviation: float
    size_deviation: float


@dataclass(frozen=True)
class GroupCounts:
    """What is counted of a panel.

    Parameters
    ----------
    what
        `"alleles"`: per site and group, participants with two copies minus those with none;
        `"genotypes"`: participants with 0, 1, 2 copies and missing calls; `"copies"`: with 0, 1 and
        2 copies, missing calls among them as declared.
    many
        The number of sites.
    strata
        The covariates by which groups are divided.
    chosen
        The numbers of the sites; `None` for all.
    """

    what: str
    many: int
    strata: tuple[str, ...] = ()
    chosen: tuple[int, ...] | None = None

    def known_sizes(self, public: GenotypesPublic) -> tuple[int, ...] | None:
        """Return the numbers of participants of all groups, where they are public."""
        if self.strata:
            return None
        if public.bounds is not None:
            return None if public.rows is None else (public.rows,)
        return public.sizes

    def size_share(self, public: GenotypesPublic) -> Fraction:
        """Return the share of the budget that group sizes take: none where they are public."""
        if self.known_sizes(public) is not None:
            return Fraction(0)
        # It minimises the sum of the squared errors of all frequencies at 0 or 1.
        return Fraction(1, 1 + round(self.many ** (2 / 3)))

    def _groups(self, public: GenotypesPublic) -> int:
        return len(public.group_names) * len(public.strata(self.strata))

    def noise(self, public: GenotypesPublic, loss: Loss, relation: Relation) -> CountNoise:
        """Return the noise on the counts, which spends a whole slice."""
        shape = (self._groups(public), self.many, *CELLS[self.what])
        # A replaced participant may go from no copy to two, which moves one difference by 2.
        twice = self.what == "alleles" and relation is Relation.REPLACE_ONE
        return count_noise(shape, loss, relation, moves=self.many, largest=2 if twice else 1)

    def size_noise(self, public: GenotypesPublic, loss: Loss, relation: Relation) -> CountNoise:
        """Return the noise on the group sizes, which spends a whole slice."""
        return count_noise((self._groups(public),), loss, relation)

    def steps(
        self, public: GenotypesPublic, loss: Loss, record: tuple[Loss, Relation]
    ) -> list[PlanStep]:
        """Return the lines of a plan.

        Parameters
        ----------
        public
            The public part.
        loss
            The loss of all counts for one unit.
        record
            The same for one record, and its relation.
        """
        limit, relation = record
        share = self.size_share(public)
        lines = []
        if share:
            sizes = self.size_noise(public, limit.share(share), relation)
            off = margin(sizes)
            lines.append(
                PlanStep(
                    what="the sizes of the groups",
                    loss=loss.share(share),
                    noise=f"± {sizes.standard_deviation:,.4g} participants (1 s.d.)",
                    error=f"± {off:,.4g} participants",
                    figures={"margin": off},
                )
            )
        noise = self.noise(public, limit.share(1 - share), relation)
        off = margin(noise)
        words = {"alleles": "allele counts", "genotypes": "genotype counts"}
        lines.append(
            PlanStep(
                what=f"{words.get(self.what, 'genotype counts')} at {self.many:,} "
                f"site{'s' * (self.many != 1)}",
                loss=loss.share(1 - share),
                noise=f"± {noise.standard_deviation:,.4g} (1 s.d.) per count",
                error=f"± {off:,.4g} per count{self._frequency_words(public, off)}",
                figures={"margin": off, "standard_deviation": noise.standard_deviation},
            )
        )
        return lines

    def _frequency_words(self, public: GenotypesPublic, off: float) -> str:
        """Return the margin of a frequency in words, where group sizes were declared."""
        sizes = public.sizes_likely
        if sizes is None or self.strata:
            return ""
        smallest = max(min(sizes), 1)
        return f", {min(off / (2 * smallest), 1):.3g} per frequency of the smaller group"

    def ask(self, public: GenotypesPublic, budget: Budget) -> Program[Measured]:
        """Ask for the counts, and for the sizes of groups where they are private."""
        share, known = self.size_share(public), self.known_sizes(public)
        counting = budget
        asks: list[Ask] = []
        size_deviation = 0.0
        if known is None:
            sizing, counting = budget.split([SIZES_LABEL, COUNTS_LABEL], [share, 1 - share])
            size_noise = self.size_noise(public, sizing.remaining, sizing.relation)
            size_deviation = size_noise.standard_deviation
            asks.append(Ask(sizing, size_noise, GroupSizes(self.strata), SIZES_LABEL))
        noise = self.noise(public, counting.remaining, counting.relation)
        query: Any = QUERIES[self.what](self.strata, self.chosen)  # type: ignore[call-arg]
        asks.append(Ask(counting, noise, query, COUNTS_LABEL))
        answers = yield asks
        counts = np.asarray(answers[-1], dtype=np.float64)
        sizes = np.array(known if known is not None else answers[0], dtype=np.float64)
        shape = (len(public.group_names), len(public.strata(self.strata)))
        return Measured(
            counts.reshape(*shape, *counts.shape[1:]),
            np.maximum(sizes, 1.0).reshape(shape),
            noise.standard_deviation,
            size_deviation,
        )
