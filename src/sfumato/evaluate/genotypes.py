"""How far a release of genotypes is from the private genotypes it was made of.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import sections
from sfumato.data.genotypes import Genotypes
from sfumato.evaluate.warning import WARNING
from sfumato.genomics.association_release import AssociationRelease
from sfumato.genomics.estimates import (
    Effects,
    effects_of_copies,
    effects_of_groups,
    effects_of_numbers,
)
from sfumato.genomics.frequency_release import FrequencyRelease
from sfumato.genomics.frequency_spectrum import SiteSpectrum
from sfumato.genomics.group_counts import CELLS, QUERIES, Measured
from sfumato.genomics.linkage import LinkageRelease
from sfumato.genomics.queries import (
    DosageSums,
    GroupSizes,
    PairTables,
    PhenotypeMoments,
    SpectrumMass,
)

__all__ = ["GENOTYPE_RELEASES", "WARNING", "FigureErrors", "GenotypesEvaluation", "evaluate"]

Floats = NDArray[np.float64]

#: The releases that can be compared.
GENOTYPE_RELEASES = (FrequencyRelease, AssociationRelease, SiteSpectrum, LinkageRelease)


@dataclass(frozen=True)
class FigureErrors:
    """How far released figures of one kind are from the truth. Not private.

    Parameters
    ----------
    what
        The figures.
    absolute
        The absolute difference of each.
    within
        The share of them that is within its margin, where they have one.
    """

    what: str
    absolute: Floats
    within: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "what": self.what,
            "figures": self.absolute.size,
            "average_absolute_error": float(self.absolute.mean()),
            "median_absolute_error": float(np.median(self.absolute)),
            "largest_absolute_error": float(self.absolute.max()),
            "share_within_margin": self.within,
        }

    def cells(self) -> tuple[str, ...]:
        """Return its line of the table that people read."""
        figures = self.to_json()
        within = "—" if self.within is None else f"{100 * self.within:.0f} %"
        return (
            f"{self.absolute.size:,} {self.what}",
            f"{figures['average_absolute_error']:.4g}",
            f"{figures['median_absolute_error']:.4g}",
            f"{figures['largest_absolute_error']:.4g}",
            within,
        )


@dataclass(frozen=True)
class GenotypesEvaluation:
    """A comparison of a release with the private genotypes. Not private.

    Parameters
    ----------
    participants
        The number of participants.
    errors
        The errors of each kind of figure.
    recovered
        How many chosen sites are among as many truly best ones, where sites were chosen.
    chosen
        How many sites were chosen.
    """

    participants: int
    errors: tuple[FigureErrors, ...]
    recovered: int | None = None
    chosen: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        return {
            "private": False,
            "warning": WARNING,
            "participants": self.participants,
            "errors": [item.to_json() for item in self.errors],
            "recovered": self.recovered,
            "chosen": self.chosen,
        }

    def blocks(self) -> list[sections.Text | sections.Grid]:
        """Return the same for people."""
        head = ("figures", "average error", "median", "largest", "within margin")
        words = f"{self.participants:,} participants."
        if self.recovered is not None:
            words += (
                f" {self.recovered} of the {self.chosen} chosen sites are among the {self.chosen} "
                "with the largest χ²."
            )
        return [
            sections.Text(words),
            sections.Grid(head, tuple(item.cells() for item in self.errors), (1, 2, 3, 4)),
        ]


def evaluate(data: Genotypes, release: Any) -> GenotypesEvaluation:
    """Compare the figures of a release with those of the private genotypes. Not private.

    Parameters
    ----------
    data
        The private genotypes, with the sites of the release among theirs.
    release
        A release of them: frequencies, associations, a spectrum or linkage.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    if not isinstance(release, GENOTYPE_RELEASES):
        raise TypeError(f"a release of genotypes is needed; got {type(release).__name__}")
    if data.public.bounds != release.public.bounds:
        raise ValueError("the data and the release have different kinds of phenotype")
    own = data.only(release.public.sites.listed[0])
    people = data.counts.people
    if isinstance(release, FrequencyRelease):
        what = "genotypes" if release.genotypes else "alleles"
        exact = FrequencyRelease(
            release.public,
            _measure(own, what, release.strata),
            genotypes=release.genotypes,
            strata=release.strata,
        )
        errors = np.abs(release.frequencies - exact.frequencies)
        within = float((errors <= release.margins).mean())
        return GenotypesEvaluation(people, (FigureErrors("frequencies", errors, within),))
    if isinstance(release, SiteSpectrum):
        mass = SpectrumMass(release.width, len(release.sites)).answer(own) / release.width
        errors = np.abs(release.sites - mass)
        found = FigureErrors("knots", errors, float((errors <= release.margin).mean()))
        return GenotypesEvaluation(people, (found,))
    if isinstance(release, LinkageRelease):
        places = own.public.sites.index(name for pair in release.pairs for name in pair)
        tables = PairTables(tuple((int(a), int(b)) for a, b in places.reshape(-1, 2))).answer(own)
        truth = LinkageRelease(release.public, release.pairs, tables.astype(np.float64), 0.0)
        errors = np.abs(release.r - truth.r)
        found = FigureErrors("values of r", errors, float((errors <= release.margins).mean()))
        return GenotypesEvaluation(people, (found,))
    return _evaluate_association(own, release, people)


def _evaluate_association(
    data: Genotypes, release: AssociationRelease, people: int
) -> GenotypesEvaluation:
    """Compare tests and effects, and how many of the truly best sites were chosen."""
    exact = _exact_effects(data, release)
    places = data.public.sites.index(release.sites.listed[0])
    errors = [FigureErrors("values of χ²", np.abs(release.statistic - exact.z[places] ** 2))]
    if release.effects is not None:
        apart = np.abs(release.effects.beta - exact.beta[places])
        within = float((apart <= 1.959963984540054 * release.effects.standard_error).mean())
        errors.append(FigureErrors("effects", apart, within))
    if not release.ranked:
        return GenotypesEvaluation(people, tuple(errors))
    best = np.argsort(-(exact.z**2), kind="stable")[: len(places)]
    recovered = int(np.isin(places, best).sum())
    return GenotypesEvaluation(people, tuple(errors), recovered, len(places))


def _exact_effects(data: Genotypes, release: AssociationRelease) -> Effects:
    """Return effects without noise."""
    strata = getattr(release.provenance.method, "strata", ())
    if release.test == "linear":
        assert data.public.bounds is not None
        low, high = data.public.bounds
        return effects_of_numbers(
            DosageSums(1).answer(data).astype(np.float64) * [[1], [1], [1 / 1000]],
            PhenotypeMoments(1000).answer(data) / 1000,
            deviation=0.0,
            moment_deviation=0.0,
            rows=data.counts.people,
            half_range=(high - low) / 2,
        )
    if release.test == "trend":
        return effects_of_copies(_measure(data, "copies", tuple(strata)))
    return effects_of_groups(_measure(data, "alleles", tuple(strata)))


def _measure(data: Genotypes, what: str, strata: tuple[str, ...]) -> Measured:
    """Return exact counts, as if there were no noise."""
    query: Any = QUERIES[what](strata)  # type: ignore[call-arg]
    shape = (len(data.public.group_names), len(data.public.strata(strata)))
    counts = query.answer(data).astype(np.float64)
    sizes = GroupSizes(strata).answer(data).reshape(shape)
    inner = (len(data.public.sites), *CELLS[what])
    return Measured(counts.reshape(*shape, *inner), np.maximum(sizes, 1.0), 0.0, 0.0)
