"""Names of sites and alleles: `rs12982744`, or `rs12982744-C` for the allele that is counted.

One notation serves genotype files, released frequencies and population frequencies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["COMPLEMENT", "is_ambiguous", "other_allele", "split_name"]

#: A site with the allele that a column counts.
NAME = re.compile(r"(?P<site>.+?)\s*-\s*(?P<allele>[ACGT]+)\s*", re.IGNORECASE)
#: What stands before an allele that is known only by what it is not.
NOT = "not "
#: The base on the other strand.
COMPLEMENT = {"A": "T", "T": "A", "C": "G", "G": "C"}


def split_name(name: str) -> tuple[str, str | None]:
    """Return the site of a name such as `rs12982744-C`, and its allele if it has one."""
    found = NAME.fullmatch(name.strip())
    return (found["site"], found["allele"].upper()) if found else (name.strip(), None)


def other_allele(allele: str) -> str:
    """Return a name for the other allele of a site where only one is known."""
    return allele.removeprefix(NOT) if allele.startswith(NOT) else NOT + allele


def is_ambiguous(alleles: Iterable[str]) -> bool:
    """Tell whether two alleles are complements, so that the strand cannot be seen from them."""
    known = {allele for allele in alleles if not allele.startswith(NOT)}
    return known in ({"A", "T"}, {"C", "G"})
