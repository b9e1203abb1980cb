"""The sites of a study: public names, places and alleles, for a million sites in little memory.

Which sites are studied is declared: the list of an array, or a panel. It may never follow from the
calls, such as the sites at which somebody in the study differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.exact import briefly
from sfumato.privacy.documents import read_text

__all__ = ["COLUMNS", "Sites", "read_sites"]

#: The facts about a site.
COLUMNS = ("name", "chromosome", "position", "effect", "other")
#: A site that nothing is known about but its name.
UNKNOWN = ("0", "0", "?", "?")
#: What an allele is written with: bases, a deletion, a symbolic or an unknown allele.
ALLELE = re.compile(r"[A-Za-z]+|[-*.?0]|<[A-Za-z0-9:_]+>")
CHROMOSOME = re.compile(r"[A-Za-z0-9_.]{1,32}")
#: No site has a longer name or allele.
LONGEST = 200


@dataclass(frozen=True)
class Sites:
    """Sites by name, chromosome, position and the two alleles.

    Each column is one text with a blank between two entries, so that a million sites are few
    objects; `Sites.of` makes it from lists.

    Parameters
    ----------
    names
        The names of the sites, such as rs numbers; no two are equal.
    chromosomes, positions
        Where they are; 0 where that is not known.
    effects, others
        The allele whose copies are counted, and the other one.
    """

    names: str
    chromosomes: str
    positions: str
    effects: str
    others: str

    def __post_init__(self) -> None:
        columns = [text.split(" ") if text else [] for text in self.to_json().values()]
        lengths = {len(column) for column in columns}
        if len(lengths) != 1:
            raise ValueError("sites need a name, chromosome, position and two alleles each")
        names, chromosomes, positions, effects, others = columns
        if not names:
            raise ValueError("there must be at least one site")
        _check_distinct(names)
        for what, texts, pattern in (
            ("chromosome", chromosomes, CHROMOSOME),
            ("effect allele", effects, ALLELE),
            ("other allele", others, ALLELE),
        ):
            _check_pattern(what, texts, pattern)
        for number, position in enumerate(positions, start=1):
            if not (position.isascii() and position.isdigit() and len(position) <= 10):
                raise ValueError(
                    f"the position of site {number} must be a whole number from 0 on; "
                    f"got {briefly(position)}"
                )

    @classmethod
    def of(
        cls,
        names: Sequence[Any],
        chromosomes: Sequence[Any] | None = None,
        positions: Sequence[Any] | None = None,
        effects: Sequence[Any] | None = None,
        others: Sequence[Any] | None = None,
    ) -> Sites:
        """Return sites from one list per column; what is left out is not known."""
        columns: list[Sequence[Any]] = [names]
        for given, unknown in zip((chromosomes, positions, effects, others), UNKNOWN, strict=True):
            columns.append([unknown] * len(names) if given is None else given)
        texts = []
        for what, column in zip(COLUMNS, columns, strict=True):
            entries = [str(entry) for entry in column]
            odd = [n for n, text in enumerate(entries, 1) if not text or text.split() != [text]]
            if odd:
                raise ValueError(f"the {what} of site {odd[0]} must be a text without blanks")
            texts.append(" ".join(entries))
        return cls(*texts)

    @classmethod
    def numbered(cls, many: int) -> Sites:
        """Return sites that have numbers for names."""
        return cls.of([f"site{number}" for number in range(1, many + 1)])

    def __len__(self) -> int:
        return self.names.count(" ") + 1

    def __repr__(self) -> str:
        return f"Sites({len(self):,})"

    @cached_property
    def listed(self) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
        """The columns as lists."""
        one, two, three, four, five = (text.split(" ") for text in self.to_json().values())
        return one, two, three, four, five

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.listed[0])}

    def index(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return where sites are in the list, or say which name is unknown."""
        places = self._places
        found = []
        for name in names:
            if name not in places:
                raise ValueError(f"there is no site {briefly(name)} among the {len(self):,} sites")
            found.append(places[name])
        return np.array(found, dtype=np.int64)

    def find(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return where sites are in the list, −1 for those that are not."""
        places = self._places
        return np.array([places.get(name, -1) for name in names], dtype=np.int64)

    def take(self, places: NDArray[np.int64]) -> Sites:
        """Return some of the sites."""
        columns = [np.array(column, dtype=object)[places] for column in self.listed]
        return Sites(*(" ".join(column.tolist()) for column in columns))

    def to_json(self) -> dict[str, str]:
        """Return a plain document."""
        return {
            "names": self.names,
            "chromosomes": self.chromosomes,
            "positions": self.positions,
            "effects": self.effects,
            "others": self.others,
        }


def _check_distinct(names: list[str]) -> None:
    """Raise where two sites share a name, or a name is none."""
    long = [number for number, name in enumerate(names, 1) if not 0 < len(name) <= LONGEST]
    if long:
        raise ValueError(f"the name of site {long[0]} must have 1 to {LONGEST} characters")
    if any(name.split() != [name] or not name.isprintable() for name in names):
        raise ValueError("the names of sites must be printable and hold no blanks")
    if len(set(names)) != len(names):
        seen: set[str] = set()
        for number, name in enumerate(names, start=1):
            if name in seen:
                raise ValueError(
                    f"site {number} has the name of an earlier one, {briefly(name)}; "
                    "name every site differently, as in chromosome:position:alleles"
                )
            seen.add(name)


def _check_pattern(what: str, texts: list[str], pattern: re.Pattern[str]) -> None:
    """Raise where a text is not written as such texts are."""
    # There are few different texts and many sites.
    wrong = {t for t in set(texts) if len(t) > LONGEST or not pattern.fullmatch(t)}
    if wrong:
        number = next(n for n, text in enumerate(texts, start=1) if text in wrong)
        raise ValueError(
            f"the {what} of site {number} is not one; got {briefly(texts[number - 1])}"
        )


def read_sites(path: str | Path) -> Sites:
    """Read a public list of sites from a PLINK .bim file.

    Parameters
    ----------
    path
        The file: chromosome, name, genetic distance, position, effect allele, other allele.

    Raises
    ------
    ValueError
        If a line has another number of fields, or two sites share a name.
    """
    place = Path(path)
    columns: list[list[str]] = [[] for _ in range(6)]
    for number, line in enumerate(read_text(place).splitlines(), start=1):
        fields = line.split()
        if len(fields) != 6:
            raise ValueError(
                f"{place.name}, line {number}: a site has 6 fields (chromosome, name, genetic "
                f"distance, position, two alleles); got {len(fields)}"
            )
        for column, entry in zip(columns, fields, strict=True):
            column.append(entry)
    chromosomes, names, _, positions, effects, others = columns
    try:
        return Sites.of(names, chromosomes, positions, effects, others)
    except ValueError as error:
        raise ValueError(f"{place.name}: {error}") from None
