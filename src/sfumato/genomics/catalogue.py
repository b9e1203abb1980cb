"""A catalogue of published associations, read into risk alleles with their frequencies.

A catalogue states the odds ratio O of an allele and its frequency f in controls. The frequency in
cases follows: O·f / (O·f + 1 − f). Everything here is public knowledge; nothing reads private data.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.engines.errors import DataError, Problem
from sfumato.engines.files import TableFile
from sfumato.genomics.site_names import complement, is_ambiguous, other_allele
from sfumato.privacy.arguments import suggest

__all__ = ["CLIP", "Catalogue", "TraitAssociation", "case_frequency", "odds_ratio",
           "read_catalogue"]  # fmt: skip

#: Frequencies are kept this far from 0 and 1 (η), so that no odds are infinite.
CLIP = 1e-6
#: What is done with several records of one trait and site.
DUPLICATES = ("lowest_p", "pool", "refuse")
#: Which effects are read as odds ratios.
EFFECTS = ("odds_ratios", "all")
FREQUENCIES = ("fraction", "percent")

#: The columns of a catalogue file, in lower case: the names of 2012 and of today agree in these.
COLUMNS = {
    "trait": "disease/trait",
    "allele": "strongest snp-risk allele",
    "frequency": "risk allele frequency",
    "p": "p-value",
    "effect": "or or beta",
    "interval": "95% ci (text)",
}
RISK = re.compile(r"(?P<site>rs\d+|chr[\w.:]+)\s*-\s*(?P<allele>[ACGT]+|\?)", re.IGNORECASE)
NUMBER = re.compile(r"(?P<number>\d*\.?\d+(?:E-?\d+)?)\s*(?P<percent>%?)(?:\s*\(.*\))?", re.I)
PROBABILITY = re.compile(r"(?P<digits>\d*\.?\d+)\s*(?:x\s*10\^?|E)\s*(?P<power>-?\d+)", re.I)
INTERVAL = re.compile(
    r"\[\s*(?:NR|(?P<low>\d*\.?\d+)\s*[-\u2013\u2014]\s*(?P<high>\d*\.?\d+))?\s*\]?"
)
#: After an interval: a remark on who was studied, and the unit of a regression coefficient.
REMARK, UNIT = re.compile(r"\(.*?\)"), re.compile(r"[A-Za-z%]")
#: The width of a 95 % interval in standard errors.
WIDTH = 2 * 1.959964


def case_frequency(
    odds_ratio: ArrayLike, control_frequency: ArrayLike, *, clip: float = CLIP
) -> NDArray[np.float64]:
    """Return the frequency of an allele in cases, O·f / (O·f + 1 − f).

    Parameters
    ----------
    odds_ratio
        O, positive; infinite if no case is without the allele.
    control_frequency
        f, the frequency in controls.
    clip
        η: frequencies are kept from η to 1 − η.
    """
    frequency = np.clip(control_frequency, clip, 1 - clip)
    odds = np.asarray(odds_ratio, dtype=np.float64)
    if not (odds > 0).all():
        raise ValueError("an odds ratio must be positive")
    cases = 1 / (1 + (1 - frequency) / (odds * frequency))
    return np.asarray(np.clip(cases, clip, 1 - clip))


def odds_ratio(cases: ArrayLike, controls: ArrayLike, *, clip: float = CLIP) -> NDArray[np.float64]:
    """Return the odds ratio of two allele frequencies, both kept from η to 1 − η."""
    case, control = (np.clip(group, clip, 1 - clip) for group in (cases, controls))
    return np.asarray(case * (1 - control) / (control * (1 - case)))


@dataclass(frozen=True, kw_only=True)
class TraitAssociation:
    """A published association of a trait with an allele of a site. Public.

    Parameters
    ----------
    trait, site
        What is associated.
    allele
        The allele that is counted.
    control_frequency
        Its frequency in controls.
    odds_ratio
        The odds of the allele in cases over those in controls.
    minus_log10_p
        How small the p-value is; `None` if it is not stated.
    standard_error
        Of the logarithm of the odds ratio; `None` if no interval is stated.
    alternate
        The other allele of the site; by default it is known only by what it is not.
    """

    trait: str
    site: str
    allele: str
    control_frequency: float
    odds_ratio: float
    minus_log10_p: float | None = None
    standard_error: float | None = None
    alternate: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.control_frequency <= 1:
            raise ValueError(
                f"the frequency of {self.site} in controls must be from 0 to 1; got "
                f"{self.control_frequency}"
            )
        if not self.odds_ratio > 0:
            raise ValueError(
                f"the odds ratio of {self.site} must be positive; got {self.odds_ratio}"
            )
        if not self.alternate:
            object.__setattr__(self, "alternate", other_allele(self.allele))

    @property
    def case_frequency(self) -> float:
        """The frequency of the allele in cases, kept from 1e-6 to 1 − 1e-6."""
        return float(case_frequency(self.odds_ratio, self.control_frequency))

    def flip(self) -> TraitAssociation:
        """Return the same association in terms of the other allele."""
        return replace(
            self,
            allele=self.alternate,
            alternate=self.allele,
            control_frequency=1 - self.control_frequency,
            odds_ratio=1 / self.odds_ratio,
        )

    def orient(self) -> TraitAssociation:
        """Return the association in terms of the risk allele, whose odds ratio is at least 1."""
        return self if self.odds_ratio >= 1 else self.flip()

    def express(self, allele: str) -> TraitAssociation:
        """Return the association in terms of one of the two alleles of the site.

        Parameters
        ----------
        allele
            The allele. If the other allele of the site is not known, a letter that is not the
            counted allele is taken for it.
        """
        if allele == self.allele:
            return self
        if allele == self.alternate or other_allele(self.allele) == self.alternate:
            return replace(self.flip(), allele=allele, alternate=self.allele)
        raise ValueError(
            f"{self.site} has the alleles {self.allele} and {self.alternate}; got {allele}"
        )


@dataclass(frozen=True)
class Catalogue:
    """What was read from a catalogue. Public.

    Parameters
    ----------
    associations
        In terms of the risk allele, one for each trait and site.
    records
        The number of records of the file.
    skipped
        Why records were left out, and how many.
    flipped
        The number of records with an odds ratio below 1, which were put in terms of the other
        allele.
    ambiguous
        Sites whose two alleles are complements (A/T or C/G): the strand of a study cannot be seen
        from its alleles, so the allele may be the wrong one.
    """

    associations: tuple[TraitAssociation, ...]
    records: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    flipped: int = 0
    ambiguous: tuple[str, ...] = ()

    @property
    def traits(self) -> tuple[str, ...]:
        """The traits, in the order of the file."""
        return tuple(dict.fromkeys(one.trait for one in self.associations))

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites, in the order of the file."""
        return tuple(dict.fromkeys(one.site for one in self.associations))

    def of_traits(self, traits: Iterable[str]) -> tuple[TraitAssociation, ...]:
        """Return the associations of some traits; a trait without any is refused."""
        wanted = tuple(traits)
        for trait in wanted:
            if trait not in self.traits:
                hint = suggest(trait, self.traits)
                raise ValueError(f"the catalogue has no usable association of {trait!r}{hint}")
        return tuple(one for one in self.associations if one.trait in set(wanted))

    def words(self) -> str:
        """Return what was read and what was left out."""
        left = "; ".join(f"{why} ({count:,})" for why, count in sorted(self.skipped.items()))
        return (
            f"Records read: {self.records:,}. Associations: {len(self.associations):,}. Traits: "
            f"{len(self.traits):,}. Sites: {len(self.sites):,}. Records left out"
            f"{f', because they: {left}' if left else ': none'}. Put in terms of the other allele, "
            f"because the odds ratio was below 1: {self.flipped:,}. Sites whose strand is "
            f"ambiguous (A/T or C/G): {len(self.ambiguous):,}."
        )


