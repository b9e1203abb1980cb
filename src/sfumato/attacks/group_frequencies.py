"""Allele frequencies of a group of people, as a study released them: exact, or with noise.

Attacks take frequencies from here, whoever released them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.genomics.calls import Calls
from sfumato.genomics.codings import MISSING
from sfumato.genomics.site_names import is_same_allele, split_name
from sfumato.genomics.trait_network import TraitNetwork
from sfumato.noise.exact import Number, exact, positive

__all__ = ["GroupFrequencies", "align", "perturb_network"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GroupFrequencies:
    """The allele frequencies of one group of people.

    Parameters
    ----------
    names
        Sites, or sites with the counted allele as `rs12982744-C`.
    values
        The frequency at each site. With noise it may lie outside 0 to 1.
    people
        The size of the group, which is public.
    noise
        The standard deviation of the noise on a frequency; 0 if there is none.
    epsilon
        The privacy loss of the release, for one person of the group replaced by another; `None` if
        there is no guarantee.
    """

    names: tuple[str, ...]
    values: Floats
    people: int
    noise: float = 0.0
    epsilon: float | None = None

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        if values.shape != (len(self.names),):
            raise ValueError(f"there are {len(self.names):,} sites and {values.size:,} frequencies")
        if not np.isfinite(values).all():
            raise ValueError("a frequency must be a finite number")
        if self.people < 1:
            raise ValueError(f"people must be at least 1; got {self.people}")
        if not self.noise >= 0:
            raise ValueError(f"noise must not be negative; got {self.noise}")
        object.__setattr__(self, "values", values)

    @classmethod
    def of(cls, calls: Calls) -> GroupFrequencies:
        """Return the exact frequencies of people. Not private.

        A missing call is left out; a site without any call has the frequency one half.
        """
        if calls.bits:
            raise ValueError("allele frequencies need counts of alleles; the calls are bits")
        seen = calls.values != MISSING
        total = np.where(seen, calls.values, 0).sum(axis=0)
        alleles = 2 * seen.sum(axis=0)
        values = np.where(alleles > 0, total / np.maximum(alleles, 1), 0.5)
        return cls(calls.names, values, calls.people)

    def with_noise(self, epsilon: Number) -> GroupFrequencies:
        """Return the frequencies as a private release of the group would give them.

        The allele counts of K sites get discrete Laplace noise of scale 2K/ε. One person replaced
        by another changes each count by at most 2, so this is ε-DP for a group of public size,
        sites that were chosen without the data and complete calls. It is a trial: nothing is
        booked.

        Parameters
        ----------
        epsilon
            The privacy loss.
        """
        scale = 2 * len(self.names) / positive(epsilon, "epsilon")
        counts = np.rint(2 * self.people * self.values).astype(np.int64)
        noisy = counts + noise.discrete_laplace(len(counts), scale=scale)
        deviation = float(np.sqrt(2)) * float(scale) / (2 * self.people)
        return replace(
            self,
            values=noisy / (2 * self.people),
            noise=deviation,
            epsilon=float(exact(epsilon)),
        )


def perturb_network(
    network: TraitNetwork,
    epsilon: Number,
    people: int,
    *,
    published: bool = False,
    clip: float = 1e-3,
) -> TraitNetwork:
    """Return a network whose studies released noisy frequencies, one study for each trait.

    It is a trial of such releases: nothing is booked.

    Parameters
    ----------
    network
        The network with exact frequencies.
    epsilon
        The privacy loss of each study.
    people
        The number of cases, and of controls, of each study.
    published
        Use the noise of the published evaluation, which has twice the scale that is needed:
        2K/(εn) on a frequency instead of K/(εn), for a trait with K sites.
    clip
        Noisy frequencies are kept from `clip` to 1 − `clip`.
    """
    per_site = exact(4 if published else 2) / positive(epsilon, "epsilon")
    if people < 1:
        raise ValueError(f"people must be at least 1; got {people}")
    for place, trait in enumerate(network.traits):
        nodes = [site for site in network.sites if place in site.parents]
        if not nodes:
            continue
        pairs = [(site.cases[at], site.controls[at]) for site in nodes
                 for at in (site.parents.index(place),)]  # fmt: skip
        counts = np.rint(2 * people * np.array(pairs)).astype(np.int64)
        noisy = counts + noise.discrete_laplace(counts.shape, scale=per_site * len(nodes))
        shares = (noisy / (2 * people)).tolist()
        given = {site.name: (pair[0], pair[1]) for site, pair in zip(nodes, shares, strict=True)}
        network = network.with_frequencies(trait, given, clip=clip)
    return network


def align(
    calls: Calls, groups: Mapping[str, GroupFrequencies]
) -> tuple[NDArray[np.int8], dict[str, Floats]]:
    """Return calls and frequencies at the sites that all of them have, in terms of one allele.

    Parameters
    ----------
    calls
        The calls of people.
    groups
        Frequencies; the names of the first decide which alleles are counted.
    """
    tables = {label: {split_name(name)[0]: place for place, name in enumerate(group.names)}
              for label, group in groups.items()}  # fmt: skip
    leading = next(iter(groups.values()))
    common = set(calls.sites).intersection(*tables.values())
    chosen = [split_name(name) for name in leading.names if split_name(name)[0] in common]
    if not chosen:
        raise ValueError("the calls and the released frequencies have no site in common")
    known = dict(map(split_name, calls.names))
    alleles = [allele or known[site] or "" for site, allele in chosen]
    counts = calls.counts_of([site for site, _ in chosen], [(allele, "") for allele in alleles])
    found = {}
    for label, group in groups.items():
        at = np.array([tables[label][site] for site, _ in chosen])
        own = [split_name(group.names[place])[1] for place in at]
        same = [is_same_allele(name, allele) for name, allele in zip(own, alleles, strict=True)]
        found[label] = np.where(same, group.values[at], 1 - group.values[at])
    return counts, found
