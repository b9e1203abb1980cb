"""Names of sites and alleles: `rs12982744`, or `rs12982744-C` for the allele that is counted.

One notation serves genotype files, released frequencies and population frequencies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = [
    "complement",
    "is_ambiguous",
    "is_same_allele",
    "join_name",
    "other_allele",
    "split_name",
]

#: A site with the allele that a column counts.
NAME = re.compile(r"(?P<site>.+?)\s*-\s*(?P<allele>[ACGT]+)\s*", re.IGNORECASE)
#: An allele as a sequence; `?` and `0` stand for none.
ALLELE = re.compile("[ACGT]+", re.IGNORECASE)
#: What stands before an allele that is known only by what it is not.
NOT = "not "
#: The base on the other strand.
COMPLEMENT = {"A": "T", "T": "A", "C": "G", "G": "C"}


def split_name(name: str) -> tuple[str, str | None]:
    """Return the site of a name such as `rs12982744-C`, and its allele if it has one."""
    found = NAME.fullmatch(name.strip())
    return (found["site"], found["allele"].upper()) if found else (name.strip(), None)


def join_name(site: str, allele: str | None) -> str:
    """Return the name of a site with its counted allele; one that is no sequence is left out."""
    known = allele is not None and ALLELE.fullmatch(allele.strip())
    return f"{site}-{allele}" if known else site


def other_allele(allele: str) -> str:
    """Return a name for the other allele of a site where only one is known."""
    return allele.removeprefix(NOT) if allele.startswith(NOT) else NOT + allele


def is_ambiguous(alleles: Iterable[str]) -> bool:
    """Tell whether two alleles are complements, so that the strand cannot be seen from them."""
    known = {allele for allele in alleles if not allele.startswith(NOT)}
    return known in ({"A", "T"}, {"C", "G"})


def complement(allele: str) -> str:
    """Return an allele as it is read on the other strand."""
    return "".join(COMPLEMENT[base] for base in reversed(allele))


def is_same_allele(counted: str | None, allele: str, alternate: str = "") -> bool:
    """Tell whether a count is of an allele, or of the other one of its site.

    Parameters
    ----------
    counted
        The allele that was counted; `None` if that is not stated, which means `allele`.
    allele, alternate
        The two alleles of the site; the second may not be known.
    """
    if counted is None or not allele or counted == allele:
        return True
    if allele.startswith(NOT):
        return counted != other_allele(allele)
    if not alternate or alternate.startswith(NOT) or counted == alternate:
        return False
    turned = complement(counted)
    if turned not in (allele, alternate) or is_ambiguous((allele, alternate)):
        raise ValueError(
            f"a count of the allele {counted} does not fit a site with the alleles {allele} and "
            f"{alternate}; correct the name of the allele"
        )
    return turned == allele
