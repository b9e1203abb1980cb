"""The two-layer network of traits and sites: traits are independent, sites depend on traits.

A trait is present or absent, a site has the state that a coding gives it, and sites are independent
given the traits that they are associated with. The model is built from published associations and
is public. Inference is exact: connected traits are eliminated one by one, in logarithms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.genomics.calls import Calls
from sfumato.genomics.catalogue import CLIP, TraitAssociation, case_frequency
from sfumato.genomics.codings import MISSING, refuse_unknown_coding, state_probabilities
from sfumato.genomics.elimination import Factor, calibrate
from sfumato.genomics.site_names import is_same_allele, split_name
from sfumato.privacy.arguments import suggest

__all__ = ["TABLES", "SiteNode", "TraitNetwork"]

#: The conditional tables of a site with several traits.
TABLES = ("lemma7", "lemma7_normalised", "log_odds")
#: A site with more traits has a table of more than 65,536 columns.
MOST_PARENTS = 16
#: Numbers that inference holds at once.
BLOCK = 2**22

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SiteNode:
    """A site with the traits that it is associated with.

    Parameters
    ----------
    name, allele
        The site, and the allele that its state counts.
    parents
        The places of its traits in the network.
    cases, controls
        The frequency of the allele in people with and without each trait.
    population
        Its frequency in the population; needed with several traits.
    alternate
        The other allele, if it is known.
    """

    name: str
    allele: str
    parents: tuple[int, ...]
    cases: tuple[float, ...]
    controls: tuple[float, ...]
    population: float | None = None
    alternate: str = ""

    def is_same(self, counted: str | None) -> bool:
        """Tell whether a count is of the allele of this node, or of the other one."""
        try:
            return is_same_allele(counted, self.allele, self.alternate)
        except ValueError as wrong:
            raise ValueError(f"{self.name}: {wrong}") from None


@dataclass(frozen=True)
class TraitNetwork:
    """A public model of traits and sites. `TraitNetwork.of` builds one.

    Parameters
    ----------
    traits
        The names of the traits.
    prevalence
        The probability of each trait in the population.
    sites
        The sites with their frequencies.
    cpt
        The conditional table of a site with several traits: `"lemma7"`, the published product,
        which is not a probability distribution; `"lemma7_normalised"`, the same divided by its sum;
        or `"log_odds"`, the background odds times the odds ratio of each trait that is present.
    coding
        How two alleles become a state: `"allele"`, `"carrier"`, `"homozygous"` or `"dosage"`.
    """

    traits: tuple[str, ...]
    prevalence: tuple[float, ...]
    sites: tuple[SiteNode, ...]
    cpt: str = "lemma7_normalised"
    coding: str = "allele"
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.cpt not in TABLES:
            raise ValueError(f"cpt must be one of {', '.join(TABLES)}; got {self.cpt!r}")
        refuse_unknown_coding(self.coding)
        for trait, share in zip(self.traits, self.prevalence, strict=True):
            if not 0 <= share <= 1:
                raise ValueError(f"the prevalence of {trait!r} must be from 0 to 1; got {share}")
        for site in self.sites:
            self._check_site(site)
        places = {site.name: place for place, site in enumerate(self.sites)}
        object.__setattr__(self, "_places", places)

    def _check_site(self, site: SiteNode) -> None:
        shares = (*site.cases, *site.controls, *(() if site.population is None else (
            site.population,)))  # fmt: skip
        if not all(0 < share < 1 for share in shares):
            raise ValueError(f"the frequencies of {site.name} must lie between 0 and 1")
        known = set(range(len(self.traits)))
        if not site.parents or not len(set(site.parents) & known) == len(site.parents) == len(
            site.cases
        ) == len(site.controls):
            raise ValueError(
                f"{site.name} needs the places of its traits, and for each of them a frequency in "
                "cases and in controls"
            )
        if len(site.parents) > MOST_PARENTS:
            raise ValueError(
                f"{site.name} is associated with {len(site.parents)} traits; at most "
                f"{MOST_PARENTS} are possible: leave some traits out"
            )
        if len(site.parents) > 1 and site.population is None:
            raise ValueError(
                f"{site.name} is associated with {len(site.parents)} traits, so its frequency in "
                f"the population is needed: population={{'{site.name}-{site.allele}': …}}, or "
                'population="controls" for the mean of the control frequencies'
            )

    @classmethod
    def of(
        cls,
        associations: Iterable[TraitAssociation],
        prevalence: Mapping[str, float],
        *,
        population: Mapping[str, float] | str | None = None,
        cpt: str = "lemma7_normalised",
        coding: str = "allele",
        clip: float = CLIP,
    ) -> TraitNetwork:
        """Build a network from published associations.

        Parameters
        ----------
        associations
            One for each trait and site. The first of a site decides which allele is counted; the
            others are put in terms of it.
        prevalence
            The probability of each trait.
        population
            Allele frequencies of sites with several traits, as `{"rs12982744-C": 0.79}`; or
            `"controls"` for the mean of the control frequencies.
        cpt, coding
            As in the class.
        clip
            Frequencies are kept from `clip` to 1 − `clip`.
        """
        if isinstance(population, str) and population != "controls":
            raise ValueError(f'population must be "controls" or frequencies; got {population!r}')
        traits: dict[str, int] = {}
        groups: dict[str, list[TraitAssociation]] = {}
        for one in associations:
            if one.trait not in prevalence:
                raise ValueError(
                    f"the prevalence of {one.trait!r} is missing; give prevalence={{...}} with a "
                    "probability for each trait"
                )
            traits.setdefault(one.trait, len(traits))
            group = groups.setdefault(one.site, [])
            if any(other.trait == one.trait for other in group):
                raise ValueError(
                    f"{one.site} has two associations with {one.trait!r}; keep one of them "
                    "(read_catalogue merges them)"
                )
            group.append(one.express(group[0].allele) if group else one)
        shares = _population_shares(population)
        sites = tuple(_site_node(group, traits, shares, clip) for group in groups.values())
        chances = tuple(float(prevalence[trait]) for trait in traits)
        return cls(tuple(traits), chances, sites, cpt, coding)

    def with_frequencies(
        self, trait: str, frequencies: Mapping[str, tuple[float, float]], *, clip: float = CLIP
    ) -> TraitNetwork:
        """Return the network with released frequencies of one study in place of the published.

        The allele that is counted stays the same, even if noise turns the effect around.

        Parameters
        ----------
        trait
            The trait of the study.
        frequencies
            The frequencies in cases and in controls by site, as `{"rs1934951-T": (0.6, 0.1)}`.
        clip
            Frequencies are kept from `clip` to 1 − `clip`.
        """
        place = self.trait_place(trait)
        given = {split_name(name)[0]: (split_name(name)[1], pair)
                 for name, pair in frequencies.items()}  # fmt: skip
        if not set(given) & set(self.sites_of(trait)):
            raise ValueError(f"none of the released sites is associated with {trait!r}")
        sites = []
        for site in self.sites:
            if site.name in given and place in site.parents:
                allele, pair = given[site.name]
                turned = pair if site.is_same(allele) else tuple(1 - f for f in pair)
                at = site.parents.index(place)
                case, control = (float(np.clip(f, clip, 1 - clip)) for f in turned)
                site = replace(
                    site,
                    cases=(*site.cases[:at], case, *site.cases[at + 1 :]),
                    controls=(*site.controls[:at], control, *site.controls[at + 1 :]),
                )
            sites.append(site)
        return replace(self, sites=tuple(sites))

    @property
    def is_distribution(self) -> bool:
        """Whether all conditional tables are probabilities; the published product is none."""
        return self.cpt != "lemma7" or all(len(site.parents) == 1 for site in self.sites)

    def words(self) -> str:
        """Return the size and the choices of the model."""
        remark = (
            ""
            if self.is_distribution
            else (" (the published product, which is not a probability distribution)")
        )
        return (
            f"traits: {len(self.traits):,}; sites: {len(self.sites):,}; conditional table "
            f"{self.cpt}{remark}; coding {self.coding}"
        )

    def trait_place(self, trait: str) -> int:
        """Return the place of a trait; a name that is not there is refused."""
        if trait not in self.traits:
            hint = suggest(trait, self.traits)
            raise ValueError(f"the network has no trait {trait!r}{hint}")
        return self.traits.index(trait)

    def sites_of(self, trait: str) -> tuple[str, ...]:
        """Return the sites that a trait is associated with."""
        place = self.trait_place(trait)
        return tuple(site.name for site in self.sites if place in site.parents)

    def states(self, calls: Any) -> NDArray[np.int8]:
        """Return the states of people, in the order of the sites; −1 where a call is missing.

        Parameters
        ----------
        calls
            `Calls`, or what `Calls.of` accepts. An array has the sites of the network as columns.
        """
        names = [site.name for site in self.sites]
        found = Calls.of(calls, sites=names)
        pairs = [(site.allele, site.alternate) for site in self.sites]
        return found.states_of(names, pairs, self.coding)

    def table(self, site: str) -> Floats:
        """Return the conditional table of a site.

        Returns
        -------
        table
            One axis of length 2 for each trait of the site (absent, present), then one for the
            states. Under `"lemma7"` the states of a site with several traits do not sum to 1.
        """
        return np.exp(self._log_tables[self._places[site]])

    @cached_property
    def _log_tables(self) -> tuple[Floats, ...]:
        return tuple(self._log_table(site) for site in self.sites)

    def _log_table(self, site: SiteNode) -> Floats:
        """Return the logarithms of a conditional table."""
        many = len(site.parents)
        groups = np.array([site.controls, site.cases])
        if many == 1:
            return np.log(state_probabilities(groups[:, 0], self.coding))
        assert site.population is not None
        if self.cpt == "log_odds":
            logits = np.log(groups) - np.log1p(-groups)
            total = np.log(site.population) - np.log1p(-site.population)
            total = np.full((2,) * many, total)
            for axis, shift in enumerate(logits[1] - logits[0]):
                total[(slice(None),) * axis + (1,)] += shift
            share = np.clip(1 / (1 + np.exp(-total)), CLIP, 1 - CLIP)
            return np.log(state_probabilities(share, self.coding))
        logs = np.log(state_probabilities(groups, self.coding))
        background = np.log(state_probabilities(site.population, self.coding))
        table = np.broadcast_to((1 - many) * background, (2,) * many + background.shape).copy()
        for axis in range(many):
            shape = [1] * many + [-1]
            shape[axis] = 2
            table += logs[:, axis].reshape(shape)
        if self.cpt == "lemma7_normalised":
            table -= np.logaddexp.reduce(table, axis=-1, keepdims=True)
        return table

    def posterior(self, states: ArrayLike, *, known: Mapping[str, bool] | None = None) -> Floats:
        """Return the probability of each trait given the states of each person.

        Parameters
        ----------
        states
            Array of people by sites, −1 where a state is missing (`states` makes it from calls).
        known
            Traits that are known to be present or absent.

        Returns
        -------
        posterior
            Array of people by traits.
        """
        return self._infer(np.atleast_2d(np.asarray(states, dtype=np.int8)), known or {})[1]

    def log_probability(
        self, sites: Mapping[str, int] | None = None, traits: Mapping[str, bool] | None = None
    ) -> float:
        """Return the logarithm of the joint probability of some states and traits.

        Under `"lemma7"` it is the logarithm of the published expression, which is not a
        probability.
        """
        states = np.full((1, len(self.sites)), MISSING, dtype=np.int8)
        for name, state in (sites or {}).items():
            if name not in self._places:
                raise ValueError(f"the network has no site {name!r}")
            states[0, self._places[name]] = state
        return float(self._infer(states, traits or {}, allow_impossible=True)[0][0])

    def probability(
        self,
        sites: Mapping[str, int] | None = None,
        traits: Mapping[str, bool] | None = None,
        *,
        given_sites: Mapping[str, int] | None = None,
        given_traits: Mapping[str, bool] | None = None,
    ) -> float:
        """Return the probability of some states and traits given others."""
        for asked, given in ((sites or {}, given_sites or {}), (traits or {}, given_traits or {})):
            if any(given.get(name, value) != value for name, value in asked.items()):
                return 0.0
        evidence = self.log_probability(given_sites, given_traits)
        if evidence == -np.inf:
            raise ValueError("what is given has probability 0")
        both = self.log_probability(
            {**(given_sites or {}), **(sites or {})}, {**(given_traits or {}), **(traits or {})}
        )
        return float(np.exp(both - evidence))

    def state_chances(
        self, present: Sequence[str] = (), places: Sequence[int] | None = None
    ) -> Floats:
        """Return the probability of each state of each site if some traits are present.

        Other traits of a site have their prevalence.

        Parameters
        ----------
        present
            The traits that are known to be present.
        places
            The places of the sites that are wanted; by default all.

        Returns
        -------
        chances
            Array of sites by states.
        """
        known = {self.trait_place(trait) for trait in present}
        chances = [1.0 if at in known else share for at, share in enumerate(self.prevalence)]
        found = []
        for place in range(len(self.sites)) if places is None else places:
            table = np.exp(self._log_tables[place])
            for parent in self.sites[place].parents:
                table = (1 - chances[parent]) * table[0] + chances[parent] * table[1]
            found.append(table)
        return np.array(found).reshape(len(found), 3 if self.coding == "dosage" else 2)

    def involved(self, traits: Iterable[str]) -> NDArray[np.bool_]:
        """Return which sites are associated with at least one of some traits."""
        places = {self.trait_place(trait) for trait in traits}
        return np.array([bool(places & set(site.parents)) for site in self.sites], dtype=np.bool_)

    def _infer(
        self, states: NDArray[np.int8], known: Mapping[str, bool], *, allow_impossible: bool = False
    ) -> tuple[Floats, Floats]:
        """Return the log probability of the states and the posterior of all traits, by person."""
        if states.shape[1] != len(self.sites):
            raise ValueError(
                f"states must have {len(self.sites)} columns, one for each site; got "
                f"{states.shape[1]}"
            )
        many = 3 if self.coding == "dosage" else 2
        if ((states < MISSING) | (states >= many)).any():
            raise ValueError(f"a state must be from 0 to {many - 1}, or -1 if it is missing")
        prior = np.array([self.prevalence, self.prevalence]).T
        prior[:, 0] = 1 - prior[:, 0]
        for trait, present in known.items():
            prior[self.trait_place(trait), int(not present)] = 0
        with np.errstate(divide="ignore"):
            log_prior = np.log(prior)
        block = max(1, BLOCK // max(1, len(self.sites), 2 * len(self.traits)))
        parts = [
            self._infer_block(states[first : first + block], log_prior)
            for first in range(0, len(states), block)
        ] or [(np.zeros(0), np.zeros((0, len(self.traits))))]
        evidence, posterior = (np.concatenate(part) for part in zip(*parts, strict=True))
        if not allow_impossible and np.isneginf(evidence).any():
            raise ValueError("what is known of the traits has probability 0")
        return evidence, posterior

    def _infer_block(self, states: NDArray[np.int8], log_prior: Floats) -> tuple[Floats, Floats]:
        people = len(states)
        single = np.repeat(log_prior[None], people, axis=0)
        factors: dict[tuple[int, ...], Floats] = {}
        for place, (site, table) in enumerate(zip(self.sites, self._log_tables, strict=True)):
            column = states[:, place]
            seen = column != MISSING
            # Unobserved sites have no influence on their traits.
            if not seen.any():
                continue
            logs = np.moveaxis(table, -1, 0)[np.where(seen, column, 0)]
            logs[~seen] = 0
            if len(site.parents) == 1:
                single[:, site.parents[0]] += logs
            else:
                order = np.argsort(site.parents)
                scope = tuple(int(site.parents[at]) for at in order)
                turned = logs.transpose(0, *(1 + order))
                factors[scope] = factors[scope] + turned if scope in factors else turned
        shared = [Factor(scope, logs) for scope, logs in factors.items()]
        return calibrate(single, shared)


def _population_shares(population: Mapping[str, float] | str | None) -> Any:
    """Return a function from a site and its counted allele to a population frequency."""
    if population is None:
        return lambda group: None
    if isinstance(population, str):
        return lambda group: float(np.mean([one.control_frequency for one in group]))
    given = {split_name(name)[0]: (split_name(name)[1], share)
             for name, share in population.items()}  # fmt: skip
    for site, (_, share) in given.items():
        if not 0 <= share <= 1:
            raise ValueError(f"the population frequency of {site} must be from 0 to 1; got {share}")

    def look_up(group: list[TraitAssociation]) -> float | None:
        if group[0].site not in given:
            return None
        allele, share = given[group[0].site]
        return share if is_same_allele(allele, group[0].allele, group[0].alternate) else 1 - share

    return look_up


def _site_node(
    group: list[TraitAssociation], traits: Mapping[str, int], shares: Any, clip: float
) -> SiteNode:
    """Return the node of a site from its associations, all in terms of one allele."""
    control = np.clip([one.control_frequency for one in group], clip, 1 - clip)
    case = case_frequency([one.odds_ratio for one in group], control, clip=clip)
    share = shares(group)
    return SiteNode(
        name=group[0].site,
        allele=group[0].allele,
        parents=tuple(traits[one.trait] for one in group),
        cases=tuple(case.tolist()),
        controls=tuple(control.tolist()),
        population=None if share is None else float(np.clip(share, clip, 1 - clip)),
        alternate=_known_alternate(group),
    )


def _known_alternate(group: list[TraitAssociation]) -> str:
    """Return the other allele of a site if one of its associations names it."""
    names = {one.alternate for one in group} | {one.allele for one in group}
    return next((name for name in sorted(names - {group[0].allele}) if " " not in name), "")
