"""What programs may ask of genotypes: the vocabulary of their queries.

A query looks at all sites of the data that it is given, or at those that it names. Missing calls
count as it was declared, participant by participant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.genotypes import Genotypes
from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.genomics.distance_kernels import association_distances
from sfumato.genomics.statistics import allelic_statistic, critical_differences, trend_statistic
from sfumato.mechanisms.real import units_of
from sfumato.privacy.program import Query

__all__ = [
    "AlleleDifferences",
    "AssociationDistances",
    "CopyCounts",
    "DosageSums",
    "FrequencyDifferences",
    "GenotypeCounts",
    "GroupSizes",
    "KeptScores",
    "PairTables",
    "PhenotypeMoments",
    "SiteStatistics",
    "SpectrumMass",
    "Without",
]

Integers64 = NDArray[np.int64]
#: Sites are looked at in parts of this many, so that memory is bounded.
PART = 2**17


def _covariates(public: GenotypesPublic, names: Sequence[str]) -> list[int]:
    """Return the numbers of covariates."""
    return [] if public.covariates is None else list(public.covariates.indices(names))


def _copies(data: Genotypes, calls: Integers64) -> Integers64:
    """Return counts of 0, 1 and 2 copies, missing calls among them as declared."""
    copies = calls[..., :3].copy()
    copies[..., 0 if data.public.missing == "reference" else 1] += calls[..., 3]
    return copies


def _sites(sites: tuple[int, ...] | None) -> Integers64 | None:
    return None if sites is None else np.array(sites, dtype=np.int64)


@dataclass(frozen=True)
class GroupSizes(Query):
    """How many participants each group has, by covariates if any are named.

    Parameters
    ----------
    strata
        The covariates.
    """

    strata: tuple[str, ...] = ()

    def answer(self, data: Genotypes) -> Integers64:
        """Return one number per group and stratum."""
        return data.counts.group_sizes(_covariates(data.public, self.strata))


@dataclass(frozen=True)
class AlleleDifferences(Query):
    """How many more participants have two copies of the effect allele than none.

    Parameters
    ----------
    strata
        The covariates that are counted apart.
    sites
        The numbers of the sites; by default all.
    """

    strata: tuple[str, ...] = ()
    sites: tuple[int, ...] | None = None

    def answer(self, data: Genotypes) -> Integers64:
        """Return the differences, of shape (groups and strata, sites)."""
        places = _covariates(data.public, self.strata)
        copies = _copies(data, data.counts.calls(_sites(self.sites), places))
        return np.ascontiguousarray((copies[..., 2] - copies[..., 0]).T)


@dataclass(frozen=True)
class GenotypeCounts(Query):
    """How many participants have each call.

    Parameters
    ----------
    strata, sites
        As for `AlleleDifferences`.
    """

    strata: tuple[str, ...] = ()
    sites: tuple[int, ...] | None = None

    def answer(self, data: Genotypes) -> Integers64:
        """Return counts, of shape (groups and strata, sites, 4): 0, 1, 2 copies and missing."""
        places = _covariates(data.public, self.strata)
        calls = data.counts.calls(_sites(self.sites), places)
        return np.ascontiguousarray(calls.transpose(1, 0, 2))


@dataclass(frozen=True)
class CopyCounts(Query):
    """How many participants have 0, 1 and 2 copies, missing calls among them as declared.

    Parameters
    ----------
    strata, sites
        As for `AlleleDifferences`.
    """

    strata: tuple[str, ...] = ()
    sites: tuple[int, ...] | None = None

    def answer(self, data: Genotypes) -> Integers64:
        """Return counts, of shape (groups and strata, sites, 3)."""
        places = _covariates(data.public, self.strata)
        copies = _copies(data, data.counts.calls(_sites(self.sites), places))
        return np.ascontiguousarray(copies.transpose(1, 0, 2))


@dataclass(frozen=True)
class PairTables(Query):
    """How many participants have each pair of genotypes at two sites.

    Parameters
    ----------
    pairs
        The numbers of the two sites of each pair.
    """

    pairs: tuple[tuple[int, int], ...]

    def answer(self, data: Genotypes) -> Integers64:
        """Return tables, of shape (pairs, 3, 3)."""
        counts = data.counts.pairs(np.array(self.pairs, dtype=np.int64).reshape(-1, 2))
        first = _copies(data, counts.transpose(0, 2, 1))
        return np.ascontiguousarray(_copies(data, first.transpose(0, 2, 1)))


@dataclass(frozen=True)
class DosageSums(Query):
    """Sums over participants of x, x² and x·y, where x is the copies minus 1 and y the phenotype.

    Parameters
    ----------
    scale
        The steps of the phenotype from the middle of its bounds to either of them; x and x² are
        multiplied by it.
    sites
        As for `AlleleDifferences`.
    """

    scale: int
    sites: tuple[int, ...] | None = None

    def answer(self, data: Genotypes) -> Integers64:
        """Return the sums, of shape (3, sites)."""
        copies = _copies(data, data.counts.calls(_sites(self.sites)))[:, 0]
        sums = _copies(data, data.counts.sums(_sites(self.sites)))
        plain = copies[:, 2] - copies[:, 0]
        square = copies[:, 2] + copies[:, 0]
        product = sums[:, 2] - sums[:, 0]
        return np.stack([self.scale * plain, self.scale * square, product])


@dataclass(frozen=True)
class PhenotypeMoments(Query):
    """The number of participants and the sums of y and y²/scale, y the phenotype in steps.

    Parameters
    ----------
    scale
        As for `DosageSums`; the number of participants is multiplied by it.
    """

    scale: int

    def answer(self, data: Genotypes) -> Integers64:
        """Return the three numbers; y² is divided by the scale for each participant."""
        return data.counts.scaled_moments(self.scale)


@dataclass(frozen=True)
class SpectrumMass(Query):
    """How many sites have which minor-allele count, shared between the two nearest knots.

    Parameters
    ----------
    width
        The distance of two knots, in alleles. A site with m copies of its rarer allele adds
        width − r to knot ⌊m/width⌋ and r to the next, where r is the remainder of m.
    knots
        How many knots there are. What is beyond the last belongs to it.
    sites
        As for `AlleleDifferences`.
    """

    width: int
    knots: int
    sites: tuple[int, ...] | None = None

    def answer(self, data: Genotypes) -> Integers64:
        """Return the mass of each knot; a whole site has the mass `width`."""
        mass = np.zeros(self.knots, dtype=np.int64)
        for sites in _parts(data.counts.sites, self.sites):
            copies = _copies(data, data.counts.calls(sites)).sum(axis=1)
            minor = np.minimum(2 * copies[:, 2] + copies[:, 1], 2 * copies[:, 0] + copies[:, 1])
            minor = np.minimum(minor, self.width * (self.knots - 1))
            place, rest = np.divmod(minor, self.width)
            np.add.at(mass, place, self.width - rest)
            np.add.at(mass, np.minimum(place + 1, self.knots - 1), rest)
        return mass


def _parts(many: int, sites: tuple[int, ...] | None = None) -> list[Integers64]:
    """Return the numbers of some sites, or of all, in parts."""
    wanted = np.arange(many, dtype=np.int64) if sites is None else np.array(sites, dtype=np.int64)
    return [wanted[low : low + PART] for low in range(0, len(wanted), PART)]


def _copies_by_group(data: Genotypes, sites: Integers64) -> tuple[Integers64, Integers64]:
    """Return the counts of 0, 1 and 2 copies among cases, and among controls."""
    copies = _copies(data, data.counts.calls(sites))
    return np.ascontiguousarray(copies[:, 0]), np.ascontiguousarray(copies[:, 1])


@dataclass(frozen=True)
class SiteStatistics(Query):
    """The χ² of every site, in whole steps of a public grid.

    Parameters
    ----------
    test
        `"allelic"` or `"trend"`.
    exponent
        The grid: steps of 2 to this power.
    sites
        As for `AlleleDifferences`.
    """

    test: str
    exponent: int
    sites: tuple[int, ...] | None = None

    def answer(self, data: Genotypes) -> Integers64:
        """Return the statistics."""
        statistic = allelic_statistic if self.test == "allelic" else trend_statistic
        parts = [
            units_of(statistic(*_copies_by_group(data, sites)), self.exponent)
            for sites in _parts(data.counts.sites, self.sites)
        ]
        return np.concatenate(parts)


@dataclass(frozen=True)
class AssociationDistances(Query):
    """How many participants must change before a site's allelic test crosses a threshold.

    Parameters
    ----------
    sizes
        The public numbers of cases and controls.
    threshold
        The value of χ² from which on a site is significant, in 1/1000.
    sites
        As for `AlleleDifferences`.
    """

    sizes: tuple[int, int]
    threshold: int
    sites: tuple[int, ...] | None = None

    def answer(self, data: Genotypes) -> Integers64:
        """Return one score per site: k − 1 if k changes undo significance, −k if k reach it."""
        critical = critical_differences(self.sizes, self.threshold)
        parts = []
        for sites in _parts(data.counts.sites, self.sites):
            cases, controls = _copies_by_group(data, sites)
            scores = np.zeros(len(sites), dtype=np.int64)
            # Data of a rehearsal may have other sizes than the declared ones.
            fit = (cases.sum(axis=1) == self.sizes[0]) & (controls.sum(axis=1) == self.sizes[1])
            if fit.all():
                association_distances(cases, controls, critical, scores)
            parts.append(scores)
        return np.concatenate(parts)


@dataclass(frozen=True)
class FrequencyDifferences(Query):
    """How far apart the frequencies of cases and controls are, in weights of a participant.

    Parameters
    ----------
    weights
        What a case and a control count: the larger the group, the less.
    sites
        As for `AlleleDifferences`.
    """

    weights: tuple[int, int]
    sites: tuple[int, ...] | None = None

    def answer(self, data: Genotypes) -> Integers64:
        """Return one score per site: |Σ weight · (copies − 1)| with controls subtracted."""
        parts = []
        for sites in _parts(data.counts.sites, self.sites):
            cases, controls = _copies_by_group(data, sites)
            own = self.weights[0] * (cases[:, 2] - cases[:, 0])
            other = self.weights[1] * (controls[:, 2] - controls[:, 0])
            parts.append(np.abs(own - other))
        return np.concatenate(parts)


@dataclass(frozen=True)
class Without(Query):
    """The scores of another query without some candidates; the engine keeps them as long as asked.

    Parameters
    ----------
    scores
        What the scores are kept by: whoever asks holds it.
    chosen
        The candidates that are left out, in ascending order.
    """

    scores: KeptScores
    chosen: tuple[int, ...]

    def answer(self, data: Genotypes) -> Integers64:
        """Return the scores of the other candidates."""
        whole = data.counts.recall(self.scores, lambda: self.scores.query.answer(data))
        return np.delete(whole, list(self.chosen))


class KeptScores:
    """A query whose answer an engine keeps while this is alive.

    Parameters
    ----------
    query
        The query.
    """

    def __init__(self, query: Any) -> None:
        self.query = query
