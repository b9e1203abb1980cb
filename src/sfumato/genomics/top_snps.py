"""TopSNPs: the sites that are most associated with the phenotype, chosen privately.

The score of a site is how many participants must change before its test crosses the threshold of
significance (Johnson and Shmatikov, 2013): no participant changes it by more than 1, whereas χ²
itself may change by 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.genomics.association_release import AssociationRelease
from sfumato.genomics.estimates import effects_of_groups
from sfumato.genomics.genotype_method import (
    GenotypeMethod,
    require_groups,
    require_public_groups,
)
from sfumato.genomics.group_counts import GroupCounts, Measured
from sfumato.genomics.queries import (
    AssociationDistances,
    FrequencyDifferences,
    GroupSizes,
    KeptScores,
    SiteStatistics,
    Without,
)
from sfumato.genomics.statistics import SLACK, allelic_sensitivity, threshold_of
from sfumato.mechanisms.choose import choose_within
from sfumato.mechanisms.count_noise import CountNoise, count_noise, margin
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Basis, Relation
from sfumato.privacy.loss import ZCDP, Loss, Number
from sfumato.privacy.parameters import SHARE, Between, Flag, OneOf, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.privacy.registry import find_published

__all__ = ["TopSNPs"]

CHOICE, STATISTICS, WEIGHTS = "choice", "statistics", "sizes for weights"
#: Where group sizes are private, the weights of the score take this share of the choice.
WEIGHT_SHARE = Fraction(1, 20)
#: A participant of a group of one has this weight.
WEIGHT_SCALE = 2**30
#: χ² is read in steps of 2 to this power as a score.
EXPONENT = -10
#: What the published release is called.
PUBLISHED = "gwas_selection:release_as_published"


@dataclass(frozen=True)
class Scoring:
    """A score, and by how much one participant changes it at most."""

    query: Any
    sensitivity: Fraction


@dataclass(frozen=True, kw_only=True)
class TopSNPs(GenotypeMethod[AssociationRelease]):
    """Choose the sites with the strongest association privately, and release their statistics.

    Parameters
    ----------
    epsilon
        Privacy loss for one participant.
    delta
        If given, the guarantee is (epsilon, delta): choices and counts add up in zCDP, which is
        better for many sites; otherwise the guarantee is pure.
    sites
        The names of the candidates; by default all. No other site is published.
    count
        How many sites are chosen.
    score
        `"distance"`: how many participants must change before a site crosses the threshold;
        `"chi_squared"`: the χ² of the allelic test; both need public group sizes. `"difference"`:
        the difference of allele frequencies. `"auto"`: the distance where sizes are public, else
        the difference.
    p_value
        The threshold of significance of the distance. A strict threshold favours sites whose
        rarer allele is rare; 1/1000 found most planted sites (docs/genomics.md).
    apart
        How many bases apart chosen sites are at least on one chromosome, so that a locus is chosen
        once and not with all its neighbours. Sites of unknown place are not affected.
    statistics_share
        Share of epsilon for the counts of the chosen sites, from which effects and tests follow.
    variant
        `"proved"`, or `"published"`: sites chosen without noise, as in published evaluations, then
        noisy frequencies. The published variant is not private.
    accept_unproven
        Must be true for the published variant, which is not private.

    Notes
    -----
    Privacy: the distance changes by at most 1 if one participant is replaced, so permute-and-flip
    with ε/k for each of k choices is ε-DP; which sites are left out follows from earlier choices;
    counts at the chosen sites are paid for as for `AlleleFrequencies` (docs/proofs/top-snps.md).
    """

    proof: ClassVar[str] = "top-snps.md"
    example: ClassVar[dict[str, Any]] = {"count": 2, "p_value": "0.05"}

    count: int = parameter(Whole(1, 10_000), 10)
    score: str = parameter(OneOf(("auto", "distance", "chi_squared", "difference")), "auto")
    p_value: Number = parameter(Between(Fraction(0), Fraction(1)), Fraction(1, 1000))
    apart: int = parameter(Whole(0, 10**9), 250_000)
    statistics_share: Number = parameter(SHARE, Fraction(1, 3))
    variant: str = parameter(OneOf(("proved", "published")), "proved")
    accept_unproven: bool = parameter(Flag(), False)

    @property
    def published(self) -> bool:
        """Whether it is the published variant."""
        return self.variant == "published"

    @property
    def basis(self) -> Basis:
        """Proved, but for the published variant."""
        return Basis.PUBLISHED if self.published else Basis.PROVED

    def check(self, public: GenotypesPublic) -> None:
        """Raise where there are no groups, too few sites, or private sizes."""
        super().check(public)
        require_groups(self, public)
        many = self.site_count(public)
        if self.count > many:
            raise ValueError(f"count must be at most the {many:,} sites; got {self.count:,}")
        if self.chosen_score(public) != "difference":
            require_public_groups(f'score = "{self.chosen_score(public)}"', public)
        if not self.published:
            return
        if not self.accept_unproven:
            raise ValueError(
                "the published release is not private: it reveals which sites are most "
                "associated; use variant='proved', or set accept_unproven=True for a comparison "
                "without a privacy guarantee"
            )
        if self.delta is not None:
            raise ValueError("the published variant is claimed to be pure; leave delta out")
        require_public_groups("the published variant", public)

    def chosen_score(self, public: GenotypesPublic) -> str:
        """Return the score that is used."""
        if self.score != "auto":
            return self.score
        return "distance" if public.groups == "public" else "difference"

    def _scoring(
        self, public: GenotypesPublic, relation: Relation, weights: tuple[int, int] | None
    ) -> Scoring:
        """Return the score of all candidates."""
        _, panel = self.view(public)
        kind = self.chosen_score(public)
        if kind == "difference":
            assert weights is not None
            twice = 2 if relation is Relation.REPLACE_ONE else 1
            return Scoring(FrequencyDifferences(weights, panel), Fraction(twice * max(weights)))
        sizes = require_public_groups(kind, public)
        if kind == "distance":
            level = threshold_of(float(Fraction(self.p_value)))
            return Scoring(AssociationDistances(sizes, level, panel), Fraction(1))
        steps = ceil((allelic_sensitivity(sizes) + SLACK) * 2**-EXPONENT) + 1
        return Scoring(SiteStatistics("allelic", EXPONENT, panel), Fraction(steps))

    def _needs_sizes(self, public: GenotypesPublic) -> bool:
        return self.chosen_score(public) == "difference" and public.sizes is None

    def _shares(self, public: GenotypesPublic) -> tuple[Fraction, Fraction, Fraction]:
        """Return the shares of weights, choices and statistics."""
        statistics = Fraction(self.statistics_share)
        weights = WEIGHT_SHARE * (1 - statistics) if self._needs_sizes(public) else Fraction(0)
        return weights, 1 - statistics - weights, statistics

    def _counting(self, chosen: tuple[int, ...] | None) -> GroupCounts:
        many = self.count if chosen is None else len(chosen)
        return GroupCounts("alleles", many, (), chosen)

    def plan(self, public: GenotypesPublic) -> Plan:
        """Return by how much a chosen site may fall short, and the noise on its counts."""
        self.check(public)
        whole, (limit, relation) = self.working_loss(), self.record_budget(public)
        if self.published:
            steps = find_published("gwas_selection:plan_as_published")(self, public)
        else:
            steps = self._plan_steps(public, whole, limit, relation)
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            sizes=self.site_sizes(public),
        )

    def _plan_steps(
        self, public: GenotypesPublic, whole: Loss, limit: Loss, relation: Relation
    ) -> list[PlanStep]:
        first, second, third = self._shares(public)
        steps = []
        weights: tuple[int, int] | None = None
        unit = {"distance": "participants", "chi_squared": "of χ²"}.get(
            self.chosen_score(public), "of frequency"
        )
        if self.chosen_score(public) == "difference":
            weights = weights_of(public.sizes_likely or (1, 1))
        if first:
            noise = self._weight_noise(limit.share(first), relation)
            steps.append(
                PlanStep(
                    what="the sizes of the groups, for weights",
                    loss=whole.share(first),
                    noise=f"± {noise.standard_deviation:,.4g} participants (1 s.d.)",
                    error=f"± {margin(noise):,.4g} participants",
                    figures={"margin": margin(noise)},
                )
            )
        scoring = self._scoring(public, relation, weights)
        rate = self._rate(limit.share(second), scoring.sensitivity)
        # P(a choice falls short by t) ≤ candidates · exp(−rate · t), solved for 1/20.
        short = log(20 * self.site_count(public)) / rate
        scale = {"distance": 1.0, "chi_squared": 2.0**EXPONENT}.get(
            self.chosen_score(public), 1 / WEIGHT_SCALE
        )
        short *= scale
        known = self.chosen_score(public) != "difference" or public.sizes_likely is not None
        steps.append(
            PlanStep(
                what=f"{self.count} choice{'s' * (self.count > 1)} among "
                f"{self.site_count(public):,} sites by {self.chosen_score(public)}",
                loss=whole.share(second),
                noise="exponential mechanism" if isinstance(limit, ZCDP) else "permute-and-flip",
                error=f"each at most {short:,.4g} {unit} short of the best left, 19 times in 20"
                if known
                else "declare rows_about to see it",
                figures={"margin": short},
            )
        )
        counts = self._counting(None).steps(
            public, whole.share(third), (limit.share(third), relation)
        )
        return [*steps, *counts]

    def _rate(self, loss: Loss, sensitivity: Fraction) -> float:
        """Return the factor of the score in the exponent of each choice."""
        return float(choose_within(loss.share(Fraction(1, self.count)), 2, sensitivity).rate)

    def _weight_noise(self, loss: Loss, relation: Relation) -> CountNoise:
        return count_noise((2,), loss, relation)

    def program(self, public: GenotypesPublic, budget: Budget) -> Program[AssociationRelease]:
        """Ask for the sites one after another, then for their counts."""
        own, panel = self.view(public)
        if self.published:
            places = yield from find_published(PUBLISHED)(self, public, panel, budget)
            return (yield from self._published_counts(own, panel, places, budget))
        shares = self._shares(public)
        names = [WEIGHTS, CHOICE, STATISTICS]
        kept = [(name, share) for name, share in zip(names, shares, strict=True) if share]
        slices = budget.split([name for name, _ in kept], [share for _, share in kept])
        weights: tuple[int, int] | None = None
        if self._needs_sizes(public):
            noise = self._weight_noise(slices[0].remaining, slices[0].relation)
            told = yield Ask(slices[0], noise, GroupSizes(), WEIGHTS)
            weights = weights_of((int(told[0]), int(told[1])))
        elif self.chosen_score(public) == "difference":
            assert public.sizes is not None
            weights = weights_of(public.sizes)
        places = yield from self._choose(public, slices[-2], weights)
        chosen = places if panel is None else tuple(panel[place] for place in places)
        measured = yield from self._counting(chosen).ask(public, slices[-1])
        return self._release(own, places, measured)

    def _release(
        self, own: GenotypesPublic, places: tuple[int, ...], measured: Measured
    ) -> AssociationRelease:
        """Return the statistics of chosen sites."""
        effects = effects_of_groups(measured)
        sites = own.sites.take(np.array(places, dtype=np.int64))
        return AssociationRelease(
            own, sites, effects.z**2, effects=effects, deviation=None, test="allelic", ranked=True
        )

    def _published_counts(
        self,
        own: GenotypesPublic,
        panel: tuple[int, ...] | None,
        places: tuple[int, ...],
        budget: Budget,
    ) -> Program[AssociationRelease]:
        """Ask for counts at sites that were chosen without noise."""
        chosen = places if panel is None else tuple(panel[place] for place in places)
        measured = yield from find_published("gwas_selection:count_as_published")(
            self._counting(chosen), own, budget
        )
        return self._release(own, places, measured)

    def _choose(
        self, public: GenotypesPublic, budget: Budget, weights: tuple[int, int] | None
    ) -> Program[tuple[int, ...]]:
        """Choose sites, best first, until none is left that is far enough from all others."""
        scoring = self._scoring(public, budget.relation, weights)
        near = Neighbourhood.of(self.view(public)[0], self.apart)
        scores = KeptScores(scoring.query)
        each = budget.limit.share(Fraction(1, self.count))
        chosen: list[int] = []
        left_out = np.zeros(self.site_count(public), dtype=np.bool_)
        for number in range(1, self.count + 1):
            left = np.flatnonzero(~left_out)
            if not len(left):
                break
            law = choose_within(each, len(left), scoring.sensitivity)
            query = Without(scores, tuple(np.flatnonzero(left_out).tolist()))
            place = int(left[(yield Ask(budget, law, query, f"{CHOICE} {number}"))])
            chosen.append(place)
            left_out |= near.of_site(place)
        return tuple(chosen)


@dataclass(frozen=True)
class Neighbourhood:
    """Which sites are near each other. Public."""

    chromosomes: NDArray[np.int64]
    positions: NDArray[np.int64]
    apart: int

    @classmethod
    def of(cls, public: GenotypesPublic, apart: int) -> Neighbourhood:
        """Return the neighbourhood of the sites of a panel."""
        _, chromosomes, positions, _, _ = public.sites.listed
        numbers = {name: number for number, name in enumerate(dict.fromkeys(chromosomes))}
        return cls(
            # A site of unknown place is near none.
            np.array([-1 if name == "0" else numbers[name] for name in chromosomes]),
            np.array([int(text) for text in positions], dtype=np.int64),
            apart,
        )

    def of_site(self, place: int) -> NDArray[np.bool_]:
        """Return the sites that are near one, itself among them."""
        if self.chromosomes[place] < 0:
            found = np.zeros(len(self.positions), dtype=np.bool_)
        else:
            close = np.abs(self.positions - self.positions[place]) < self.apart
            found = close & (self.chromosomes == self.chromosomes[place])
        found[place] = True
        return found


def weights_of(sizes: tuple[int, int]) -> tuple[int, int]:
    """Return what a case and a control count, so that groups of these sizes count equally."""
    first, second = (max(1, round(WEIGHT_SCALE / max(size, 1))) for size in sizes)
    return first, second
