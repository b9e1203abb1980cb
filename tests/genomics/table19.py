"""Six traits, nine sites and ten associations with large published effects (Wang, table 19)."""

import numpy as np

from sfumato.genomics.catalogue import TraitAssociation
from sfumato.genomics.trait_network import TraitNetwork

#: Trait, site, risk allele, frequency in controls, odds ratio, printed frequency in cases.
ROWS = (
    ("COPD", "rs9394152", "C", 0.41, 22.22, 0.9392),
    ("COPD", "rs73717741", "G", 0.07, 11.9, 0.4725),
    ("COPD", "rs10928927", "C", 0.16, 17.54, 0.7696),
    ("liver injury", "rs2395029", "G", 0.05, 45.0, 0.703),
    ("jaw osteonecrosis", "rs1934951", "T", 0.12, 12.75, 0.63),
    ("osteoarthritis", "rs12982744", "C", 0.61, 11.11, 0.9456),
    ("height", "rs12982744", "G", 0.40, 33.33, 0.9569),
    ("height", "rs7853377", "G", 0.23, 50.0, 0.9372),
    ("height", "rs7567288", "C", 0.20, 33.33, 0.8929),
    ("green eyes", "rs12913832", "A", 0.23, 8.43, 0.7158),
)
PREVALENCE = {
    "COPD": 0.05,
    "liver injury": 0.00008,
    "jaw osteonecrosis": 0.056,
    "osteoarthritis": 0.036,
    "height": 0.10,
    "green eyes": 0.16,
}
SHARED = {"rs12982744-C": 0.79}
#: How many of 85 people have the risk bit, by site (the shared site counts C).
CARRIERS = (58, 15, 20, 10, 27, 28, 6, 3, 37)
PEOPLE = 85


def associations():
    return [
        TraitAssociation(trait=trait, site=site, allele=allele, control_frequency=f, odds_ratio=o)
        for trait, site, allele, f, o, _ in ROWS
    ]


def network(**options):
    return TraitNetwork.of(associations(), PREVALENCE, population=SHARED, **options)


def only(model, **bits):
    """Return the states of one person who is known at some sites alone."""
    states = np.full((1, len(model.sites)), -1, dtype=np.int8)
    for place, site in enumerate(model.sites):
        states[0, place] = bits.get(site.name, -1)
    return states
