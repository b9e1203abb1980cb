"""Association: tests and effects at a declared panel of sites."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.data.genotypes_public import GRID, GenotypesPublic
from sfumato.genomics.association_release import AssociationRelease
from sfumato.genomics.estimates import (
    effects_of_copies,
    effects_of_groups,
    effects_of_numbers,
)
from sfumato.genomics.genotype_method import (
    CovariateNames,
    GenotypeMethod,
    require_public_groups,
)
from sfumato.genomics.group_counts import GroupCounts
from sfumato.genomics.queries import DosageSums, PhenotypeMoments, SiteStatistics
from sfumato.genomics.statistics import SLACK, statistic_sensitivity
from sfumato.mechanisms.count_noise import CountNoise, count_noise, margin
from sfumato.mechanisms.real import RealLaplace
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, pure_within
from sfumato.privacy.parameters import OneOf, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program

__all__ = ["Association"]

#: The labels in transcripts where the phenotype is a number, and where χ² itself is measured.
MOMENTS, SUMS, STATISTICS = "moments of the phenotype", "sums by site", "statistics"
#: What the moments of a number take of the budget.
MOMENT_SHARE = Fraction(1, 10)


@dataclass(frozen=True, kw_only=True)
class Association(GenotypeMethod[AssociationRelease]):
    """Release tests of association, effects and odds ratios at declared sites.

    Parameters
    ----------
    epsilon
        Privacy loss for one participant.
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta), with less noise if many
        sites are released; otherwise the guarantee is pure.
    sites
        The names of the sites; by default all. No other site is published. The panel must not have
        been chosen with these data: `TopSNPs` chooses one privately.
    test
        `"allelic"` compares allele frequencies; `"trend"` is Cochran and Armitage's test, which
        needs no Hardy–Weinberg proportions. A phenotype that is a number is regressed on copies.
    measure
        `"counts"`: counts get noise, and effects, odds ratios, standard errors and tests follow
        from them. `"statistic"`: χ² itself gets noise; this needs public group sizes and gives no
        effects.
    strata
        Covariates within whose values cases and controls are compared, to avoid confounding.

    Notes
    -----
    Privacy: counts as for `AlleleFrequencies`. The sensitivities of χ² for replaced participants in
    groups of public sizes R and S are exact: 2N²/(m(M + 1)) for alleles, and 4N²(S − 1)/(S(RS +
    4S − 4)) for the trend, S being the group that gives the larger value
    (docs/proofs/association-tests.md).
    """

    proof: ClassVar[str] = "association-tests.md"

    test: str = parameter(OneOf(("allelic", "trend")), "allelic")
    measure: str = parameter(OneOf(("counts", "statistic")), "counts")
    strata: tuple[str, ...] = parameter(CovariateNames(), ())

    def check(self, public: GenotypesPublic) -> None:
        """Raise where parameters do not fit the phenotype or what is public."""
        super().check(public)
        public.strata(self.strata)
        if public.bounds is not None and (self.strata or self.test == "trend"):
            raise ValueError(
                "a phenotype that is a number is regressed on copies; leave test and strata out"
            )
        if self.measure == "statistic":
            require_public_groups('measure = "statistic"', public)
            if self.strata or self.delta is not None:
                raise ValueError('measure = "statistic" takes neither strata nor delta')

    def _counting(self, public: GenotypesPublic) -> GroupCounts:
        _, chosen = self.view(public)
        what = "alleles" if self.test == "allelic" else "copies"
        return GroupCounts(what, self.site_count(public), tuple(self.strata), chosen)

    def _statistic_noise(self, public: GenotypesPublic, loss: Loss) -> RealLaplace:
        """Return the noise on the χ² of all sites."""
        many = self.site_count(public)
        each = statistic_sensitivity(self.test, require_public_groups("χ²", public)) + SLACK
        return RealLaplace(shape=(many,), sensitivity=many * each, epsilon=pure_within(loss))

    def plan(self, public: GenotypesPublic) -> Plan:
        """Return the noise on counts, or on χ²."""
        self.check(public)
        whole, (limit, relation) = self.working_loss(), self.record_budget(public)
        if self.measure == "statistic":
            steps = [self._statistic_step(public, whole, limit)]
        elif public.bounds is not None:
            steps = self._number_steps(public, whole, limit, relation)
        else:
            steps = self._counting(public).steps(public, whole, (limit, relation))
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            sizes=self.site_sizes(public),
        )

    def _statistic_step(self, public: GenotypesPublic, whole: Loss, limit: Loss) -> PlanStep:
        noise = self._statistic_noise(public, limit)
        step = 2.0**noise.exponent
        deviation = noise.primitive().standard_deviation * step
        off = margin(noise.primitive()) * step
        return PlanStep(
            what=f"χ² ({self.test}) of {self.site_count(public):,} sites",
            loss=whole,
            noise=f"± {deviation:,.4g} (1 s.d.) on each χ²",
            error=f"± {off:,.4g} on each χ²",
            figures={"margin": off, "standard_deviation": deviation},
        )

    def _number_steps(
        self, public: GenotypesPublic, whole: Loss, limit: Loss, relation: Relation
    ) -> list[PlanStep]:
        parts = (
            ("the number of participants and the moments of the phenotype", MOMENT_SHARE,
             moment_noise(limit.share(MOMENT_SHARE), relation)),
            (f"sums at {self.site_count(public):,} sites", 1 - MOMENT_SHARE,
             sum_noise(self.site_count(public), limit.share(1 - MOMENT_SHARE), relation)),
        )  # fmt: skip
        return [
            PlanStep(
                what=what,
                loss=whole.share(share),
                noise=f"± {noise.standard_deviation / GRID:,.4g} participants (1 s.d.)",
                error=f"± {margin(noise) / GRID:,.4g} participants at a bound of the phenotype",
                figures={"margin": margin(noise) / GRID},
            )
            for what, share, noise in parts
        ]

    def program(self, public: GenotypesPublic, budget: Budget) -> Program[AssociationRelease]:
        """Ask for counts, sums or χ², and compute tests and effects from them."""
        own, chosen = self.view(public)
        if self.measure == "statistic":
            return (yield from self._statistic_program(own, chosen, budget))
        if public.bounds is not None:
            return (yield from self._number_program(own, chosen, budget))
        measured = yield from self._counting(public).ask(public, budget)
        estimate = effects_of_groups if self.test == "allelic" else effects_of_copies
        effects = estimate(measured)
        return AssociationRelease(
            own, own.sites, effects.z**2, effects=effects, deviation=None, test=self.test
        )

    def _statistic_program(
        self, own: GenotypesPublic, chosen: tuple[int, ...] | None, budget: Budget
    ) -> Program[AssociationRelease]:
        noise = self._statistic_noise(own, budget.remaining)
        query = SiteStatistics(self.test, noise.exponent, chosen)
        answer = yield Ask(budget, noise.primitive(), query, STATISTICS)
        deviation = noise.primitive().standard_deviation * 2.0**noise.exponent
        return AssociationRelease(
            own, own.sites, noise.read(answer), effects=None, deviation=deviation, test=self.test
        )

    def _number_program(
        self, own: GenotypesPublic, chosen: tuple[int, ...] | None, budget: Budget
    ) -> Program[AssociationRelease]:
        first, second = budget.split([MOMENTS, SUMS], [MOMENT_SHARE, 1 - MOMENT_SHARE])
        few = moment_noise(first.remaining, first.relation)
        many = sum_noise(len(own.sites), second.remaining, second.relation)
        moments, sums = yield [
            Ask(first, few, PhenotypeMoments(GRID), MOMENTS),
            Ask(second, many, DosageSums(GRID, chosen), SUMS),
        ]
        assert own.bounds is not None
        effects = effects_of_numbers(
            np.asarray(sums, dtype=np.float64) / GRID,
            np.asarray(moments, dtype=np.float64) / GRID,
            deviation=many.standard_deviation / GRID,
            moment_deviation=few.standard_deviation / GRID,
            rows=own.rows,
            half_range=(own.bounds[1] - own.bounds[0]) / 2,
        )
        return AssociationRelease(
            own, own.sites, effects.z**2, effects=effects, deviation=None, test="linear"
        )


def moment_noise(loss: Loss, relation: Relation) -> CountNoise:
    """Return the noise on n, Σy and Σy² of a phenotype in steps."""
    if relation is Relation.REPLACE_ONE:
        # |y − y'| + |y² − y'²|/s ≤ 9s/4 and one step of rounding; squares add up to 4s² and a bit.
        return count_noise((3,), loss, relation, moves=5 * GRID // 4, largest=2 * GRID)
    return count_noise((3,), loss, relation, moves=3 * GRID, largest=GRID)


def sum_noise(sites: int, loss: Loss, relation: Relation) -> CountNoise:
    """Return the noise on Σx, Σx² and Σxy of all sites."""
    if relation is Relation.REPLACE_ONE:
        # From no copy to two: x moves by 2, xy by 2, and x² not at all.
        return count_noise((3, sites), loss, relation, moves=2 * GRID * sites, largest=2 * GRID)
    return count_noise((3, sites), loss, relation, moves=3 * GRID * sites, largest=GRID)
