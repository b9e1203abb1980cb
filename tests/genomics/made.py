"""Small studies for the tests of genotypes."""

import numpy as np

import sfumato as sf
from sfumato.data.sites import Sites

SITES = Sites.of(
    ["rs1", "rs2", "rs3", "rs4"], ["1", "1", "2", "X"], [10, 20, 10, 30], "ACGT", "GTAC"
)
COVARIATES = {"ancestry": ["north", "south"]}


def made(people=60, sites=4, seed=0):
    """Return calls, of which some are missing, with an association at the first site."""
    random = np.random.default_rng(seed)
    cases = people // 2
    shares = np.where(np.arange(people)[:, None] < cases, [[0.7] + [0.3] * (sites - 1)], 0.3)
    calls = random.binomial(2, shares)
    calls[random.random(calls.shape) < 0.05] = -1
    return calls, ["case"] * cases + ["control"] * (people - cases)


def study(people=60, seed=0, **options):
    calls, phenotype = made(people, seed=seed)
    if options.pop("numbers", False):
        phenotype = np.linspace(0, 10, people)
        options = {"bounds": (0, 10), **options}
    return sf.Genotypes(calls, phenotype, sites=SITES, **options)


def replaced_study(people=60, seed=0, **options):
    return study(people, seed, relation="replace_one", groups="public", **options)


def people(rows, **options):
    """Return a study from pairs of a phenotype and calls."""
    calls = np.array([row[1] for row in rows], dtype=np.int64).reshape(len(rows), len(SITES))
    return sf.Genotypes(calls, [row[0] for row in rows], sites=SITES, **options)


CASE, CONTROL = ("case", (2, 2, 2, 2)), ("control", (0, 0, 0, 0))


def added_pairs():
    rows = [("case", (2, 0, 1, -1))] * 3 + [("control", (0, 1, 2, 0))] * 3
    return [
        (people([]), people([CASE])),
        (people(rows), people([*rows, CONTROL])),
        (people(rows), people(rows[1:])),
    ]


def replaced_pairs():
    options = {"relation": "replace_one", "groups": "public"}
    rows = [CASE] * 3 + [CONTROL] * 4
    return [
        (people(rows, **options), people([("case", (0, 0, 0, 0)), *rows[1:]], **options)),
        (people(rows, **options), people([*rows[:-1], ("control", (2, 1, -1, 2))], **options)),
    ]
