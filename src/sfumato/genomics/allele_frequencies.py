"""AlleleFrequencies: noisy frequencies or genotype counts of a panel of sites, by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.genomics.frequency_release import FrequencyRelease
from sfumato.genomics.genotype_method import CovariateNames, GenotypeMethod
from sfumato.genomics.group_counts import GroupCounts
from sfumato.privacy.budget import Budget
from sfumato.privacy.parameters import OneOf, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import Program

__all__ = ["AlleleFrequencies"]


@dataclass(frozen=True, kw_only=True)
class AlleleFrequencies(GenotypeMethod[FrequencyRelease]):
    """Release allele frequencies of cases and controls at declared sites.

    Parameters
    ----------
    epsilon
        Privacy loss for one participant.
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta), with less noise if many
        sites are released; otherwise the guarantee is pure.
    sites
        The names of the sites; by default all. No other site is published.
    counts
        `"alleles"`: frequencies alone, with the least noise; a missing call counts as declared.
        `"genotypes"`: also the numbers of participants with 0, 1, 2 copies and without a call.
    strata
        Covariates whose values are counted apart.

    Notes
    -----
    Privacy: per site, one participant changes one count by 1, so the L1 sensitivity of all counts
    is the number of sites, and twice that under replace-one; the sizes of groups, where they are
    private, have a slice of their own (docs/proofs/allele-frequencies.md).
    """

    proof: ClassVar[str] = "allele-frequencies.md"

    counts: str = parameter(OneOf(("alleles", "genotypes")), "alleles")
    strata: Any = parameter(CovariateNames(), ())

    def check(self, public: GenotypesPublic) -> None:
        """Raise where a site or a covariate is unknown."""
        super().check(public)
        public.strata(self.strata)

    def _counting(self, public: GenotypesPublic) -> GroupCounts:
        _, chosen = self.view(public)
        return GroupCounts(self.counts, self.site_count(public), tuple(self.strata), chosen)

    def plan(self, public: GenotypesPublic) -> Plan:
        """Return the noise on counts and frequencies."""
        self.check(public)
        steps = self._counting(public).steps(
            public, self.working_loss(), self.record_budget(public)
        )
        notes: tuple[str, ...] = ()
        if public.sizes_likely is None and public.bounds is None:
            notes = ("Declare rows_about to see errors as frequencies.",)
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            notes=notes,
            sizes=self.site_sizes(public),
        )

    def program(self, public: GenotypesPublic, budget: Budget) -> Program[FrequencyRelease]:
        """Ask for the counts, and for the sizes of groups where they are private."""
        measured = yield from self._counting(public).ask(public, budget)
        return FrequencyRelease(
            self.view(public)[0],
            measured,
            genotypes=self.counts == "genotypes",
            strata=tuple(self.strata),
        )