def read_catalogue(
    path: str | Path,
    *,
    duplicates: str = "lowest_p",
    effects: str = "odds_ratios",
    frequencies: str = "fraction",
    alleles: Mapping[str, Sequence[str]] | None = None,
) -> Catalogue:
    """Read the associations of a GWAS catalogue (NHGRI-EBI, tab-separated, plain, .gz or .xz).

    Parameters
    ----------
    path
        The file. Its column names may be those of 2012 or of today.
    duplicates
        Several records of one trait and site: keep the one with the `"lowest_p"` value, `"pool"`
        their odds ratios and frequencies, or `"refuse"` them. Pooling weights the logarithms of
        odds ratios by the stated intervals, or equally if one is missing.
    effects
        The catalogue keeps odds ratios and regression coefficients in one column. `"odds_ratios"`
        leaves out effects that are stated with a unit, such as "mg/dl increase"; `"all"` reads
        every number as an odds ratio, as in the published attack.
    frequencies
        Whether a frequency without a percent sign is a `"fraction"` or a `"percent"`.
    alleles
        The two alleles of each site, say from a variant file. Records on the other strand are then
        turned, and sites with complementary alleles are known.
    """
    for name, value, allowed in (
        ("duplicates", duplicates, DUPLICATES),
        ("effects", effects, EFFECTS),
        ("frequencies", frequencies, FREQUENCIES),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
    skipped: Counter[str] = Counter()
    strands = _Strands({site: tuple(pair) for site, pair in (alleles or {}).items()})
    found: list[TraitAssociation] = []
    records = flipped = 0
    for fields in _records(Path(path)):
        records += 1
        one = _parse_record(fields, effects, frequencies)
        if not isinstance(one, str):
            one = strands.place(one)
        if isinstance(one, str):
            skipped[one] += 1
            continue
        flipped += one.odds_ratio < 1
        found.append(one.orient())
    kept = _merge_duplicates(found, duplicates)
    if len(found) > len(kept):
        skipped["repeat a trait and site"] = len(found) - len(kept)
    sites = {one.site for one in kept}
    ambiguous = tuple(site for site, pair in strands.seen.items()
                      if site in sites and is_ambiguous(pair))  # fmt: skip
    return Catalogue(tuple(kept), records, MappingProxyType(dict(skipped)), flipped, ambiguous)


def _records(path: Path) -> Iterator[dict[str, str]]:
    """Return the fields of each record that are used."""
    file = TableFile(path, separator="\t")
    with file.open() as lines:
        names = [name.strip().lower() for name in _decode(next(iter(lines), b"")).split("\t")]
        missing = [name for name in COLUMNS.values() if name not in names]
        if missing:
            raise DataError(
                Problem(
                    wrong=f"{path.name} has no column {missing[0]!r}",
                    remedy="A catalogue is a tab-separated file with the columns "
                    f"{', '.join(COLUMNS.values())} in upper or lower case.",
                )
            )
        places = {name: names.index(column) for name, column in COLUMNS.items()}
        for number, line in enumerate(lines, start=1):
            fields = _decode(line).split("\t")
            if fields == [""]:
                continue
            if len(fields) != len(names):
                raise DataError(
                    Problem(
                        row=number,
                        wrong=f"the record has {len(fields)} fields, the header {len(names)}",
                        remedy="Correct the line; fields are separated by tabs.",
                    )
                )
            yield {name: fields[place].strip() for name, place in places.items()}


def _decode(line: bytes) -> str:
    """Return a line of text; older catalogues have dashes of Windows-1252 in them."""
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = line.decode("cp1252", errors="replace")
    return text.rstrip("\r\n")


def _parse_record(
    fields: Mapping[str, str], effects: str, frequencies: str
) -> TraitAssociation | str:
    """Return the association of a record, or why it is left out."""
    risk = RISK.fullmatch(fields["allele"])
    if risk is None:
        return "name no single site"
    if risk["allele"] == "?":
        return "state no risk allele"
    effect, interval = NUMBER.fullmatch(fields["effect"]), INTERVAL.match(fields["interval"])
    if effect is None or float(effect["number"]) == 0:
        return "state no odds ratio"
    rest = REMARK.sub("", fields["interval"][interval.end() if interval else 0 :])
    if effects == "odds_ratios" and UNIT.search(rest) and rest.strip().upper() != "NR":
        return "state an effect in units, not an odds ratio"
    frequency = NUMBER.fullmatch(fields["frequency"])
    if frequency is None:
        return "state no allele frequency"
    percent = frequency["percent"] or frequencies == "percent"
    share = float(frequency["number"]) / (100 if percent else 1)
    if not 0 <= share <= 1:
        return "state an allele frequency above 1"
    return TraitAssociation(
        trait=fields["trait"],
        site=risk["site"],
        allele=risk["allele"].upper(),
        control_frequency=share,
        odds_ratio=float(effect["number"]),
        minus_log10_p=_minus_log10(fields["p"]),
        standard_error=_standard_error(interval),
    )


def _minus_log10(text: str) -> float | None:
    """Return −log10 of a p-value such as 3E-7 or 1E-400, which no double holds."""
    found = PROBABILITY.fullmatch(text)
    if found and float(found["digits"]) > 0:
        return -math.log10(float(found["digits"])) - int(found["power"])
    plain = NUMBER.fullmatch(text)
    return -math.log10(float(plain["number"])) if plain and float(plain["number"]) > 0 else None


def _standard_error(interval: re.Match[str] | None) -> float | None:
    """Return the standard error of ln O from a 95 % interval of O."""
    if interval is None or interval["low"] is None:
        return None
    low, high = float(interval["low"]), float(interval["high"])
    return (math.log(high) - math.log(low)) / WIDTH if 0 < low < high else None


@dataclass
class _Strands:
    """The two alleles of each site: declared, or the first two letters that the records name."""

    seen: dict[str, tuple[str, ...]]

    def place(self, one: TraitAssociation) -> TraitAssociation | str:
        """Return an association with both alleles as far as they are known, or why it is left out.

        A third letter is read on the other strand, unless the two alleles are complements.
        """
        pair = self.seen.get(one.site, ())
        allele = one.allele
        if allele not in pair and len(pair) == 2:
            turned = complement(allele)
            if turned not in pair or is_ambiguous(pair):
                return "name a third allele of the site"
            allele = turned
        if allele not in pair:
            pair = (*pair, allele)
        self.seen[one.site] = pair
        other = next((name for name in pair if name != allele), "") if len(pair) == 2 else ""
        return replace(one, allele=allele, alternate=other or other_allele(allele))


def _merge_duplicates(found: list[TraitAssociation], duplicates: str) -> list[TraitAssociation]:
    """Return one association for each trait and site."""
    groups: dict[tuple[str, str], list[TraitAssociation]] = {}
    for one in found:
        groups.setdefault((one.trait, one.site), []).append(one)
    if duplicates == "refuse":
        repeated = [key for key, group in groups.items() if len(group) > 1]
        if repeated:
            raise DataError(
                Problem(
                    wrong=f"{len(repeated):,} traits and sites have several records, the first "
                    f"{repeated[0][0]!r} with {repeated[0][1]}",
                    remedy='Choose duplicates="lowest_p" or duplicates="pool".',
                )
            )
    return [_merge(group, duplicates) for group in groups.values()]


def _merge(group: list[TraitAssociation], duplicates: str) -> TraitAssociation:
    """Return one association for several of the same trait and site."""
    best = max(group, key=lambda one: -1.0 if one.minus_log10_p is None else one.minus_log10_p)
    if len(group) == 1 or duplicates != "pool":
        return best
    same = [one.express(best.allele) for one in group]
    errors = [one.standard_error for one in same if one.standard_error is not None]
    weights = [error**-2 for error in errors] if len(errors) == len(same) else None
    ratio = math.exp(float(np.average([math.log(one.odds_ratio) for one in same], weights=weights)))
    share = float(np.average([one.control_frequency for one in same], weights=weights))
    return replace(best, odds_ratio=ratio, control_frequency=share, standard_error=None).orient()
