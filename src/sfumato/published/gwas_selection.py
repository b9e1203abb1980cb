"""GWAS frequencies with noise, at sites that were chosen without any.

Wang, "Privacy-preserving data publishing" (dissertation, 2015), section 5.5, as evaluated: noisy
frequencies and odds ratios of the K sites that a catalogue lists for a trait.

Printed: frequencies with Laplace noise of scale 2K/(εn) are ε-DP. For a fixed list of sites they
are, at ε/2 even.

It fails because the list is not fixed: a site is in the catalogue because its association was
significant in the data. One participant who decides which of two sites is ahead: the loss is
infinite at ε = 1 (docs/refuted.md: gwas-selection). `TopSNPs` pays for the choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.genomics.group_counts import COUNTS_LABEL, GroupCounts, Measured
from sfumato.genomics.queries import AlleleDifferences, SiteStatistics
from sfumato.genomics.top_snps import EXPONENT, TopSNPs
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.laplace import GeometricNoise, check_integers
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss, Measure, pure_within, zero
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.primitive import Change, Primitive, require_array
from sfumato.privacy.program import Ask, Program

__all__ = ["DisclosedSites", "count_as_published", "plan_as_published", "release_as_published"]


@dataclass(frozen=True, kw_only=True)
class DisclosedSites(Primitive):
    """Tell which candidates have the largest scores, without noise.

    Parameters
    ----------
    candidates, count
        How many candidates there are, and how many are told.

    Notes
    -----
    Privacy: none. Its price is what the evaluation pays for the choice, nothing.
    """

    kind: ClassVar[str] = "disclosed sites"

    candidates: int
    count: int

    def cost(self, measure: Measure) -> Loss:
        """Return nothing, as is claimed."""
        return zero(measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 score for each candidate."""
        check_integers(value, (self.candidates,))

    def sample(self, value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the best candidates."""
        return np.argsort(-value, kind="stable")[: self.count].astype(np.int64)

    def check_output(self, output: Any) -> None:
        """Raise unless an output holds the numbers of candidates, each at most once."""
        require_array(output, np.int64, (self.count,))
        inside = output.min() >= 0 and output.max() < self.candidates
        if not inside or len(np.unique(output)) != len(output):
            raise ValueError("the numbers must be those of candidates, each at most once")

    def log_probability(self, value: NDArray[np.int64], output: NDArray[np.int64]) -> float:
        """Return 0 for the best candidates and minus infinity for any other."""
        return 0.0 if np.array_equal(self.sample(value), output) else -math.inf

    def change(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> Change:
        """Tell whether the same candidates are best; nothing else is allowed."""
        apart = not np.array_equal(self.sample(value), self.sample(neighbour))
        return Change(Fraction(int(apart)), Fraction(0), "whether the same sites are best")


def plan_as_published(method: TopSNPs, public: GenotypesPublic) -> list[PlanStep]:
    """Return the two steps of the published release."""
    noise = _noise(method.count, pure_within(method.loss()))
    off = margin(noise)
    return [
        PlanStep(
            what=f"{method.count} sites with the largest χ², without noise",
            loss=zero(type(method.working_loss())),
            noise="none",
            error="none: not private",
            figures={"margin": 0.0},
        ),
        PlanStep(
            what=f"allele counts at {method.count} sites",
            loss=method.working_loss(),
            noise=f"± {noise.standard_deviation:,.4g} (1 s.d.) per count",
            error=f"± {off:,.4g} per count",
            figures={"margin": off},
        ),
    ]


def _noise(count: int, epsilon: Fraction) -> GeometricNoise:
    """Return noise of scale 2K/(εn) on frequencies: of 4K/ε on the differences of n people."""
    return GeometricNoise(shape=(2, count), sensitivity=Fraction(4 * count), epsilon=epsilon)


def release_as_published(
    method: TopSNPs, public: GenotypesPublic, panel: tuple[int, ...] | None, budget: Budget
) -> Program[tuple[int, ...]]:
    """Return the sites with the largest χ²."""
    told = DisclosedSites(candidates=method.site_count(public), count=method.count)
    best = yield Ask(budget, told, SiteStatistics("allelic", EXPONENT, panel), "sites")
    return tuple(int(place) for place in best)


def count_as_published(
    counting: GroupCounts, public: GenotypesPublic, budget: Budget
) -> Program[Measured]:
    """Return noisy counts at the sites."""
    noise = _noise(counting.many, pure_within(budget.remaining))
    counts = yield Ask(budget, noise, AlleleDifferences((), counting.chosen), COUNTS_LABEL)
    sizes = np.array(public.sizes, dtype=np.float64)[:, None]
    return Measured(
        np.asarray(counts, dtype=np.float64)[:, None, :],
        np.maximum(sizes, 1.0),
        noise.standard_deviation,
        0.0,
    )
