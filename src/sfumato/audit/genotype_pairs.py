"""Neighbouring genotypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.audit.neighbours import Pair, PairMaker, register
from sfumato.data.genotypes import Genotypes
from sfumato.data.genotypes_public import GRID, GenotypesPublic
from sfumato.engines.packed_genotypes import PackedGenotypes, pack_calls
from sfumato.privacy.guarantee import Relation

#: A participant: the group or the number of the phenotype, the code of each covariate, and the
#: call at each site.
Person = tuple[int, tuple[int, ...], tuple[int, ...]]


def genotypes_of(public: GenotypesPublic, people: Sequence[Person]) -> Genotypes:
    """Return the given participants, with the sizes that are public."""
    from dataclasses import replace

    sizes = () if public.covariates is None else public.covariates.sizes
    calls = np.array([person[2] for person in people], dtype=np.int8).reshape(
        len(people), len(public.sites)
    )
    first = np.array([person[0] for person in people], dtype=np.int64)
    plain = public.bounds is None
    engine = PackedGenotypes(
        pack_calls(np.ascontiguousarray(calls.T)),
        np.arange(len(public.sites), dtype=np.int64),
        np.zeros(len(public.sites), dtype=np.bool_),
        (first if plain else np.zeros_like(first)).astype(np.uint8),
        len(public.group_names),
        numbers=None if plain else first,
        codes=np.array([person[1] for person in people], dtype=np.uint8).reshape(
            len(people), len(sizes)
        ).T.copy(),
        sizes=sizes,
    )  # fmt: skip
    own = public
    if public.relation is Relation.REPLACE_ONE:
        cases = int((first == 0).sum()) if public.groups == "public" else None
        own = replace(public, rows=len(people), cases=cases)
    return Genotypes._of(engine, own)


def _person(public: GenotypesPublic, group: int, call: int, code: int = 0) -> Person:
    """Return a participant with the same call at every site."""
    sizes = () if public.covariates is None else public.covariates.sizes
    if public.bounds is not None:
        group = (-GRID, GRID)[group]
    return group, tuple(min(code, size - 1) for size in sizes), (call,) * len(public.sites)


def _crossed(public: GenotypesPublic, group: int, turned: bool) -> Person:
    """Return a participant with two copies at the first site and none elsewhere, or turned."""
    first, covariates, calls = _person(public, group, 2 if turned else 0)
    return first, covariates, (0 if turned else 2, *calls[1:])


def _mixed(public: GenotypesPublic, cases: int, controls: int) -> list[Person]:
    """Return participants whose calls run through all values, out of step."""
    found = []
    for number in range(cases + controls):
        group, covariates, _ = _person(public, int(number >= cases), 0, number)
        calls = tuple((number * (site + 2) + site) % 3 for site in range(len(public.sites)))
        found.append((group, covariates, calls))
    return found


def genotype_pairs(public: GenotypesPublic) -> list[Pair]:
    """Return genotypes that differ in one participant: nobody and one, all alike and one other."""
    case, control = _person(public, 0, 2), _person(public, 1, 0)
    cases, controls = (4, 4) if public.sizes is None else public.sizes
    apart = [case] * cases + [control] * controls
    mixed = _mixed(public, cases, controls)
    if public.relation is Relation.ADD_REMOVE:
        added = [
            ("nobody, and one case", [], case),
            ("cases and controls apart, and one more case", apart, case),
            (
                "cases and controls apart, and a control like the cases",
                apart,
                _person(public, 1, 2),
            ),
            ("mixed, and one", mixed, control),
            ("nobody with a copy, and one with two", [control] * 8, case),
            ("cases and controls apart, and a case whose sites differ", apart,
             _crossed(public, 0, True)),
        ]  # fmt: skip
        return [
            Pair(name, genotypes_of(public, here), genotypes_of(public, [*here, more]))
            for name, here, more in added
        ]
    # The step from one copy to two is what moves a trend most.
    steep = [_person(public, 0, 1)] * cases + [control] * controls
    replaced = [
        ("cases and controls apart, one case like the controls", apart, 0, _person(public, 0, 0)),
        ("cases and controls apart, one control like the cases", apart, -1, _person(public, 1, 2)),
        ("cases with one copy, one control with two", steep, -1, _person(public, 1, 2)),
        ("mixed, one case replaced", mixed, 0, _person(public, 0, 2)),
    ]
    alone = [_person(public, 0, 0)] * cases + [control] * controls
    replaced.append(("nobody with a copy, one case with two", alone, 0, case))
    # Some sites gain what others lose, which moves choices among them most.
    crossed = [_crossed(public, 0, False)] * cases + [_person(public, 1, 1)] * controls
    replaced.append(
        ("the first site against the others, one case the other way", crossed, 0,
         _crossed(public, 0, True))
    )  # fmt: skip
    if public.groups != "public":
        replaced.append(("apart, a case becomes a control", apart, 0, _person(public, 1, 0)))
    return [
        Pair(name, genotypes_of(public, here), genotypes_of(public, _replace(here, place, by)))
        for name, here, place, by in replaced
    ]


def _replace(people: list[Person], place: int, by: Person) -> list[Person]:
    """Return participants of whom one is replaced."""
    found = list(people)
    found[place] = by
    return found


def random_genotype_pair(public: GenotypesPublic, generator: Any) -> Pair:
    """Return random genotypes, some of them alike, and a neighbour."""
    sizes = () if public.covariates is None else public.covariates.sizes

    def drawn(group: int) -> Person:
        calls = generator.integers(-1, 3, len(public.sites))
        if generator.integers(0, 3) == 0:
            calls[:] = 2 * (1 - group)
        if public.missing == "refuse":
            calls = np.maximum(calls, 0)
        first = group if public.bounds is None else int(generator.integers(-GRID, GRID + 1))
        codes = tuple(int(generator.integers(0, size)) for size in sizes)
        return first, codes, tuple(int(call) for call in calls)

    if public.sizes is not None:
        groups = [0] * public.sizes[0] + [1] * public.sizes[1]
    else:
        groups = [int(g) for g in generator.integers(0, 2, int(generator.integers(1, 12)))]
    here = [drawn(group) for group in groups]
    if public.relation is Relation.ADD_REMOVE:
        more = drawn(int(generator.integers(0, 2)))
        return Pair(
            "random, and one", genotypes_of(public, here), genotypes_of(public, [*here, more])
        )
    place = int(generator.integers(0, len(here)))
    group = groups[place] if public.groups == "public" else int(generator.integers(0, 2))
    there = _replace(here, place, drawn(group))
    return Pair("random, one replaced", genotypes_of(public, here), genotypes_of(public, there))


register("genotypes", PairMaker(genotype_pairs, random_genotype_pair))
